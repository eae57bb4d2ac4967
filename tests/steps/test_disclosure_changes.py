"""What a server changes is read anew: told by a notification, seen in a list, or found out in time."""

import json
import os
from functools import partial

import mcp_types as types
import pytest
from mcp import Client as SdkClient
from mcp import MCPError
from mcp.server import MCPServer, Server
from mcp.server.mcpserver import Context
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, PromptsListChanged, ToolsListChanged

import louver
from louver.catalogue.files.descriptions import DescriptionFiles
from louver.catalogue.grants import Grants
from louver.limits import MAX_CALLERS, READS_PER_MINUTE
from louver.sdk.adapter import StepMiddleware, call_server, on_tools_published
from louver.steps.disclosure.read_limits import ReadLimits
from louver.steps.disclosure.step import Disclosure
from louver.steps.request import in_order
from steps.profiles import SCHEMA, lowlevel, tool
from steps.reading import descriptions, grants_in, required
from steps.test_callers import caller
from steps.wire import NEW, OLD, attached, connect

pytestmark = pytest.mark.anyio

OTHER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def changing(bus=None):
    """A server with tools whose input schema can be changed, and a tool that tells of it."""
    schemas = {"a": {"type": "object"}, "b": {"type": "object"}, "tell": {"type": "object"}}

    async def on_list_tools(_ctx, _params):
        return types.ListToolsResult(tools=[types.Tool(name=n, input_schema=s) for n, s in schemas.items()])

    async def on_call_tool(ctx, params):
        if params.name == "tell":
            await ctx.session.send_tool_list_changed()
        return types.CallToolResult(content=[])

    listen = None if bus is None else ListenHandler(bus)
    server = Server("s", on_list_tools=on_list_tools, on_call_tool=on_call_tool, on_subscriptions_listen=listen)
    return server, schemas


class Client:
    """Who has read what: calls with the grants that it was given."""

    def __init__(self, wire):
        self.wire = wire
        self.given = {}

    async def read(self, *tools):
        for name, described in (await descriptions(self.wire, *tools)).items():
            self.given[name] = grants_in(described)

    async def may(self, name):
        return not required(await self.wire.call(name, self.given.get(name, {})))


async def test_a_change_that_is_told_to_a_connection_is_heard():
    """DISCLOSURE: `list_changed` forgets what changed, and nothing else."""
    server, schemas = changing()
    async with attached(server, OLD, disclosure="enforce") as wire:
        client = Client(wire)
        await client.read("a", "b", "tell")
        assert [await client.may(name) for name in ("a", "b", "tell")] == [True] * 3
        schemas["a"] = OTHER
        assert await client.may("tell")
        assert [await client.may(name) for name in ("a", "b")] == [False, True]
        await client.read("a")
        assert await client.may("a")


async def test_a_change_that_is_published_is_heard():
    """DISCLOSURE: likewise in 2026-07-28, even if no client listens; other changes are not looked at."""
    bus = InMemorySubscriptionBus()
    server, schemas = changing(bus)
    async with attached(server, NEW, disclosure="enforce") as wire:
        client = Client(wire)
        await client.read("a", "b")
        assert [await client.may(name) for name in "ab"] == [True, True]
        schemas["a"] = OTHER
        await bus.publish(PromptsListChanged())
        assert await client.may("a")
        await bus.publish(ToolsListChanged())
        assert [await client.may(name) for name in "ab"] == [False, True]
        await client.read("a")
        assert await client.may("a")


@pytest.mark.parametrize("era", [OLD, NEW])
async def test_a_tool_of_an_mcpserver_tells_it_too(era):
    """DISCLOSURE: through the SDK's own ways, in each era."""
    server = MCPServer("s")

    @server.tool()
    def a(x: int = 0) -> str:
        return "a"

    @server.tool()
    async def change(ctx: Context) -> str:
        server.remove_tool("a")

        def other(x: str = "") -> str:
            return "another"

        server.add_tool(other, name="a")
        await (ctx.session.send_tool_list_changed() if era == OLD else ctx.notify_tools_changed())
        return "changed"

    async with attached(server, era, disclosure="enforce") as wire:
        client = Client(wire)
        await client.read("a", "change")
        assert await client.may("a")
        assert await client.may("change")
        assert not await client.may("a")
        await client.read("a")
        assert await client.may("a")


async def test_a_change_that_is_seen_in_a_list_counts(era):
    """Ours: a server that tells nothing lists it all the same."""
    made = lowlevel(a=tool(SCHEMA), b=tool(SCHEMA))
    async with attached(made.server, era, disclosure="enforce") as wire:
        client = Client(wire)
        await client.read("a", "b")
        assert [await client.may(name) for name in "ab"] == [True, True]
        made.tools["a"] = tool(SCHEMA, input=OTHER)
        await wire.tools()
        assert [await client.may(name) for name in "ab"] == [False, True]


async def test_a_change_of_the_text_alone_is_a_change(era):
    """Ours: who calls is to know all that is said of a tool."""
    made = lowlevel(a=tool(SCHEMA))
    async with attached(made.server, era, disclosure="enforce") as wire:
        client = Client(wire)
        await client.read("a")
        made.tools["a"]["listed"]["description"] = "Deletes everything now."
        await wire.tools()
        assert not await client.may("a")


async def test_a_change_back_needs_no_reading(era):
    """Ours: what was read is true again."""
    made = lowlevel(a=tool(SCHEMA))
    before = made.tools["a"]
    async with attached(made.server, era, disclosure="enforce") as wire:
        client = Client(wire)
        await client.read("a")
        for listed, may in ((tool(SCHEMA, input=OTHER), False), (before, True)):
            made.tools["a"] = listed
            await wire.tools()
            assert await client.may("a") is may


async def test_a_change_that_nobody_tells_is_found_out_in_time(era, monkeypatch):
    """Ours: `DEFINITIONS_S`; another worker's notifications are not heard here."""
    made = lowlevel(a=tool(SCHEMA))
    async with attached(made.server, era, disclosure="enforce") as wire:
        client = Client(wire)
        await client.read("a")
        made.tools["a"] = tool(SCHEMA, input=OTHER)
        assert await client.may("a")
        monkeypatch.setattr("louver.steps.disclosure.definitions.DEFINITIONS_S", 0.0)
        assert not await client.may("a")


async def test_until_then_a_server_is_not_asked_for_each_call(era):
    """Ours: a list can cost more than the call."""
    made = lowlevel(page_size=1, a=tool(SCHEMA), b=tool(SCHEMA))
    async with attached(made.server, era, disclosure="enforce") as wire:
        client = Client(wire)
        await client.read("a", "b")
        assert made.listings == 2
        for _ in range(5):
            assert await client.may("a")
            assert await client.may("b")
        assert made.listings == 2


async def test_each_caller_is_listed_to_once(era):
    """Ours: what one sees says nothing of what another sees, and is remembered for each."""
    made = lowlevel(a=tool(SCHEMA))
    louver.attach(made.server, disclosure="enforce")
    async with connect(made.server, era) as wire:
        for listings in (2, 2):
            for who in ("ann", "ben"):
                with caller(who):
                    await wire.call("a")
            assert made.listings == listings


async def test_a_tool_that_is_new_is_gated(era):
    """000 section 5.1: also if the server has told nobody of it."""
    made = lowlevel(a=tool(SCHEMA))
    async with attached(made.server, era, disclosure="enforce") as wire:
        client = Client(wire)
        await client.read("a")
        made.tools["b"] = tool(SCHEMA)
        assert not await client.may("b")
        await client.read("b")
        assert await client.may("b")
    assert [name for name, _ in made.calls] == ["b"]


async def test_a_tool_that_is_gone_is_the_servers_to_refuse(era):
    """Ours: in the words that it has for a tool which it never had."""
    server = MCPServer("s")
    server.tool("a")(lambda: "a")
    async with attached(server, era, disclosure="enforce") as wire:
        client = Client(wire)
        await client.read("a")
        assert await client.may("a")
        server.remove_tool("a")
        for _ in range(2):
            gone, never = [await said(wire, name, client.given["a"]) for name in ("a", "n")]
            assert "Unknown tool" in gone
            assert gone == never
            await wire.tools()


async def said(wire, name, given):
    """What calling a tool is answered, without its name."""
    try:
        return json.dumps(await wire.call(name, given)).replace(f": {name}", "")
    except MCPError as error:
        return error.error.message.replace(f": {name}", "")


async def test_a_file_that_changes_is_read_anew_and_must_be(era, tmp_path):
    """000 section 7.2: reloaded when something is listed or read; who has read the old one reads again."""
    path = tmp_path / "a.json"

    def write(guidance, stamp):
        path.write_text(json.dumps({"usage_guidance": guidance}))
        os.utime(path, ns=(stamp, stamp))

    write("Once.", 1)
    made = lowlevel(a=tool(SCHEMA), b=tool(SCHEMA))
    async with attached(made.server, era, disclosure="enforce", descriptions=tmp_path) as wire:
        client = Client(wire)
        await client.read("a", "b")
        assert await client.may("a")
        write("Twice.", 2)
        assert await client.may("a")
        await wire.tools()
        assert [await client.may(name) for name in "ab"] == [False, True]
        assert (await descriptions(wire, "a"))["a"]["usage_guidance"] == "Twice."
        await client.read("a")
        assert await client.may("a")


async def test_what_else_a_server_says_and_asks_goes_its_way():
    """Ours: we listen, and no more."""
    server = MCPServer("s")
    heard = []

    @server.tool()
    async def tell(ctx: Context) -> str:
        await ctx.session.send_prompt_list_changed()
        await ctx.session.send_ping()
        return "told"

    async def hear(message):
        heard.append(message)

    louver.attach(server, disclosure="enforce")
    async with SdkClient(server, mode="legacy", message_handler=hear) as client:
        await client.read_resource("resource:///tool_descriptions?tools=tell")
        assert (await client.call_tool("tell")).content[0].text == "told"
    assert [type(message).__name__ for message in heard] == ["PromptListChangedNotification"]


async def test_callers_that_were_not_seen_for_longest_are_forgotten():
    """Ours: `MAX_CALLERS`; they are listed to again."""
    made = lowlevel(a=tool(SCHEMA))
    louver.attach(made.server, disclosure="enforce")
    async with connect(made.server, NEW) as wire:
        for number in range(MAX_CALLERS + 1):
            with caller(f"c{number}"):
                await wire.call("a")
        assert made.listings == MAX_CALLERS + 1
        for who, listings in ((f"c{MAX_CALLERS}", 0), ("c1", 0), ("c0", 1)):
            with caller(who):
                await wire.call("a")
            assert made.listings == MAX_CALLERS + 1 + listings


def disclosed(server):
    """Disclosure for a server, as a gateway makes it anew for each configuration."""
    info, subscribe, files = server.server_info_stamp, partial(on_tools_published, server), DescriptionFiles({})
    return Disclosure(info, subscribe, files, Grants(audience="s"), ReadLimits(READS_PER_MINUTE))


async def test_what_was_closed_listens_no_more():
    """Ours: a gateway makes another one for each configuration that it reads."""
    bus = InMemorySubscriptionBus()
    server, _ = changing(bus)
    for _ in range(50):
        disclosed(server).close()
    disclosed(server)
    assert len(bus._listeners) == 1


async def test_one_without_a_bus_can_be_closed():
    """Ours: a server of the handshake era alone has none."""
    server, _ = changing()
    disclosed(server).close()


async def test_a_connection_that_was_there_before_tells_the_one_that_serves_it_now():
    """Ours: it stays open while a gateway reads another configuration."""
    server, schemas = changing()
    before = disclosed(server)
    server.middleware.insert(0, StepMiddleware(in_order([before], call_server)))
    async with connect(server, OLD) as wire:
        client = Client(wire)
        await client.read("a", "tell")
        server.middleware[0] = StepMiddleware(in_order([disclosed(server)], call_server))
        before.close()
        assert [await client.may(name) for name in ("a", "tell")] == [True, True]
        schemas["a"] = OTHER
        assert await client.may("tell")
        assert not await client.may("a")


async def test_a_tool_that_no_caller_sees_is_forgotten(era):
    """Ours: names may change for as long as a server runs, and somebody lists them."""
    made = lowlevel(page_size=2, keep=tool(SCHEMA))
    louver.attach(made.server, disclosure="on-error")
    outer = made.server.middleware[0]._steps._answer._for_all.by_method["tools/list"]
    disclosure, projection = outer.func, outer.keywords["call_next"].func
    async with connect(made.server, era) as wire:
        for number in range(20):
            made.tools.clear()
            made.tools.update({name: tool(SCHEMA) for name in ("keep", f"a{number}", f"b{number}")})
            with caller(f"c{number % 2}"):
                first = await wire.request("tools/list")
                await wire.request("tools/list", {"cursor": first["nextCursor"]})
                await wire.call(f"b{number}", {"grant": ""})
    remembered = (disclosure._definitions._latest, projection._tools._latest)
    left = {"keep", "a18", "b18", "a19", "b19"}
    assert [set(latest) for latest in remembered] == [left, left]
    assert len(projection._listed_tools) <= len(left) + 1
