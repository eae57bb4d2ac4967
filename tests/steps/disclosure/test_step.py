"""What a server with disclosure says of itself, and stage 1: what it lists."""

import json
from pathlib import Path

import pytest
from mcp import Client
from mcp.server import Server

import louver
from louver.catalogue.summary import MAX_SUMMARY
from louver.errors import LouverError
from louver.steps.disclosure.texts import ENFORCED
from steps.profiles import SCHEMA, VIEWS, build, lowlevel, tool
from steps.reading import URI, call_as_told, required
from steps.test_callers import caller
from steps.wire import NEW, OLD, attached, connect
from tests.fixtures.company import build_server

pytestmark = pytest.mark.anyio

OPEN = {"type": "object", "properties": {}}
OURS = "get_tool_descriptions"
DESCRIPTIONS = Path(__file__).parents[3] / "tests" / "fixtures" / "company" / "tool_descriptions"


def many(n=5):
    """A lowlevel server of tools on pages of two."""
    return lowlevel(page_size=2, **{f"t{k}": tool(SCHEMA) for k in range(n)})


async def test_a_list_shows_name_title_and_one_sentence(era):
    """000 section 3.1: semantically complete, no parameters, no examples, no output schema."""
    async with connect(build_server(), era) as wire:
        full = await wire.tools()
    async with attached(build_server(), era, disclosure="enforce", argument=True) as wire:
        minimal = await wire.tools()
    assert minimal.pop(OURS)
    assert minimal.keys() == full.keys()
    for name, listed in minimal.items():
        assert listed.keys() <= {"name", "title", "description", "inputSchema", "annotations", "_meta"}
        assert listed["inputSchema"] == OPEN
        assert 0 < len(listed["description"]) <= MAX_SUMMARY
        assert full[name]["description"].startswith(listed["description"].rstrip("…."))
    assert len(json.dumps(minimal)) < len(json.dumps(full)) / 4


async def test_a_list_shows_the_summary_of_a_file(era):
    """000 section 3.1: the purpose in words of one's own."""
    async with attached(build_server(), era, disclosure="enforce", descriptions=DESCRIPTIONS) as wire:
        listed = await wire.tools()
    assert listed["search_orders"]["description"] == "Search orders by customer or product."


async def test_the_hint_of_projection_stays_listed(era):
    """DISCLOSURE: annotations and `_meta` hint; but for the schema, which the description has."""
    made = lowlevel(t=tool(SCHEMA, meta={**louver.hint(VIEWS), "com.example/x": 1}))
    made.tools["t"]["listed"]["annotations"] = {"readOnlyHint": True}
    async with attached(made.server, era, disclosure="enforce", exact=True) as wire:
        listed = (await wire.tools())["t"]
    assert listed["annotations"]["readOnlyHint"] is True
    assert listed["annotations"]["projectionHint"]["recommendedViews"]["minimal"] == ["id", "name"]
    assert listed["_meta"]["com.example/x"] == 1
    hint = listed["_meta"]["dev.louver/projectionHint"]
    assert hint["recommendedViews"]["minimal"] == ["id", "name"]
    assert "outputSchema" not in hint
    assert "outputSchema" not in listed


async def test_every_page_is_minimal_and_the_tool_of_descriptions_ends_the_last(era):
    """DISCLOSURE: an ordinary tool for hosts whose models cannot read resources."""
    async with attached(many().server, era, disclosure="enforce") as wire:
        pages, place = [], {}
        while place is not None:
            page = await wire.request("tools/list", place)
            pages.append([listed["name"] for listed in page["tools"]])
            assert all(listed["inputSchema"] == OPEN for listed in page["tools"] if listed["name"] != OURS)
            place = {"cursor": page["nextCursor"]} if page.get("nextCursor") else None
    assert pages == [["t0", "t1"], ["t2", "t3"], ["t4", OURS]]


@pytest.mark.parametrize(("query", "is_there"), [("t1", False), (" ", True), ("", True), (None, True)])
async def test_the_tool_of_descriptions_is_not_among_those_that_were_searched_for(query, is_there):
    """Ours: who searches is given matches; a query of nothing is none."""
    async with attached(many(1).server, NEW, disclosure="enforce") as wire:
        page = await wire.request("tools/list", {} if query is None else {"query": query})
    assert (OURS in [listed["name"] for listed in page["tools"]]) is is_there


async def test_a_list_is_the_same_before_and_after_reading(profiles, era):
    """2026-07-28: `tools/list` must not change as a side effect of other requests."""
    async with attached(profiles.server, era, disclosure="enforce") as wire:
        before = await wire.tools()
        assert not required(await call_as_told(wire, "get_profile"))
        assert await wire.tools() == before


async def test_a_servers_own_tool_of_that_name_stays(era):
    """Ours: nothing of the server's is taken away; it is described like any other."""
    made = lowlevel(page_size=1, **{OURS: tool(SCHEMA), "t": tool(SCHEMA)})
    async with attached(made.server, era, disclosure="enforce") as wire:
        assert required(await wire.call(OURS, {"tools": ["t"]}))
        first = await wire.request("tools/list")
        last = await wire.request("tools/list", {"cursor": first["nextCursor"]})
        assert [listed["name"] for listed in first["tools"] + last["tools"]] == [OURS, "t"]
        answer = await call_as_told(wire, OURS, {"tools": ["t"]})
    assert answer["structuredContent"]["name"] == "Ann"
    assert made.calls == [(OURS, {"tools": ["t"]})]


async def test_ours_comes_back_when_the_server_drops_its_own(era):
    """Ours: what counts is what was listed last, not what was listed ever."""
    made = lowlevel(page_size=1, **{OURS: tool(SCHEMA), "t": tool(SCHEMA)})
    async with attached(made.server, era, disclosure="enforce") as wire:
        assert await every_page(wire) == [OURS, "t"]
        del made.tools[OURS]
        assert await every_page(wire) == ["t", OURS]
        assert "t" in json.loads((await wire.call(OURS, {"tools": ["t"]}))["content"][0]["text"])


async def test_what_one_caller_has_of_that_name_takes_nothing_from_another(era):
    """Ours: lists may be private."""
    made = lowlevel(t=tool(SCHEMA))
    louver.attach(made.server, disclosure="enforce")
    async with connect(made.server, era) as wire:
        with caller("ann"):
            made.tools[OURS] = tool(SCHEMA)
            assert await every_page(wire) == ["t", OURS]
            assert required(await wire.call(OURS, {"tools": ["t"]}))
        with caller("ben"):
            del made.tools[OURS]
            assert await every_page(wire) == ["t", OURS]
            assert not required(await wire.call(OURS, {"tools": ["t"]}))


async def every_page(wire):
    """The names of all tools, page by page."""
    names, place = [], {}
    while place is not None:
        page = await wire.request("tools/list", place)
        names += [listed["name"] for listed in page["tools"]]
        place = {"cursor": page["nextCursor"]} if page.get("nextCursor") else None
    return names


@pytest.mark.parametrize("mode", ["enforce", "on-error"])
async def test_the_capability_says_where_and_whether_it_is_enforced(profiles, era, mode):
    """WIRE: `extensions["dev.louver/disclosure"]`; that of projection stays beside it."""
    async with attached(profiles.server, era, disclosure=mode) as wire:
        capabilities = wire.opening["capabilities"]
    assert capabilities["extensions"]["dev.louver/disclosure"] == {"uri": URI, "enforced": mode == "enforce"}
    assert "dev.louver/projection" in capabilities["extensions"]
    assert capabilities["resources"] is not None
    assert capabilities["prompts"] is not None


@pytest.mark.parametrize(("mode", "era"), [("legacy", OLD), ("auto", NEW)])
async def test_a_typed_client_sees_the_capability(mode, era):
    """WIRE: SDKs keep extensions."""
    made = build("MCPServer")
    louver.attach(made.server, disclosure="enforce")
    async with Client(made.server, mode=mode) as client:
        assert client.protocol_version == era
        assert client.server_capabilities.extensions["dev.louver/disclosure"]["enforced"] is True


async def test_a_server_without_tools_says_nothing_of_them(era):
    """Ours."""
    async with connect(Server("empty", version="1", instructions="Hello."), era) as wire:
        plain = wire.opening
    async with attached(Server("empty", version="1", instructions="Hello."), era, disclosure="enforce") as wire:
        assert wire.opening == plain


async def test_the_resource_is_listed_before_the_servers_own(era):
    """000 sections 3.2 and 4.1: name, URI, MIME type."""
    made = build("MCPServer")
    made.server.resource("test://greeting", name="greeting")(lambda: "hello")
    async with attached(made.server, era, disclosure="enforce") as wire:
        ours, theirs = (await wire.request("resources/list"))["resources"]
    assert ours["uri"] == URI
    assert "tool descriptions" in ours["name"].lower()
    assert ours["mimeType"] == "application/json"
    assert theirs["uri"] == "test://greeting"


async def test_the_resource_is_listed_where_a_server_has_none(era):
    """WIRE: who adds the capability answers the lists; and only once, on the first page."""
    async with attached(lowlevel(t=tool()).server, era, disclosure="enforce") as wire:
        assert [found["uri"] for found in (await wire.request("resources/list"))["resources"]] == [URI]
        assert (await wire.request("resources/list", {"cursor": "x"}))["resources"] == []
        assert (await wire.request("resources/templates/list"))["resourceTemplates"] == []


async def test_the_resource_tells_how_it_is_used(profiles, era):
    """000 section 4.2: relation to `tools/list`, the demand, the syntax, the consequence; in steps, with URIs."""
    async with attached(profiles.server, era, disclosure="enforce") as wire:
        said = (await wire.request("resources/list"))["resources"][0]["description"]
    steps = [said.index(f"Step {n}") for n in (1, 2, 3)]
    assert steps == sorted(steps)
    for part in ("tools/list", f"{URI}?tools=TOOL_NAME", f"{URI}?tools=TOOL1,TOOL2", "choosing", "learning"):
        assert part in said
    assert "without ?tools= it is an error" in said
    assert "Reading authorises you to call the tools that were read, until this session ends" in said
    assert "TOOL_DESCRIPTION_REQUIRED and does not run" in said


async def test_where_nothing_is_enforced_no_consequence_is_told(profiles, era):
    """Ours: mode `on-error`."""
    async with attached(profiles.server, era, disclosure="on-error") as wire:
        said = (await wire.request("resources/list"))["resources"][0]["description"]
        listed = (await wire.tools())[OURS]["description"]
    for text in (said, listed):
        assert "TOOL_DESCRIPTION_REQUIRED" not in text
        assert "uthorise" not in text


async def test_a_prompt_holds_the_guidance_for_a_system_prompt(profiles, era):
    """000 section 8.2: two stages, summaries suffice, nothing without naming tools, the syntax."""
    async with attached(profiles.server, era, disclosure="enforce") as wire:
        listed = (await wire.request("prompts/list"))["prompts"]
        got = await wire.request("prompts/get", {"name": "use_tool_descriptions"})
    assert [prompt["name"] for prompt in listed] == ["use_tool_descriptions"]
    (message,) = got["messages"]
    text = message["content"]["text"]
    assert message["role"] == "user"
    assert "two steps" in text
    assert "Summaries are enough" in text
    assert "Never read the resource without naming tools" in text
    assert f"{URI}?tools=TOOL_NAME" in text
    assert (got.get("resultType") == "complete") == (era == NEW)


async def test_the_instructions_have_the_guidance_too(era):
    """000 section 8.1: before anything else is read; what the server says itself stays before it."""
    async with connect(build_server(), era) as wire:
        plain = wire.opening["instructions"]
    async with attached(build_server(), era, disclosure="enforce") as wire:
        assert wire.opening["instructions"] == f"{plain}\n\n{ENFORCED.instructions}"
    async with attached(lowlevel(t=tool()).server, era, disclosure="enforce") as wire:
        assert wire.opening["instructions"] == ENFORCED.instructions


async def test_other_prompts_are_the_servers(era):
    """Ours."""
    made = build("MCPServer")
    made.server.prompt("greet")(lambda: "Hello.")
    async with attached(made.server, era, disclosure="enforce") as wire:
        names = [prompt["name"] for prompt in (await wire.request("prompts/list"))["prompts"]]
        got = await wire.request("prompts/get", {"name": "greet"})
    assert names == ["use_tool_descriptions", "greet"]
    assert got["messages"][0]["content"]["text"] == "Hello."


async def test_off_is_as_if_there_were_no_such_thing(profiles, era):
    """DISCLOSURE, modes."""
    async with attached(profiles.server, era, disclosure="off") as wire:
        assert "dev.louver/disclosure" not in wire.opening["capabilities"]["extensions"]
        listed = await wire.tools()
        answer = await wire.call("get_profile", {"user_id": 1})
    assert listed.keys() == {"get_profile"}
    assert "user_id" in listed["get_profile"]["inputSchema"]["properties"]
    assert answer["structuredContent"]["name"] == "Ann"


def test_a_mode_that_is_none_is_refused():
    """Ours."""
    with pytest.raises(LouverError, match="'disclosure' is one of 'off', 'enforce', 'on-error', not 'on'"):
        louver.attach(Server("s"), disclosure="on")


def test_files_that_cannot_be_used_keep_a_server_from_starting(tmp_path):
    """Ours."""
    (tmp_path / "t.json").write_text('{"summary": 1}')
    server = Server("s")
    with pytest.raises(louver.errors.InvalidDescription, match=r"t\.json:1: 'summary' is a text"):
        louver.attach(server, disclosure="enforce", descriptions=tmp_path)
    louver.attach(server, disclosure="enforce")


async def test_what_does_not_fit_the_tools_is_logged_when_the_server_starts(tmp_path, caplog):
    """Ours: a file of no tool; a tool of the server's that stands in the way of ours."""
    (tmp_path / "t.json").write_text("{}")
    made = build("MCPServer")
    made.server.tool(OURS)(lambda: "mine")
    async with attached(made.server, NEW, disclosure="enforce", descriptions=tmp_path):
        pass
    said = [record.getMessage() for record in caplog.records if record.name.startswith("louver")]
    assert said == [
        "a file describes a tool 't', which the server does not have",
        "the server has a tool 'get_tool_descriptions' itself: models must read the resource",
    ]
