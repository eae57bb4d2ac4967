"""A server with Louver before it is, for who asks for nothing, the server without."""

import json
import logging

import pytest
from mcp import MCPError
from mcp.server import MCPServer, Server

import louver
from louver.middleware import LouverMiddleware
from steps.profiles import SCHEMA, lowlevel, structured, text, tool
from steps.wire import NEW, OLD, attached, connect
from tests.fixtures.company import build_server

pytestmark = pytest.mark.anyio

CALLS = [
    ("get_user_profile", {"user_id": 1}),
    ("get_user_profile", {"user_id": 0}),
    ("get_user_profile", {}),
    ("get_user_profile", {"user_id": "x"}),
    ("list_issues", {"limit": 3}),
    ("get_issue", {"number": 1}),
    ("search_orders", {"text": "desk", "limit": 2}),
    ("get_order_tree", {"order_id": 1}),
    ("list_labels", {}),
    ("export_stats", {}),
    ("always_fails", {}),
    ("nope", {}),
]
"""Every tool of the example, with calls that succeed, fail, and cannot be read."""

OPTIONS = [
    {},
    {"argument": True, "exact": True},
    {"listing": "omit"},
    {"listing": "strict"},
    {"views": {"get_issue": {"minimal": ["number"]}}},
]


async def bytes_of(wire, method, params=None):
    """The answer as text, whether a result or an error."""
    try:
        return json.dumps(await wire.request(method, params))
    except MCPError as error:
        return json.dumps(error.error.model_dump())


@pytest.mark.parametrize("options", OPTIONS, ids=str)
async def test_a_call_without_a_projection_is_byte_for_byte_as_before(era, options):
    """#1704, "Backwards Compatibility"; ours: before and after a listing, and before and after projected calls."""
    async with connect(build_server(), era) as plain, attached(build_server(), era, **options) as wire:
        for _ in range(2):
            for name, arguments in CALLS:
                call = {"name": name, "arguments": arguments}
                assert await bytes_of(wire, "tools/call", call) == await bytes_of(plain, "tools/call", call)
            await wire.tools()
            await wire.call("get_issue", {"number": 1}, projection={"mode": "include", "fields": ["title"]})


async def test_the_example_calls_every_tool():
    """Ours: a tool that is added is compared too."""
    async with connect(build_server(), NEW) as wire:
        assert (await wire.tools()).keys() | {"nope"} == {name for name, _ in CALLS}


@pytest.mark.parametrize(
    "result", [text("prose"), text('{"a": 1}'), structured({"id": 1}), {"content": [], "isError": True}]
)
async def test_so_is_a_call_of_a_lowlevel_server(era, result):
    """Ours: the output need not even satisfy the schema, nobody asked."""
    made = lowlevel(t=tool(SCHEMA, result))
    params = {"name": "t", "arguments": {"user_id": 1}, "_meta": {"com.example/x": 1}}
    async with connect(made.server, era) as wire:
        before = await bytes_of(wire, "tools/call", params)
    async with attached(made.server, era, argument=True) as wire:
        assert await bytes_of(wire, "tools/call", params) == before


@pytest.mark.parametrize("method", ["resources/list", "prompts/list", "ping", "nope/nope"])
async def test_other_methods_pass(era, method):
    """Ours: the middleware looks at four methods."""
    async with connect(build_server(), era) as plain, attached(build_server(), era) as wire:
        assert await bytes_of(wire, method) == await bytes_of(plain, method)


async def test_a_call_before_the_handshake_is_refused_as_before():
    """2025-11-25: nothing but `initialize` and `ping`; nor does a tool run."""
    made = lowlevel(t=tool(SCHEMA))
    params = {"name": "t", "arguments": {}, "_meta": {"projection": {"mode": "include", "fields": ["id"]}}}
    async with connect(made.server, OLD, handshake=False) as wire:
        before = await bytes_of(wire, "tools/call", params)
    louver.attach(made.server)
    async with connect(made.server, OLD, handshake=False) as wire:
        assert await bytes_of(wire, "tools/call", params) == before
    assert made.calls == []


async def test_a_server_learns_the_input_schemas_that_the_sdk_asks_for():
    """Ours: without them the SDK lists every tool on each call of 2026-07-28 over HTTP."""
    made = lowlevel(t=tool(SCHEMA))
    async with attached(made.server, NEW) as wire:
        await wire.tools()
    assert made.server.get_tool_input_schema("t") == made.tools["t"]["listed"]["inputSchema"]
    assert made.server.get_tool_input_schema("nope") is None


async def test_a_server_that_tells_the_input_schemas_itself_goes_on_doing_so():
    """Ours."""
    made = lowlevel(t=tool(SCHEMA))
    made.server.get_tool_input_schema = own = {}.get
    async with attached(made.server, NEW) as wire:
        await wire.tools()
    assert made.server.get_tool_input_schema is own


def test_the_one_private_access_is_there():
    """Ours, pinned: the SDK has no public way from an `MCPServer` to its lowlevel server."""
    server = MCPServer("profiles")
    assert isinstance(server._lowlevel_server, Server)
    louver.attach(server)
    assert isinstance(server._lowlevel_server.middleware[0], LouverMiddleware)
    assert server.middleware is server._lowlevel_server.middleware


async def test_what_goes_wrong_in_a_tool_is_not_ours_to_log(era, caplog):
    """Ours: no log line of ours for an ordinary projected call, whatever becomes of it."""
    caplog.set_level(logging.DEBUG, "louver")
    async with attached(build_server(), era) as wire:
        for name, arguments in CALLS:
            meta = {"projection": {"mode": "include", "fields": ["name", "nope"]}}
            await bytes_of(wire, "tools/call", {"name": name, "arguments": arguments, "_meta": meta})
    assert not [record for record in caplog.records if record.name.startswith("louver")]
