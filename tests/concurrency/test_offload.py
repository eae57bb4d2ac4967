"""Work that takes long, and others beside it."""

import asyncio
import threading

import anyio
import pytest
from mcp.server import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp_types import CallToolResult, ListToolsResult, Tool

import louver
from fixtures.failsafe import FAILSAFE_S
from louver.concurrency import offload
from louver.concurrency.offload import MAX_TURN_S, find_or_compute, yielding
from steps.threads import Begun, Work, turns
from steps.wire import OLD, connect

pytestmark = pytest.mark.anyio

ANY = {"type": "object"}
MANY = range(2000)


def wide(number):
    """The schema of an object."""
    return {"type": "object", "properties": {f"field_{number}_{n}": {"type": "string"} for n in range(3)}}


async def test_others_have_their_turn_in_each_break(monkeypatch):
    """Ours: after `MAX_TURN_S`."""
    turns, now = 0, 0.0
    monkeypatch.setattr(offload, "monotonic", lambda: now)

    async def other():
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    task = asyncio.create_task(other())
    await asyncio.sleep(0)
    seen = []
    async for thing in yielding("abcd"):
        seen.append((thing, turns))
        now += MAX_TURN_S if thing == "b" else 2 * MAX_TURN_S
    task.cancel()
    assert [thing for thing, _ in seen] == ["a", "b", "c", "d"]
    assert seen[0][1] < seen[1][1] == seen[2][1] < seen[3][1]


def test_a_process_that_ends_begins_nothing_more():
    """Ours: it waits for its threads; asyncio's way to cancel does not."""
    go_on = threading.Event()
    made = []

    async def give_up():
        loop, begun = asyncio.get_running_loop(), asyncio.Event()

        def make(thing):
            if not made:
                loop.call_soon_threadsafe(begun.set)
                assert go_on.wait(FAILSAFE_S)
            made.append(thing)

        making = asyncio.create_task(find_or_compute("abc", lambda thing: None, make))
        await begun.wait()
        making.cancel()
        await asyncio.wait([making])

    before = set(threading.enumerate())
    asyncio.run(give_up())
    go_on.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(FAILSAFE_S)
    assert made == ["a"]


@pytest.mark.parametrize("by_scope", [True, False])
async def test_what_is_given_up_ends_with_the_thing_that_is_being_made(by_scope):
    """Ours: nothing more is made for nobody, and no other begins beside it."""
    work, scope, made = Work(), anyio.CancelScope(), []

    def make(thing):
        work()
        made.append(thing)

    async def make_all():
        with scope:
            await find_or_compute("abc", lambda thing: None, make)

    begun = Begun(make_all())
    making = begun.task
    await work.begun.wait()
    if by_scope:
        scope.cancel()
    else:
        begun.give_up()
    await turns()
    assert not making.done()
    work.go_on.set()
    await asyncio.wait([making])
    assert made == ["a"]
    assert (scope.cancelled_caught, making.cancelled()) == (by_scope, not by_scope)


async def test_lists_that_are_looked_at_in_turns_are_learnt_in_the_order_in_which_they_came():
    """Ours: a list that has come before a change does not undo what was read after it."""
    asked = asyncio.Event()
    description = "Old."

    async def list_tools(ctx, params):
        tools = [Tool(name=f"tool_{n}", description=description, input_schema=ANY, output_schema=wide(n)) for n in MANY]
        asked.set()
        return ListToolsResult(tools=tools)

    async def call_tool(ctx, params):
        return CallToolResult(content=[], structured_content={})

    changes = InMemorySubscriptionBus()
    listen = ListenHandler(changes)
    server = Server("s", on_list_tools=list_tools, on_call_tool=call_tool, on_subscriptions_listen=listen)
    louver.attach(server, disclosure="enforce")
    async with connect(server, OLD) as one, connect(server, OLD) as other:
        listing = asyncio.create_task(one.request("tools/list"))
        await asked.wait()
        description = "New."
        await changes.publish(ToolsListChanged())
        said = await other.request("resources/read", {"uri": "resource:///tool_descriptions?tools=tool_1"})
        assert "New." in said["contents"][0]["text"]
        await listing
        assert not (await other.call("tool_1")).get("isError")
