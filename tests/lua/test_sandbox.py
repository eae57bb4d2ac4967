"""The life of a sandbox: turns, walls, cancellation, processes that end, levels, what it needs."""

from __future__ import annotations

import asyncio
import errno
import importlib.util
import json
import os
import platform
import signal
import subprocess
import sys

import anyio
import pytest

from fixtures.failsafe import wait_until
from louver.errors import SandboxBusy, SandboxCrashed, SandboxRuntime, SandboxTimeout, SandboxUnavailable
from louver.lua import process_pool, sandbox, selftest
from louver.lua.fork_server import SPARE_CHILDREN
from louver.lua.process_pool import ProcessPool
from louver.lua.queue import ScriptQueue
from louver.lua.sandbox import MAX_SCRIPTS, MAX_SCRIPTS_WAITING, Sandbox
from louver.lua.time_limit import TimeLimit
from lua.hosts import Tools, children, is_there, only_spares, run, started, zygote_of

pytestmark = pytest.mark.anyio

BOMB = "while true do pcall(string.rep, 'x', 1000000) end"


# Turns


async def test_a_call_that_takes_long_to_end_is_cancelled_once():
    """Ours: anyio cancels in every turn of the event loop who waits, unshielded, for something that is not anyio's."""
    cancelled, go_on = 0, asyncio.Event()

    class Slow(Tools):
        async def _answer(self, server, tool, arguments):
            nonlocal cancelled
            while not go_on.is_set():
                try:
                    await go_on.wait()
                except asyncio.CancelledError:
                    cancelled += 1

    async def ask():
        with scope:
            await run(room, "srv.slow():await()", host)

    host, scope = Slow(), anyio.CancelScope()
    async with started() as room:
        asking = asyncio.create_task(ask())
        await host.begun.wait()
        scope.cancel()
        for _ in range(100):
            await asyncio.sleep(0)
        assert not asking.done()
        go_on.set()
        await asking
    assert cancelled <= 2


async def test_four_scripts_run_at_once_and_one_of_each_caller():
    """SANDBOX.md: 4, 1; who waits for themselves holds up nobody."""
    async with started() as room:
        host = Tools()
        tasks = [asyncio.create_task(run(room, "result(srv.together():await())", host, caller=name)) for name in "abcd"]
        await asyncio.gather(*tasks)
        assert host.most_running == 4
        host = Tools()
        endless = asyncio.create_task(run(room, "srv.never():await()", host, caller="ann"))
        await host.begun.wait()
        again = asyncio.create_task(run(room, "result(2)", caller="ann"))
        assert await run(room, "result(1)", caller="bob") == 1
        assert not again.done()
        endless.cancel()
        assert await again == 2


async def test_so_many_wait_and_no_more():
    """SANDBOX.md: 16, then SANDBOX_BUSY; those who wait come in the order in which they came."""
    turns = ScriptQueue(MAX_SCRIPTS, MAX_SCRIPTS_WAITING)
    order, go = [], asyncio.Event()

    async def work(name):
        async with turns.place(name):
            order.append(name)
            await go.wait()

    names = list(range(MAX_SCRIPTS + MAX_SCRIPTS_WAITING))
    tasks = [asyncio.create_task(work(name)) for name in names]
    await asyncio.sleep(0)
    assert order == names[:MAX_SCRIPTS]
    with pytest.raises(SandboxBusy) as caught:
        await work("one more")
    assert caught.value.fields == {"limit": MAX_SCRIPTS_WAITING}
    tasks[5].cancel()
    await asyncio.gather(tasks[5], return_exceptions=True)
    go.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert order == [name for name in names if name != 5]


async def test_a_caller_waits_for_their_own_script():
    """SANDBOX.md: one of each caller, and others pass by."""
    turns, order = ScriptQueue(2, 4), []

    async def again():
        async with turns.place("ann"):
            order.append("ann")

    async with turns.place("ann"):
        waiting = asyncio.create_task(again())
        await asyncio.sleep(0)
        async with turns.place("bob"):
            order.append("bob")
        await asyncio.sleep(0)
        assert order == ["bob"]
    await waiting
    assert order == ["bob", "ann"]


async def test_a_turn_that_comes_with_its_cancellation_goes_to_the_next():
    """*Ours*: no place is lost."""
    turns = ScriptQueue(1, 4)
    order = []

    async def work(name):
        async with turns.place(name):
            order.append(name)

    first = turns.place("first")
    await first.__aenter__()
    second, third = (asyncio.create_task(work(name)) for name in ("second", "third"))
    await asyncio.sleep(0)
    await first.__aexit__(None, None, None)
    second.cancel()
    await third
    assert order == ["third"]


async def test_others_are_served_while_four_bombs_run():
    """SANDBOX.md: callers without a script, and the next script once there is a place."""
    async with started() as room:
        bombs = [asyncio.create_task(run(room, BOMB, caller=name)) for name in "abcd"]
        turns = 0
        while len(children(zygote_of(room))) < MAX_SCRIPTS + SPARE_CHILDREN:
            await asyncio.sleep(0)
            turns += 1
        waiting = asyncio.create_task(run(room, "result('served')", caller="eve"))
        for _ in range(1000):
            await asyncio.sleep(0)
        # The loop has turned a thousand times, and no bomb has ended meanwhile.
        assert not any(bomb.done() for bomb in bombs)
        assert await waiting == "served"
        ends = await asyncio.gather(*bombs, return_exceptions=True)
        assert {type(end) for end in ends} == {SandboxTimeout}


# Walls


async def test_waiting_for_an_upstream_is_not_the_script_s_time(monkeypatch):
    """SANDBOX.md: wall without upstream waits, hard wall with them."""
    async with started() as room:
        with monkeypatch.context() as hard:
            hard.setattr(sandbox, "SCRIPT_HARD_WALL_S", 0.5)
            with pytest.raises(SandboxTimeout, match="waiting included"):
                await run(room, "srv.never():await()")
        monkeypatch.setattr(sandbox, "SCRIPT_WALL_S", 0.5)
        with pytest.raises(SandboxTimeout, match=r"over 0\.5 s") as caught:
            await run(room, "srv.never() while true do end")
        assert caught.value.fields == {"limit": 0.5}


async def test_a_timeout_within_is_not_the_wall_s():
    """*Ours*: what times out in a host is the host's own."""
    wall = TimeLimit(5, 30)
    with pytest.raises(TimeoutError):
        async with wall.enforced():
            raise TimeoutError


# Ends


async def test_cancelling_ends_the_script_and_its_calls():
    """*Ours*: at once, and nobody goes on for it."""
    async with started() as room:
        host = Tools()
        running = asyncio.create_task(run(room, "srv.never():await()", host))
        await host.begun.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert (host.running, host.cancelled) == (0, 1)
        await only_spares(room)
        bomb = asyncio.create_task(run(room, "srv.echo() " + BOMB, host := Tools()))
        await host.begun.wait()
        bomb.cancel()
        await asyncio.gather(bomb, return_exceptions=True)
        await only_spares(room)
        assert await run(room, "result(1)") == 1


async def test_cancelling_while_a_process_is_given_loses_none():
    """*Ours*: whenever it comes."""
    async with started() as room:
        for steps in range(12):
            task = asyncio.create_task(run(room, "result(1)"))
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        assert await run(room, "result(1)") == 1
        await only_spares(room)


async def test_a_zygote_that_is_gone_is_started_anew():
    """*Ours*: what ran in its children ends with it, the next script runs."""
    async with started() as room:
        host = Tools()
        running = asyncio.create_task(run(room, "srv.never():await()", host))
        await host.begun.wait()
        pids = [zygote_of(room), *children(zygote_of(room))]
        os.kill(pids[0], signal.SIGKILL)
        with pytest.raises(SandboxCrashed, match="try again"):
            await running
        assert await run(room, "result(1)") == 1
        assert zygote_of(room) != pids[0]
        await asyncio.to_thread(wait_until, lambda: not any(map(is_there, pids)))


async def test_a_zygote_that_goes_while_it_is_asked_is_started_anew():
    """*Ours*: its end may not have been seen yet."""
    async with started() as room:
        os.kill(zygote_of(room), signal.SIGKILL)
        assert await run(room, "result(1)") == 1


async def test_a_zygote_that_hangs_is_given_up(monkeypatch):
    """*Ours*: the next script runs, by another; what ran in its children ends with it."""
    monkeypatch.setattr(process_pool, "SANDBOX_GIVING_S", 0.05)
    async with started() as room:
        host = Tools()
        running = asyncio.create_task(run(room, "srv.never():await()", host, caller="bob"))
        await host.begun.wait()
        pids = [zygote_of(room), *children(zygote_of(room))]
        os.kill(pids[0], signal.SIGSTOP)
        assert await run(room, "result(1)") == 1
        with pytest.raises(SandboxCrashed, match="try again"):
            await running
        assert zygote_of(room) != pids[0]
        await asyncio.to_thread(wait_until, lambda: not any(map(is_there, pids)))


async def test_a_child_whose_zygote_hangs_is_not_waited_for(monkeypatch):
    """*Ours*: nobody tells how it has ended."""
    monkeypatch.setattr(sandbox, "SANDBOX_ENDING_S", 0.05)
    async with started() as room:
        host = Tools()
        running = asyncio.create_task(run(room, "srv.never():await()", host))
        await host.begun.wait()
        zygote = zygote_of(room)
        os.kill(zygote, signal.SIGSTOP)
        for pid in children(zygote):
            os.kill(pid, signal.SIGKILL)
        with pytest.raises(SandboxCrashed, match="try again"):
            await running
        assert await run(room, "result(1)") == 1


async def turned(condition):
    """Let the loop turn until something is so."""
    for _ in range(10_000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError


async def test_closing_does_not_wait_for_a_zygote_that_hangs(monkeypatch):
    """*Ours*: whether it is asked for a child, or starts."""
    monkeypatch.setattr(process_pool, "SANDBOX_ENDING_S", 0.05)
    room = Sandbox()
    await room.start()
    zygote = zygote_of(room)
    os.kill(zygote, signal.SIGSTOP)
    asking = asyncio.create_task(run(room, "result(1)"))
    await turned(lambda: room._pool._waiting)
    # Nothing but closing ends the waiting.
    monkeypatch.setattr(process_pool, "SANDBOX_STARTING_S", 1000.0)
    await room.close()
    with pytest.raises(SandboxUnavailable, match="is closed"):
        await asking
    assert not is_there(zygote)
    room._is_open = True
    monkeypatch.setattr(process_pool, "_BOOT", "import signal; signal.pause()")
    asking = asyncio.create_task(run(room, "result(1)"))
    await turned(lambda: room._pool_start)
    await room.close()
    with pytest.raises(SandboxUnavailable, match="is closed"):
        await asking


async def test_without_descriptors_there_is_no_sandbox(monkeypatch):
    """*Ours*: an error of ours, as where the process cannot be started."""

    def none_left():
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patch:
        patch.setattr(process_pool.socket, "socketpair", none_left)
        with pytest.raises(SandboxUnavailable, match="Too many open files"):
            await ProcessPool.start("lua.bodies:waits", "strict")


async def test_a_spare_that_is_gone_is_missed_by_nobody():
    """*Ours*."""
    async with started() as room:
        await only_spares(room)
        spares = children(zygote_of(room))
        for pid in spares:
            os.kill(pid, signal.SIGKILL)
        await asyncio.to_thread(wait_until, lambda: not set(spares) & set(children(zygote_of(room))))
        assert await run(room, "result(1)") == 1


async def test_closing_leaves_nobody():
    """*Ours*: also what runs, also twice, also before the start."""
    room = Sandbox()
    await room.close()
    await room.start()
    host = Tools()
    running = asyncio.create_task(run(room, "srv.never():await()", host))
    await host.begun.wait()
    pids = [zygote_of(room), *children(zygote_of(room))]
    await room.close()
    assert not any(map(is_there, pids))
    with pytest.raises(SandboxUnavailable, match="was closed"):
        await running
    with pytest.raises(SandboxUnavailable, match="is closed"):
        await run(room, "result(1)")
    await room.close()


async def test_a_script_leaves_nothing_for_the_next():
    """SANDBOX.md: one process a script."""
    async with started() as room:
        assert await run(room, "string.format = nil; x = 1; result(1)") == 1
        assert await run(room, "result({x == nil, string.format('a')})") == [True, "a"]


# Levels, and what is needed


async def test_the_lower_level_runs_scripts_too():
    """SANDBOX.md: `process`."""
    async with started("process") as room:
        assert await run(room, "result(srv.echo({a = 1}):await())") == {"a": 1}
        with pytest.raises(SandboxRuntime):
            await run(room, "io.open('x')")


def test_there_are_two_levels():
    """*Ours*."""
    with pytest.raises(ValueError, match="strict, process"):
        Sandbox("off")


async def unavailable(level="strict"):
    room = Sandbox(level)
    with pytest.raises(SandboxUnavailable) as caught:
        await room.start()
    assert room._pool is None
    return caught.value.message


async def test_without_lua_there_is_no_sandbox(monkeypatch):
    """*Ours*: with what is to be installed."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(sandbox, "find_spec", lambda name: None)
    assert "the extra 'lua': uv sync --inexact --extra lua" in await unavailable()


async def test_without_a_filter_there_is_no_strict_level(monkeypatch):
    """SANDBOX.md: elsewhere `process`, which must be asked for."""
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert "riscv64" in await unavailable()
    monkeypatch.delattr(os, "fork")
    assert "fork" in await unavailable("process")


async def test_what_gets_out_of_the_self_test_keeps_it_from_starting(monkeypatch):
    """SANDBOX.md: starts only when a self-test passes; says what got out."""
    monkeypatch.setattr(sandbox, "_SELFTEST_WORKER", "lua.bodies:opens")
    for level in ("strict", "process"):
        assert "it can: open a file" in await unavailable(level)
    monkeypatch.setattr(sandbox, "_SELFTEST_WORKER", "lua.bodies:silent")
    assert "self-test" in await unavailable()


def test_the_self_test_bites():
    """*Ours*: what is tried does work where nobody is confined."""
    code = "from louver.lua import selftest; selftest.attempts(1)"
    said = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "SECRET": "x"}, stdout=subprocess.PIPE, check=True
    ).stdout
    assert set(json.loads(said[4:])["done"]) == set(selftest._ATTEMPTS) - {"connect"}


async def test_a_lua_that_does_not_work_keeps_it_from_starting(monkeypatch):
    """*Ours*."""
    monkeypatch.setattr(sandbox, "_SCRIPT_WORKER", "lua.bodies:ends")
    assert "Lua does not work" in await unavailable()
    monkeypatch.setattr(sandbox, "_SCRIPT_WORKER", "lua.bodies:wrong")
    assert "Lua does not work" in await unavailable()


async def test_a_process_that_goes_silent_and_stays_is_ended(monkeypatch):
    """*Ours*: it is not waited for long."""
    monkeypatch.setattr(sandbox, "_SCRIPT_WORKER", "lua.bodies:lingers")
    monkeypatch.setattr(sandbox, "SANDBOX_ENDING_S", 0.5)
    assert "without a word" in await unavailable("process")


async def test_a_zygote_that_cannot_load_or_does_not_get_ready_is_told(monkeypatch):
    """*Ours*."""
    monkeypatch.setattr(sandbox, "_SCRIPT_WORKER", "lua.nothing:at_all")
    assert "cannot load" in await unavailable()
    monkeypatch.setattr(process_pool, "_BOOT", "import signal; signal.pause()")
    monkeypatch.setattr(process_pool, "SANDBOX_STARTING_S", 0.05)
    monkeypatch.setattr(process_pool, "SANDBOX_ENDING_S", 0.05)
    assert "does not get ready" in await unavailable()
    monkeypatch.setattr(process_pool, "_BOOT", "raise SystemExit")
    monkeypatch.setattr(process_pool, "SANDBOX_STARTING_S", 5.0)
    assert "has ended" in await unavailable()
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert "cannot be started: No such file" in await unavailable()
