"""PRIVACY.md, guarantee 7: a search tells nothing of denied tools, fields and search terms, not even by its order.

Two servers differ in what is denied alone: the one has it, the other does not. All that a caller without rights finds
must be the same, byte for byte, and so must the scores, which no answer holds.
"""

from __future__ import annotations

import json
from contextlib import asynccontextmanager

import mcp_types as types
import pytest
from mcp.server import Server

import louver
from fixtures.tables import in_turn
from gateway.served import config, fixture
from louver.catalogue.search.ranking import Ranking
from louver.gateway.config.read import read_config
from louver.gateway.gateway import Gateway
from louver.gateway.in_process import sdk_server
from louver.middleware import FieldPolicy
from louver.policy.principal import Principal
from louver.steps.request import Identity
from policy.behind import RULES, Somebody
from steps.wire import NEW, OLD, connect

pytestmark = pytest.mark.anyio

POLICY = {"version": "1", "tools": {"*": {"rules": RULES}, "read_salaries": {"rules": RULES[:1]}}}
QUERIES = (
    *("note", "person", "take a note of a person", "human", "jot", "find_person"),
    *("read_salaries", "salaries", "slaries", "sala", "payroll", "payrol", "ssn", "sns", "ssn of a human"),
    "take note 3\nread salaries\nfind a person\nfind the ssn",
    "Find a human, then read the salaries. Note the ssn; take note 7",
)
FIELDS = {"id": {"type": "integer"}, "name": {"type": "string"}}


def tool(name, description, **fields):
    return {
        "name": name,
        "description": description,
        "inputSchema": {"type": "object", "properties": {"q": {"type": "string", "description": description}}},
        "outputSchema": {"type": "object", "properties": {**FIELDS, **fields}},
    }


def tools(*, denied):
    """Enough for several pages. What is denied has words of the others, which would make these common."""
    salaries = tool("read_salaries", "Read the salaries: a note for each person. " * 5)
    ssn = {"ssn": {"type": "string"}} if denied else {}
    person = tool("find_person", "Find a person." + " The ssn of the person, a note." * denied, **ssn)
    notes = [tool(f"take_note_{number}", f"Take note {number} " + "of it " * number, **ssn) for number in range(45)]
    return [*[salaries] * denied, *notes[:20], person, *notes[20:]]


def descriptions(folder, *, denied):
    """The description files, with search terms."""
    folder.mkdir()
    terms = {"find_person": ["human", *["ssn lookup", "note of the ssn"] * denied], "take_note_7": ["jot"]}
    if denied:
        terms["read_salaries"] = ["payroll", "human", "note"]
    for name, found_by in terms.items():
        (folder / f"{name}.json").write_text(json.dumps({"searchTerms": found_by}))
    return folder


@asynccontextmanager
async def own_server(folder, era, who, denied, disclosure="off"):
    """A server of the SDK, with all that Louver adds to one."""

    async def on_list_tools(_ctx, _params):
        return types.ListToolsResult.model_validate({"tools": tools(denied=denied)})

    (folder / "it.policy.json").write_text(json.dumps(POLICY))
    server = Server("notes", version="1", on_list_tools=on_list_tools)
    policy = FieldPolicy(
        folder / "it.policy.json", audit=folder / "audit.db", principal=lambda _: Principal("ann", roles=who.roles)
    )
    found_by = descriptions(folder / "descriptions", denied=denied)
    louver.attach(server, search=True, descriptions=found_by, disclosure=disclosure, policy=policy)
    async with connect(server, era) as wire:
        yield wire


@asynccontextmanager
async def behind_the_gateway(folder, era, who, denied, exposure="minimal", also=()):
    """A gateway in this process; with other servers besides, the server's name is searched too."""
    (folder / "it.policy.json").write_text(json.dumps(POLICY))
    descriptions(folder / "descriptions", denied=denied)
    louver = {"policy": "it.policy.json", "descriptions": "descriptions"}
    servers = {"notes": fixture("named", json.dumps(tools(denied=denied)), **louver)}
    servers |= {name: fixture("named", json.dumps(["other"])) for name in also}
    config(folder, servers, exposure=exposure, pseudonymKey="k" * 32)
    made = Gateway(read_config(folder / "mcp.json"), single_client=False)
    try:
        async with connect(sdk_server(made.answer, Identity(who)), era) as wire:
            yield wire
    finally:
        await made.close()


async def listed(wire, query):
    """All pages of a list."""
    pages, params = [], {"query": query}
    while not pages or "nextCursor" in pages[-1]:
        pages.append(await wire.request("tools/list", params))
        params = {"query": query, "cursor": pages[-1].get("nextCursor")}
    return pages


async def searched(wire, query):
    return await wire.call("search-tools", {"needs": query.split("\n")})


async def found_by_the_one_tool(wire, query):
    """By a query, and by needs."""
    asked = [{"query": query}, {"needs": query.split("\n")}]
    return [await wire.call("gateway", {"action": "search", "limit": 50, **each}) for each in asked]


PLACES = {
    "own server": (own_server, {}, listed),
    "own server, by summary": (own_server, {"disclosure": "on-error"}, listed),
    "minimal": (behind_the_gateway, {}, listed),
    "minimal, several servers": (behind_the_gateway, {"also": ["others"]}, listed),
    "discovery": (behind_the_gateway, {"exposure": "discovery"}, searched),
    "gateway": (behind_the_gateway, {"exposure": "gateway"}, found_by_the_one_tool),
}


@pytest.fixture
def ranked(monkeypatch):
    """What was ranked: the tools, their scores, and the needs that they serve."""
    kept = []

    def search_needs(ranking, *args):
        found = actual(ranking, *args)
        kept.append([(match.tool["name"], match.score, match.need) for match in found])
        return found

    actual = Ranking.search_needs
    monkeypatch.setattr(Ranking, "search_needs", search_needs)
    return kept


@pytest.mark.whole
@pytest.mark.parametrize(("place", "options", "search", "era"), in_turn(PLACES, [OLD, NEW]))
async def test_a_search_is_the_same_whether_what_is_denied_exists_or_not(tmp_path, era, place, options, search, ranked):
    """PRIVACY.md, guarantee 7: order, counts, needs, cursors and scores; also after one who sees it has searched."""
    seen = {}
    for denied in (True, False):
        folder = tmp_path / str(denied)
        folder.mkdir()
        who = Somebody("admin")
        async with place(folder, era, who, denied, **options) as wire:
            for roles in ("admin",), ():
                who.roles = frozenset(roles)
                ranked.clear()
                seen[denied, roles] = [[await search(wire, query) for query in QUERIES], [*ranked]]
    assert seen[True, ()] == seen[False, ()]
    assert seen[True, ("admin",)] != seen[False, ("admin",)]
    # By a search term that is nobody's secret, and by nothing else.
    assert any([name.partition("take_")[2] for name, *_ in found] == ["note_7"] for found in seen[True, ()][1])
    assert "salaries" in json.dumps(seen[True, ("admin",)][1])
