"""The recorded session is the same each time, and each exposure makes the calls that it needs."""

import subprocess

import pytest
from mcp_types import CallToolResult, TextContent, Tool

from benchmarks import exposures
from benchmarks.exposures import AgentSession
from benchmarks.recorded_session import EARLIER, FIELDS, QUERIES, SESSION, Step, create_repository
from louver.core.json import compact
from louver.wire.names import ARGUMENT, DESCRIPTIONS_TOOL

pytestmark = pytest.mark.anyio

STEP = Step("memory", "search-nodes", {"query": 'a "b"', "limit": 2, "all": True, "of": [{"name": 1}]})


class FakeClient:
    """A client with prepared answers, by tool."""

    def __init__(self, **answers):
        self.answers = answers
        self.calls = []

    async def call_tool(self, tool, arguments):
        self.calls.append((tool, arguments))
        answer = self.answers.get(tool.replace("-", "_"), {})
        text = answer if isinstance(answer, str) else compact(answer)
        structured = answer if isinstance(answer, dict) else None
        return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=structured)


async def calls_of(exposure, served, *, tools=(), fields=None, server=""):
    listed = [Tool(name=name, input_schema={"type": "object"}) for name in tools]
    session = AgentSession({server: served}, listed, fields or {})
    for _ in range(2):
        await exposure(session, STEP)
    return served.calls


def test_the_repository_is_the_same_each_time(tmp_path):
    """*Ours*: tokens are counted of hashes too."""
    heads = set()
    for name in ("one", "two"):
        create_repository(tmp_path / name)
        done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=tmp_path / name, capture_output=True, check=True)
        heads.add(done.stdout)
    assert len(heads) == 1


def test_the_session_has_eighteen_calls_of_ten_tools():
    """*Ours*: as the page says; and each tool has a query that finds it."""
    assert len(SESSION) == 18
    assert {step.tool for step in SESSION} == QUERIES.keys()
    assert len(QUERIES) == 10
    assert len({step.tool for step in SESSION[:EARLIER]}) == 8
    assert FIELDS.keys() < QUERIES.keys()


async def test_without_louver_a_server_is_asked_itself():
    """*Ours*."""
    assert await calls_of(exposures.direct, FakeClient(), server="memory") == [("search-nodes", STEP.arguments)] * 2


async def test_fields_are_named_where_the_model_knows_them():
    """*Ours*."""
    assert await calls_of(exposures.full, FakeClient()) == [("memory__search-nodes", STEP.arguments)] * 2
    named = {**STEP.arguments, ARGUMENT: ["name"]}
    by_fields = await calls_of(exposures.full, FakeClient(), fields={STEP.tool: ["name"]})
    assert by_fields == [("memory__search-nodes", named)] * 2


async def test_a_deferred_tool_is_searched_once_and_called_through_the_search(monkeypatch):
    """*Ours*: one that is listed is called by its name."""
    monkeypatch.setitem(QUERIES, STEP.tool, "search")
    listed = ["search_tools", STEP.listed]
    assert await calls_of(exposures.deferred, FakeClient(), tools=listed) == [(STEP.listed, STEP.arguments)] * 2
    client = FakeClient(search_tools=f"{STEP.listed}{{}}")
    search, *calls = await calls_of(exposures.deferred, client, tools=["search_tools"])
    assert search == ("search_tools", {"query": "search"})
    assert calls == [("search_tools", {"tool": STEP.listed, "arguments": STEP.arguments})] * 2


async def test_a_description_is_read_once():
    """*Ours*: what 000 asks of a model."""
    read, *calls = await calls_of(exposures.minimal, FakeClient())
    assert read == (DESCRIPTIONS_TOOL, {"tools": [STEP.listed]})
    assert calls == [(STEP.listed, STEP.arguments)] * 2


async def test_in_discovery_all_is_found_once_and_called_by_a_script():
    """*Ours*: without scripts, by its name."""
    found = [
        ("list-servers", {}),
        ("list-server-tools", {"luaServerName": "memory"}),
        ("tool-details", {"luaServerName": "memory", "luaToolName": "search_nodes"}),
    ]
    given = '{query = "a \\"b\\"", limit = 2, all = true, of = {{name = 1}}}'
    script = {"script": f"result(memory.search_nodes({given}):await())"}
    assert await calls_of(exposures.discovery, FakeClient(), tools=["execute"]) == [*found, *[("execute", script)] * 2]
    assert await calls_of(exposures.discovery, FakeClient()) == [*found, *[(STEP.listed, STEP.arguments)] * 2]


async def test_by_one_tool_all_is_found_once(monkeypatch):
    """*Ours*: what a search does not find is no session."""
    monkeypatch.setitem(QUERIES, STEP.tool, "search")
    search, get, *calls = await calls_of(exposures.gateway, FakeClient(gateway={"tools": [{"id": STEP.listed}]}))
    assert search[1] == {"action": "search", "query": "search", "limit": exposures.SEARCH_LIMIT}
    assert get[1] == {"action": "get", "id": STEP.listed}
    assert [call[1]["arguments"] for call in calls] == [STEP.arguments] * 2
    with pytest.raises(AssertionError, match="does not find it"):
        await calls_of(exposures.gateway, FakeClient())
