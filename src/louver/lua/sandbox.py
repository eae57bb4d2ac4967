"""Sandbox: runs a client's Lua script, which can do nothing but call tools.

    await sandbox.run("result(files.read({path = 'a'}):await().size)", ["files"], host, caller)    42

Each script has its own process (`fork_server.py`), confined by the kernel (`confine.py`, `seccomp.py`) and inside Lua
(`prelude.lua`). The gateway does what the script requests (`bridge.py`).
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, get_args

from louver.concurrency.offload import in_thread
from louver.errors import SandboxError, SandboxSyntax, SandboxUnavailable
from louver.gateway.builtin.scripts import Level
from louver.limits import SANDBOX_ENDING_S
from louver.lua import seccomp
from louver.lua.bridge import Bridge
from louver.lua.channel import ChannelClosed, WorkerChannel
from louver.lua.host_api import HostApi, Options
from louver.lua.process_pool import ProcessPool, Worker
from louver.lua.queue import ScriptQueue
from louver.lua.script_errors import error_of_exit
from louver.lua.time_limit import TimeLimit
from louver.shipped import with_extra

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from louver.core.json import Json

MAX_SCRIPT_BYTES = 64 * 1024
"""Longest script, in bytes."""

SCRIPT_WALL_S = 5.0
SCRIPT_HARD_WALL_S = 30.0
"""How long a script may take without, and with, its waits for upstreams, in seconds."""

MAX_SCRIPTS = 4
MAX_SCRIPTS_WAITING = 16
"""Scripts that run at once, one for each caller, and that wait; one more is refused."""


__all__ = ["HostApi", "Options", "Sandbox"]

_SCRIPT_WORKER: Final = "louver.lua.worker:serve"
_SELFTEST_WORKER: Final = "louver.lua.selftest:attempts"
# Only the seccomp filter prevents these, so they may be possible at the level `process`.
_NEEDS_SECCOMP: Final = frozenset({"fork", "start a program", "signal a process"})


class Sandbox:
    """Runs scripts, one sandbox per gateway; `strict` requires the seccomp filter, `process` does without it."""

    def __init__(self, level: Level = "strict") -> None:
        if level not in get_args(Level):
            raise ValueError(f"a sandbox's level is one of {', '.join(get_args(Level))}, not {level!r}")
        self._level = level
        self._queue = ScriptQueue(MAX_SCRIPTS, MAX_SCRIPTS_WAITING)
        self._pool: ProcessPool | None = None
        self._start_lock = asyncio.Lock()
        self._pool_start: asyncio.Task[ProcessPool] | None = None
        self._is_open = False

    async def start(self) -> None:
        """Prepare the sandbox and verify the confinement; `SandboxUnavailable` names what is missing or got out."""
        if not hasattr(os, "fork"):
            raise SandboxUnavailable("scripts need processes that can fork, which this system has not")
        if find_spec("lupa") is None:
            raise SandboxUnavailable(f"scripts need the extra 'lua': {await in_thread(lambda: with_extra('lua'))}")
        if self._level == "strict" and (reason := seccomp.unavailable_reason()) is not None:
            raise SandboxUnavailable(f"scripts cannot be contained at the level 'strict': {reason}")
        await self._selftest()
        self._is_open = True
        try:
            if await self._run("result(true)", (), _NoTools()) is not True:
                raise SandboxUnavailable("the sandbox's Lua does not work")
        except BaseException as error:  # after a cancellation, too, no process may remain
            await self.close()
            if isinstance(error, SandboxError) and not isinstance(error, SandboxUnavailable):
                raise SandboxUnavailable(f"the sandbox's Lua does not work: {error.message}") from None
            raise

    async def run(self, script: str, servers: Sequence[str], host: HostApi, caller: Hashable) -> Json:
        """Run a script and return its result, or raise a `SandboxError`; one script per `caller` runs at a time."""
        size = len(script.encode("utf-8", "surrogatepass"))
        if size > MAX_SCRIPT_BYTES:
            message = f"a script has at most {MAX_SCRIPT_BYTES} bytes, this one has {size}"
            raise SandboxSyntax(message, limit=MAX_SCRIPT_BYTES)
        if any(0xD800 <= ord(character) <= 0xDFFF for character in script):
            raise SandboxSyntax("the script holds half a surrogate pair")
        async with self._queue.place(caller):
            return await self._run(script, servers, host)

    async def close(self) -> None:
        self._is_open = False
        # Does not wait for `_starting`: cancelling and closing here also ends a start or a request for a worker.
        pool_start, pool, self._pool = self._pool_start, self._pool, None
        if pool_start is not None:
            pool_start.cancel()
            await asyncio.wait([pool_start])
        if pool is not None:
            await pool.close()

    async def _run(self, script: str, servers: Sequence[str], host: HostApi) -> Json:
        time_limit = TimeLimit(SCRIPT_WALL_S, SCRIPT_HARD_WALL_S)
        worker = await self._worker()
        try:
            bridge = Bridge(await WorkerChannel.open(worker), servers, host, time_limit)
        except BaseException:  # after a cancellation, too, no worker may remain
            worker.kill()
            raise
        try:
            async with time_limit.enforced():
                return await bridge.run(script)
        except ChannelClosed:
            if not self._is_open:
                raise SandboxUnavailable("the sandbox was closed") from None
            raise await _silent_exit_error(worker) from None
        finally:
            # The process ends before the wait, since cancelling the calls may take time.
            bridge.stop()
            worker.kill()
            await bridge.wait_stopped()

    async def _worker(self) -> Worker:
        """Return a worker; start a new fork server if the last one has ended."""
        async with self._start_lock:
            if (pool := self._pool) is not None:
                with suppress(SandboxUnavailable):
                    return await pool.worker()
                self._pool = None
                await pool.close()
            if not self._is_open:
                raise SandboxUnavailable("the sandbox is closed")
            self._pool = await self._start_pool()
            return await self._pool.worker()

    async def _start_pool(self) -> ProcessPool:
        """Start a fork server, unless the sandbox is closed meanwhile."""
        self._pool_start = asyncio.create_task(ProcessPool.start(_SCRIPT_WORKER, self._level))
        try:
            pool = await self._pool_start
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise SandboxUnavailable("the sandbox is closed") from None
        finally:
            self._pool_start = None
        if not self._is_open:
            await pool.close()
            raise SandboxUnavailable("the sandbox is closed")
        return pool

    async def _selftest(self) -> None:
        """Run the self-test in a worker; raise `SandboxUnavailable` if a forbidden operation succeeds."""
        pool = await ProcessPool.start(_SELFTEST_WORKER, self._level)
        try:
            worker = await pool.worker()
            channel = await WorkerChannel.open(worker)
            try:
                succeeded = set((await channel.receive())["done"])
            except ChannelClosed:
                raise SandboxUnavailable("the sandbox's self-test has ended without a word") from None
            finally:
                channel.close()
        finally:
            await pool.close()
        if self._level == "process":
            succeeded -= _NEEDS_SECCOMP
        if succeeded:
            raise SandboxUnavailable(
                f"a script's process is not contained here, it can: {', '.join(sorted(succeeded))}"
            )


class _NoTools:
    """A host without tools."""

    async def call(self, server: str, tool: str, arguments: dict[str, Json], options: Options) -> Json:
        raise SandboxUnavailable(f"there is no {server}.{tool}")


async def _silent_exit_error(worker: Worker) -> SandboxError:
    """Return the error of a worker that ended silently; kill a worker or fork server that does not end."""
    for kill in (worker.kill, worker.pool.kill_server):
        with suppress(TimeoutError):
            async with asyncio.timeout(SANDBOX_ENDING_S):
                return error_of_exit(await asyncio.shield(worker.ended))
        kill()
    return error_of_exit(await worker.ended)
