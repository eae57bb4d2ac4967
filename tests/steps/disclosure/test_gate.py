"""The gate before tools: what passes, what does not, and what is left of a call that carries a grant."""

import json
import logging
from functools import partial

import mcp_types as types
import pytest
from mcp import MCPError
from mcp.server import Server

import louver
from louver.errors import LouverError
from steps import wire as wires
from steps.profiles import PROFILE, SCHEMA, VIEWS, lowlevel, structured, text, tool
from steps.reading import URI, call_as_told, descriptions, grants_in, read, required
from steps.wire import NEW, OLD, text_of
from steps.wire import attached as attached_over_streams
from steps.wire import connect as connected_over_streams

pytestmark = pytest.mark.anyio

# In 2026-07-28 what a stream does not remember is seen where there is none.
attached = partial(attached_over_streams, streams=False)
connect = partial(connected_over_streams, streams=False)

NAME = {"mode": "include", "fields": ["name"]}


def tools(*names):
    return lowlevel(**{name: tool(SCHEMA) for name in names})


async def test_a_tool_whose_description_was_not_read_does_not_run(profiles, era):
    """000 sections 5.1 and 6.2, verbatim; as text and in `_meta`, never structured."""
    async with attached(profiles.server, era, disclosure="enforce") as wire:
        answer = await wire.call("get_profile", {"user_id": 1})
    error = {
        "code": "TOOL_DESCRIPTION_REQUIRED",
        "message": "Tool 'get_profile' requires fetching its description before use.",
        "resource_uri": "resource:///tool_descriptions?tools=get_profile",
        "next": (
            'Call get_tool_descriptions with {"tools": ["get_profile"]}, then get_profile again, '
            "with the argument 'grant' if its description has one."
        ),
    }
    assert answer["isError"] is True
    assert [block["type"] for block in answer["content"]] == ["text"]
    assert text_of(answer) == {"error": error}
    assert answer["_meta"]["dev.louver/error"] == error
    assert "structuredContent" not in answer
    assert (answer.get("resultType") == "complete") == (era == NEW)
    assert profiles.calls == []


async def test_after_reading_it_runs(profiles, era):
    """000 section 5.1."""
    async with attached(profiles.server, era, disclosure="enforce") as wire:
        answer = await call_as_told(wire, "get_profile", {"user_id": 1})
    assert answer["structuredContent"] == PROFILE
    assert profiles.calls == [("get_profile", {"user_id": 1})]


async def test_reading_lasts(profiles, era):
    """000 section 5.1: once is enough; where there are grants, for as long as they are good."""
    async with attached(profiles.server, era, disclosure="enforce") as wire:
        given = grants_in((await descriptions(wire, "get_profile"))["get_profile"])
        for _ in range(3):
            assert (await wire.call("get_profile", {"user_id": 1, **given}))["structuredContent"] == PROFILE


async def test_reading_one_tool_is_not_reading_another(era):
    """000 section 5.1: just the tools that were answered; neither a read of nothing nor of what is not there."""
    made = tools("a", "b", "c")
    async with attached(made.server, era, disclosure="enforce") as wire:
        _, result = await read(wire, f"{URI}?tools=a,c,nope")
        grant = {"dev.louver/grant": result["_meta"]["dev.louver/grant"]} if era == NEW else {}
        await read(wire, URI)
        with pytest.raises(MCPError):
            await read(wire, f"{URI}?tools=b%ZZ")
        for name in "abca":
            assert required(await wire.call(name, **grant)) == (name == "b")
    assert [name for name, _ in made.calls] == ["a", "c", "a"]


async def test_the_url_in_the_refusal_leads_to_the_call(profiles, era):
    """000 section 6.2: everything heals itself."""
    async with attached(profiles.server, era, disclosure="enforce") as wire:
        uri = text_of(await wire.call("get_profile"))["error"]["resource_uri"]
        described = (await read(wire, uri))[0]["get_profile"]
        assert not required(await wire.call("get_profile", grants_in(described)))


NUMBERED = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}


async def test_on_error_a_call_that_fits_runs_and_any_other_gets_the_description_in_one_hop(era):
    """HOSTS.md: nothing to read before, nothing to remember, no grant."""
    made = lowlevel(t=tool(SCHEMA, input=NUMBERED))
    async with attached(made.server, era, disclosure="on-error", argument=True) as wire:
        assert (await wire.tools())["t"]["inputSchema"] == {"type": "object", "properties": {}}
        for wrong in ({}, {"number": "seven"}):
            refused = await wire.call("t", wrong)
            assert refused["isError"] is True
            (block,) = refused["content"]
            words, described = block["text"].split(" is described so:\n")
            problem = 'number: the value is not of type "integer"' if wrong else '"number" is a required property'
            assert words == f"The arguments do not fit: {problem}. t"
            assert json.loads(described)["inputSchema"]["required"] == ["number"]
            assert "grant" not in described
        assert made.calls == []
        assert (await wire.call("t", {"number": 7, "output_fields": ["id"]}))["structuredContent"] == {"id": 7}
        described, result = await read(wire, f"{URI}?tools=t")
        assert "dev.louver/grant" not in result["_meta"]
    assert made.calls == [("t", {"number": 7})]


async def test_on_error_what_cannot_be_judged_is_left_to_the_server(era):
    """Ours: else the tool could never be called."""
    made = lowlevel(t=tool(SCHEMA, input={"type": "object", "$ref": "https://example.com/x"}))
    async with attached(made.server, era, disclosure="on-error") as wire:
        assert (await wire.call("t", {"a": 1}))["structuredContent"] == PROFILE


@pytest.mark.parametrize(("host", "whole"), [("claude-code", True), ("codex-mcp-client", False)])
async def test_on_error_a_host_that_finds_tools_itself_gets_the_whole_list(era, monkeypatch, host, whole):
    """HOSTS.md: such hosts pay twice else."""
    monkeypatch.setattr(wires, "CLIENT", {"name": host, "version": "1"})
    made = lowlevel(t=tool(SCHEMA, input=NUMBERED))
    async with attached(made.server, era, disclosure="on-error") as wire:
        listed = await wire.tools()
    assert ("number" in listed["t"]["inputSchema"]["properties"]) is whole
    assert ("get_tool_descriptions" in listed) is not whole


async def test_a_stream_of_2026_remembers_what_was_read_over_it():
    """HOSTS.md: over stdio nobody has to copy a grant; another stream has read nothing."""
    made = lowlevel(t=tool(SCHEMA))
    louver.attach(made.server, disclosure="enforce")
    async with connected_over_streams(made.server, NEW) as wire, connected_over_streams(made.server, NEW) as other:
        assert required(await wire.call("t"))
        described, result = await read(wire, f"{URI}?tools=t")
        assert "grant" not in json.dumps(described["t"]["inputSchema"])
        assert "dev.louver/grant" not in result["_meta"]
        for _ in range(2):
            assert (await wire.call("t"))["structuredContent"] == PROFILE
        assert required(await other.call("t"))


async def test_the_tool_that_reads_results_is_listed_whole(era):
    """HOSTS.md: and called without a description."""
    made = lowlevel(t=tool(SCHEMA))
    async with attached(made.server, era, disclosure="enforce", results=louver.KeptResults()) as wire:
        assert "handle" in (await wire.tools())["read_result"]["inputSchema"]["properties"]
        assert not required(await wire.call("read_result", {"handle": "x"}))


# With projection.


async def test_a_disclosed_tool_is_projected_as_ever(era):
    """Ours: by `_meta`, by argument, by view; the receipt is there."""
    made = lowlevel(t=tool(SCHEMA, meta=louver.hint(VIEWS)))
    async with attached(made.server, era, disclosure="enforce", argument=True) as wire:
        by_meta = await call_as_told(wire, "t", projection=NAME)
        by_argument = await call_as_told(wire, "t", {"output_fields": ["name"]})
        by_view = await call_as_told(wire, "t", {"output_fields": {"mode": "view", "view": "minimal"}})
        refused = await call_as_told(wire, "t", {"output_fields": ["a.."]})
    assert by_meta["structuredContent"] == by_argument["structuredContent"] == {"name": "Ann"}
    assert by_view["structuredContent"] == {"id": 7, "name": "Ann"}
    assert by_meta["_meta"]["projection"]["applied"] is True
    assert refused["content"][0]["text"].startswith("output_fields: field path 'a..'")
    assert made.calls == [("t", {})] * 3


@pytest.mark.parametrize("projection", [NAME, {"mode": "INCLUDE"}, 7])
async def test_the_gate_comes_before_projection(profiles, era, projection):
    """Ours: a refusal by the gate has run nothing, and tells nothing else."""
    async with attached(profiles.server, era, disclosure="enforce", argument=True) as wire:
        assert required(await wire.call("get_profile", projection=projection))
        assert required(await wire.call("get_profile", {"output_fields": projection}))
    assert profiles.calls == []


# What is left of a call.


def telling(**tools):
    """A server whose tools keep what they are given."""
    given = []

    async def on_list_tools(_ctx, _params):
        listed = [types.Tool(name=name, input_schema=schema) for name, schema in tools.items()]
        return types.ListToolsResult(tools=listed)

    async def on_call_tool(ctx, params):
        given.append((params.arguments, dict(params.meta or {}), dict(ctx.meta or {}), dict(ctx.params)))
        return types.CallToolResult(content=[types.TextContent(type="text", text="done")])

    return Server("telling", on_list_tools=on_list_tools, on_call_tool=on_call_tool), given


OBJECT = {"type": "object", "properties": {"a": {"type": "integer"}}}


@pytest.mark.parametrize("mode", ["enforce", "on-error"])
async def test_a_grant_is_taken_off_before_the_tool(era, mode):
    """DISCLOSURE: always, wherever it stands, whatever it is; the rest of the call stays."""
    server, given = telling(t=OBJECT)
    async with attached(server, era, disclosure=mode) as wire:
        described, result = await read(wire, f"{URI}?tools=t")
        real = result["_meta"].get("dev.louver/grant", "v1.none")
        by_argument = grants_in(described["t"])
        for grant in (real, "v1.none", 7, None, {"a": [real]}):
            meta = {"dev.louver/grant": grant, "com.example/x": 1}
            await wire.call("t", {"a": 1, **by_argument}, **meta)
            await wire.call("t", {"a": 1, "grant": grant}, **{**meta, "dev.louver/grant": real})
    assert len(given) == 10
    for arguments, meta, of_context, params in given:
        assert arguments == {"a": 1}
        assert meta["com.example/x"] == of_context["com.example/x"] == 1
        assert "grant" not in json.dumps([meta, of_context, params])


async def test_a_grant_is_in_no_log(era, caplog):
    """DISCLOSURE: nor is any text of a client."""
    caplog.set_level(logging.DEBUG, "louver")
    server, _ = telling(t=OBJECT)
    async with attached(server, era, disclosure="enforce") as wire:
        described, result = await read(wire, f"{URI}?tools=t,canary")
        tokens = [*grants_in(described["t"]).values(), result["_meta"].get("dev.louver/grant", "canary"), "canary"]
        for token in tokens:
            await wire.call("t", {"grant": token}, **{"dev.louver/grant": token})
            await wire.call("canary", {"grant": token})
    assert not [token for token in tokens for record in caplog.records if token in record.getMessage()]


async def test_a_tool_with_an_argument_of_that_name_keeps_it(era):
    """Ours: its grant comes in `_meta`, and what stands in the argument is its own."""
    own = {"type": "object", "properties": {"grant": {"type": "string"}}}
    server, given = telling(t=own)
    async with attached(server, era, disclosure="enforce") as wire:
        described, result = await read(wire, f"{URI}?tools=t")
        assert described["t"]["inputSchema"] == own
        meta = {"dev.louver/grant": result["_meta"]["dev.louver/grant"]} if era == NEW else {}
        assert not required(await wire.call("t", {"grant": "mine"}, **meta))
        if era == NEW:
            assert required(await wire.call("t", {"grant": meta["dev.louver/grant"]}))
    assert [arguments for arguments, *_ in given] == [{"grant": "mine"}]


async def test_either_place_will_do(era):
    """DISCLOSURE: accepted from `_meta` or `grant`; a wrong one in the other does no harm."""
    server, _ = telling(t=OBJECT, u=OBJECT)
    async with attached(server, NEW, disclosure="enforce") as wire:
        described, result = await read(wire, f"{URI}?tools=t,u")
        both, single = result["_meta"]["dev.louver/grant"], grants_in(described["t"])["grant"]
        assert not required(await wire.call("t", {"grant": single}))
        assert not required(await wire.call("t", {"grant": both}))
        assert not required(await wire.call("t", {"grant": "x"}, **{"dev.louver/grant": both}))
        assert not required(await wire.call("t", {"grant": single}, **{"dev.louver/grant": "x"}))
        assert not required(await wire.call("u", {}, **{"dev.louver/grant": both}))
        assert required(await wire.call("u", {"grant": single}))
        assert required(await wire.call("t", {}))


async def test_a_connection_that_remembers_needs_no_grant_and_takes_none():
    """000 section 5.1: what another session has read does not count in this one, even if it hands over its grant."""
    server, given = telling(t=OBJECT)
    louver.attach(server, disclosure="enforce")
    async with connect(server, NEW) as wire:
        described = (await descriptions(wire, "t"))["t"]
        grant = grants_in(described)
        assert not required(await wire.call("t", grant))
    async with connect(server, OLD) as wire:
        assert required(await wire.call("t", grant, **{"dev.louver/grant": grant["grant"]}))
        assert grants_in((await descriptions(wire, "t"))["t"]) == {}
        assert not required(await wire.call("t"))
    assert [arguments for arguments, *_ in given] == [{}, {}]


@pytest.mark.parametrize("arguments", [None, [], 7, "x"])
async def test_arguments_that_are_none_are_refused_as_before(era, arguments):
    """Ours: the SDK's words, once the description was read."""
    server, _ = telling(t=OBJECT)
    async with connect(server, era) as wire:
        params = {"name": "t", "arguments": arguments}
        before = await outcome(wire, params)
    louver.attach(server, disclosure="enforce")
    async with connect(server, era) as wire:
        _, result = await read(wire, f"{URI}?tools=t")
        meta = {"dev.louver/grant": result["_meta"].get("dev.louver/grant")}
        assert await outcome(wire, {**params, "_meta": meta}) == before


async def outcome(wire, params):
    try:
        return await wire.request("tools/call", params)
    except MCPError as error:
        return error.error


@pytest.mark.parametrize("name", [None, 7, ["t"]])
async def test_a_call_of_no_tool_is_refused_as_before(era, name):
    """Ours."""
    server, _ = telling(t=OBJECT)
    async with connect(server, era) as wire:
        before = await outcome(wire, {"name": name, "arguments": {}})
    async with attached(server, era, disclosure="enforce") as wire:
        assert await outcome(wire, {"name": name, "arguments": {}}) == before


async def test_a_tool_that_asks_its_client_first_is_called_in_rounds():
    """2026-07-28: each round carries the grant, and is gated."""
    asked = {"resultType": "input_required", "inputRequests": {"a": {"method": "roots/list", "params": {}}}}
    made = lowlevel(t=tool(None, lambda arguments: text("done") if arguments.get("again") else asked))
    async with attached(made.server, NEW, disclosure="enforce") as wire:
        grant = grants_in((await descriptions(wire, "t"))["t"])
        first = await wire.call("t", grant)
        assert first["resultType"] == "input_required"
        params = {"name": "t", "arguments": {"again": True}, "inputResponses": {"a": {"roots": []}}}
        assert required(await wire.request("tools/call", params))
        again = {**params, "arguments": {"again": True, **grant}}
        assert (await wire.request("tools/call", again))["content"][0]["text"] == "done"
    assert made.calls == [("t", {}), ("t", {"again": True})]


async def test_what_a_tool_answers_is_not_looked_at(era):
    """Ours: an error of the tool stays that error."""
    made = lowlevel(t=tool(SCHEMA, {"isError": True, **text("broken")}), u=tool(SCHEMA, structured(PROFILE)))
    async with attached(made.server, era, disclosure="enforce") as wire:
        assert (await call_as_told(wire, "t"))["content"] == [{"type": "text", "text": "broken"}]
        assert (await call_as_told(wire, "u"))["structuredContent"] == PROFILE


def test_a_key_that_is_too_short_keeps_a_server_from_starting():
    """Ours."""
    with pytest.raises(LouverError, match="at least 32 bytes"):
        louver.attach(Server("s"), disclosure="enforce", keys=["short"])
