"""The processes of servers: idle ones end and start again on use, and there is a bound on all of them."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

import pytest
from mcp import MCPError

from fixtures.failsafe import FAILSAFE_S, until
from gateway.back.test_upstream import Living, client, end, terms, upstream
from gateway.links import begun, turns
from gateway.raw import HANDSHAKE, STATELESS, raw
from gateway.served import config, fixture, lives, serving
from louver.concurrency import places
from louver.concurrency.places import MIN_PROCESSES, PROCESS_BYTES, PROCESS_FILES
from louver.errors import UpstreamUnavailable
from louver.gateway.back import in_flight
from louver.gateway.back import processes as module
from louver.gateway.back import session as session_module
from louver.gateway.back import upstream as upstream_module
from louver.gateway.back.processes import PROCESS_IDLE_S, IdleProcess, ProcessBudget
from louver.gateway.clients import client as client_module
from louver.gateway.clients.client import GatewayCaller
from louver.gateway.config.read import as_config
from louver.gateway.front.sessions import HTTP_SESSION_IDLE_S
from louver.gateway.gateway import Gateway
from louver.gateway.in_process import sdk_server
from louver.limits import UNUSED_S
from steps.wire import connect

pytestmark = pytest.mark.anyio


@pytest.fixture
def clock(monkeypatch):
    """Let time pass."""
    now = 1000.0

    def passes(seconds):
        nonlocal now
        now += seconds

    for each in (client_module, in_flight, session_module, upstream_module):
        monkeypatch.setattr(each, "monotonic", lambda: now)
    return passes


@asynccontextmanager
async def of_processes(link=Living, **how):
    """An upstream whose sessions count as processes."""
    made = upstream(link, **how)
    budget = ProcessBudget(made.idle_processes, ends_idle=False)
    made._settings = terms_with(budget, link, **how)
    yield made
    await end(made)


def terms_with(budget, link, **how):
    return replace(terms(link, **how), processes=budget)


def idle_of(made):
    """How long each process of an upstream has been idle."""
    return [each.idle_s for each in made.idle_processes()]


async def test_a_process_is_idle_for_as_long_as_its_client_is_silent(clock):
    """Ours: its state must not go while the client works, with another server say."""
    async with of_processes() as made, of_processes() as other:
        ann = client()
        await made.session(ann)
        elsewhere = await other.session(ann)
        clock(100)
        assert idle_of(made) == [100]
        await elsewhere.call(GatewayCaller(ann), "tools/call", {"name": "t"})
        clock(10)
        assert idle_of(made) == idle_of(other) == [10]


async def test_a_process_in_use_is_not_idle(clock):
    """Ours: neither while a call is open, nor while a resource is watched."""
    async with of_processes() as made:
        caller = GatewayCaller(client())
        session = await made.session(caller.client)
        session._transport.held.clear()
        reading = await begun(session.call(caller, "resources/read", {"uri": "test://a"}))
        clock(100)
        assert idle_of(made) == [0]
        session._transport.held.set()
        await reading
        clock(100)
        assert idle_of(made) == [100]
        await session.subscriptions.watch(caller, {"uri": "test://a"})
        clock(100)
        assert idle_of(made) == [0]
        await session.subscriptions.unwatch(caller, {"uri": "test://a"})
        clock(100)
        assert idle_of(made) == [100]


async def test_a_process_that_is_about_to_be_used_is_not_idle(clock):
    """Ours: a policy may take its time between the session and the call."""
    async with of_processes(isolated=False) as made:
        await made.session(client(STATELESS))
        clock(UNUSED_S)
        await made.session(client(STATELESS))
        assert idle_of(made) == [0]


async def test_a_shared_process_is_idle_if_all_its_clients_are(clock):
    """Ours: it may keep state for any of them."""
    async with of_processes(isolated=False) as made:
        ann, bob = client(), client()
        session = await made.session(ann)
        clock(50)
        await made.session(bob)
        clock(50)
        await session.call(GatewayCaller(bob), "tools/call", {"name": "t"})
        clock(7)
        assert idle_of(made) == [7]


async def test_a_process_through_which_a_client_listens_is_not_ended(clock):
    """Ours: who listens for changed lists would hear of none."""
    listening = True
    async with of_processes(isolated=False) as made:
        made._has_listeners = lambda: listening
        await made.session(client(STATELESS))
        clock(100)
        assert idle_of(made) == []
        listening = False
        assert idle_of(made) == [100]


async def test_clients_that_listen_are_known_to_all_servers():
    """Ours: in the gateway, as in the upstream above."""
    gateway = Gateway({"mcpServers": {"it": fixture("unruly")}})
    made = gateway.upstreams["it"]
    try:
        async with connect(sdk_server(gateway.answer), STATELESS) as wire:
            await made.session()
            params = {"notifications": {"toolsListChanged": True}, "_meta": wire._envelope}
            await wire._send({"id": 99, "method": "subscriptions/listen", "params": params})
            await wire._receive()
            assert idle_of(made) == []
            gateway.listen_streams.close()
            await wire._receive()
            assert len(idle_of(made)) == 1
    finally:
        await gateway.close()


async def test_a_process_that_took_long_to_start_is_not_idle(clock):
    """Ours: it is waited for; `npx` downloads its server first."""

    class Slow(Living):
        async def open(self):
            clock(PROCESS_IDLE_S)

    async with of_processes(Slow) as made:
        await made.session(client())
        assert idle_of(made) == [0]


# The bound


class Processes:
    """Processes that take places, and end when they are told to."""

    def __init__(self, limit, **how):
        self.budget = ProcessBudget(lambda: [*self.idle.values()], **{"ends_idle": False, **how})
        self.budget.limit = limit
        self.idle = {}
        self.ending = []

    def rest(self, name, idle_s):
        def ends():
            del self.idle[name]
            self.ending.append(name)

        self.idle[name] = IdleProcess(idle_s, ends)


async def test_over_the_bound_the_longest_unused_process_ends_first():
    """Ours: and the new one waits until it has ended, so there are never more."""
    held = Processes(2)
    for name, idle_s in (("a", 70), ("b", 90)):
        await held.budget.take()
        held.rest(name, idle_s)
    third = await begun(held.budget.take())
    assert held.ending == ["b"]
    await turns()
    assert not third.done()
    held.budget.give_back()
    await third
    assert held.budget.is_full


async def test_over_the_bound_nothing_starts_if_no_process_is_idle():
    """Ours: one that was used within `UNUSED_S` is not."""
    held = Processes(1)
    await held.budget.take()
    held.rest("a", UNUSED_S - 1)
    with pytest.raises(UpstreamUnavailable, match=r"at most 1 processes of servers.*'isolation'.*'maxProcesses'"):
        await held.budget.take()
    held.budget.give_back()
    await held.budget.take()


async def test_each_that_waits_gets_a_place():
    """Ours: also those after one that gives up."""
    held = Processes(2)
    for name in "ab":
        await held.budget.take()
        held.rest(name, 100)
    gives_up, waits = await begun(held.budget.take()), await begun(held.budget.take())
    with pytest.raises(UpstreamUnavailable):
        await held.budget.take()
    gives_up.cancel()
    held.budget.give_back()
    await waits
    held.budget.give_back()
    await held.budget.take()
    assert held.budget.is_full


async def test_who_gives_up_with_a_place_gives_it_back():
    held = Processes(1)
    await held.budget.take()
    held.rest("a", 100)
    waits = await begun(held.budget.take())
    held.budget.give_back()
    waits.cancel()
    await asyncio.wait([waits])
    assert not held.budget.is_full


@pytest.mark.parametrize("ends_idle", [True, False])
async def test_idle_processes_end_after_a_time(monkeypatch, ends_idle):
    """Ours: not those of the one client over stdio, which ends them itself."""
    monkeypatch.setattr(module, "PROCESS_IDLE_S", 0.0)
    held = Processes(2, ends_idle=ends_idle)
    held.rest("a", 1.0)
    await held.budget.take()
    await turns()
    assert held.ending == (["a"] if ends_idle else [])
    held.budget.give_back()


def test_a_silent_session_and_its_processes_last_as_long():
    """Ours: what one knows of the other."""
    assert PROCESS_IDLE_S == HTTP_SESSION_IDLE_S


async def test_only_a_request_ends_the_process_of_another_client():
    """Ours: a client that misses a server gets it back once there is a place, and takes none from who thinks."""
    async with of_processes() as made:
        processes = made._settings.processes
        assert processes.is_full
        assert not await made._reconnect(client())
        processes.limit = 1
        assert await made._reconnect(client())


# Of what there is room for


def test_a_machine_has_room_for_processes_by_its_memory_and_files(monkeypatch, tmp_path):
    """Ours: a container by its own memory."""
    monkeypatch.setattr(places, "_CONTAINER_MEMORY", tmp_path / "memory.max")
    monkeypatch.setattr(places, "max_open_files", lambda: 1_000_000)
    of_machine = places.max_processes()
    for written, room in (
        (str(100 * PROCESS_BYTES), min(100, of_machine)),
        (str(PROCESS_BYTES), MIN_PROCESSES),
        ("max", of_machine),
    ):
        (tmp_path / "memory.max").write_text(written)
        assert places.max_processes() == room
    monkeypatch.setattr(places, "max_open_files", lambda: 20 * PROCESS_FILES)
    assert places.max_processes() == 10


SERVERS = {"mcpServers": {"a": {"command": "a"}, "b": {"command": "b", "louver": {"isolation": "session"}}}}


def test_a_setting_bounds_the_processes_that_there_may_be():
    assert Gateway(as_config({**SERVERS, "louver": {"maxProcesses": 10}}))._upstreams.processes.limit == 10


# With real processes


@asynccontextmanager
async def clients(number, **louver):
    """Clients of one gateway before a server that has a process for each of them."""
    gateway = Gateway({"mcpServers": {"it": fixture("unruly")}, "louver": louver})
    try:
        async with AsyncExitStack() as stack:
            server = sdk_server(gateway.answer)
            yield [await stack.enter_async_context(connect(server, HANDSHAKE, handshake=False)) for _ in range(number)]
    finally:
        await gateway.close()


async def opens(wire):
    hello = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "wire", "version": "1"}}
    await wire.request("initialize", hello)
    await wire.notify("notifications/initialized")


async def pid_of(wire):
    answer = await wire.call("pid")
    assert "pid" in answer, answer
    return answer["pid"]


async def test_an_idle_process_ends_and_the_next_call_starts_another(monkeypatch):
    """#43: no call fails because of it, nor one that comes while it ends."""
    monkeypatch.setattr(module, "PROCESS_IDLE_S", 0.2)
    async with clients(1) as [wire]:
        await opens(wire)
        seen = set()
        for _ in range(3):
            pid = await pid_of(wire)
            assert pid not in seen
            seen.add(pid)
            await until(lambda pid=pid: not lives(pid))


async def test_calls_at_any_moment_of_an_end_are_answered(monkeypatch):
    """#43: however short the time is."""
    monkeypatch.setattr(module, "PROCESS_IDLE_S", 0.05)
    async with clients(1) as [wire]:
        await opens(wire)
        seen = set()
        async with asyncio.timeout(FAILSAFE_S):
            for number in range(24):
                seen.add(await pid_of(wire))
                await asyncio.sleep(number / 300)
        assert len(seen) > 1


async def test_clients_are_told_that_lists_may_have_changed_while_a_process_was_gone(monkeypatch):
    """Ours: nobody heard of a change meanwhile."""
    monkeypatch.setattr(module, "PROCESS_IDLE_S", 0.2)
    async with clients(1) as [wire]:
        await opens(wire)
        pid = await pid_of(wire)
        await until(lambda: not lives(pid))
        await wire._send({"id": 99, "method": "tools/call", "params": {"name": "pid", "arguments": {}}})
        heard = set()
        async with asyncio.timeout(FAILSAFE_S):
            while not heard >= {"notifications/tools/list_changed", 99}:
                message = await wire._receive()
                heard.add(message.get("method", message.get("id")))


async def test_a_server_whose_processes_have_all_ended_is_there(clock):
    """Ours: it is no failure, for those who watch the gateway either."""
    async with of_processes(isolated=False) as made:
        await made.session()
        clock(100)
        [idle] = made.idle_processes()
        idle.end()
        assert made.is_up
        assert idle_of(made) == []
        assert await made.session()


async def test_a_client_over_the_bound_is_refused_until_another_ends(monkeypatch):
    """#43: a clear error, before anything starts."""
    async with clients(2, maxProcesses=1) as [ann, bob]:
        await opens(ann)
        with pytest.raises(MCPError, match="at most 1 processes of servers, and all are in use"):
            await opens(bob)
        held = await pid_of(ann)
        monkeypatch.setattr(module, "UNUSED_S", 0.0)
        await opens(bob)
        assert not lives(held)
        other = await pid_of(bob)
        # Nor is the server thought to be broken: whose process has ended gets another one.
        assert await pid_of(ann) not in (held, other)
        assert not lives(other)


async def test_a_client_of_several_servers_hears_why_it_gets_none(tmp_path):
    """#43: what, which bound, and what to do."""
    servers = {name: fixture("unruly") for name in ("one", "two")}
    with serving(*config(tmp_path, servers, maxProcesses=2)) as served:
        # The gateway's own two were used just now.
        async with raw(served.url, STATELESS) as first:
            await first.call("one__echo")
        with pytest.raises(AssertionError) as refused:
            async with raw(served.url, HANDSHAKE):
                pass
        assert "at most 2 processes of servers" in str(refused.value)
        assert "maxProcesses" in str(refused.value)
        served.says("processes of servers that are not started: 1, the last: the gateway runs at most 2")
