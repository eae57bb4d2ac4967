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
from typing import TYPE_CHECKING, Final, Literal, get_args

from louver.errors import SandboxError, SandboxSyntax, SandboxUnavailable
from louver.gateway.scripting import seccomp
from louver.gateway.scripting.bridge import Bridge
from louver.gateway.scripting.channel import Channel, Gone
from louver.gateway.scripting.host_api import Host, Options
from louver.gateway.scripting.process_pool import Child, Nursery
from louver.gateway.scripting.queue import Turns
from louver.gateway.scripting.script_errors import error_of_end
from louver.gateway.scripting.time_limit import Wall
from louver.limits import (
    MAX_SCRIPT_BYTES,
    MAX_SCRIPTS,
    MAX_SCRIPTS_WAITING,
    SANDBOX_ENDING_S,
    SCRIPT_HARD_WALL_S,
    SCRIPT_WALL_S,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from louver.core.json import Json

__all__ = ["GLOBALS", "Host", "Level", "Options", "Sandbox"]

Level = Literal["strict", "process"]

# The globals of every script. A server with such a name gets another Lua identifier.
GLOBALS: Final = frozenset(
    "_G _VERSION assert await_all coroutine error ipairs json math next null pairs pcall project rawequal rawget "
    "rawlen rawset result select setmetatable string table tonumber tostring type utf8 xpcall".split()
)

_SCRIPTS: Final = "louver.gateway.scripting.worker:serve"
_ATTEMPTS: Final = "louver.gateway.scripting.selftest:attempts"
# Only the seccomp filter prevents these, so they may be possible at the level `process`.
_BEYOND_PROCESS: Final = frozenset({"fork", "start a program", "signal a process"})


class Sandbox:
    """Runs scripts, one sandbox per gateway; `strict` requires the seccomp filter, `process` does without it."""

    def __init__(self, level: Level = "strict") -> None:
        if level not in get_args(Level):
            raise ValueError(f"a sandbox's level is one of {', '.join(get_args(Level))}, not {level!r}")
        self._level = level
        self._turns = Turns(MAX_SCRIPTS, MAX_SCRIPTS_WAITING)
        self._nursery: Nursery | None = None
        self._starting = asyncio.Lock()
        self._birth: asyncio.Task[Nursery] | None = None
        self._is_open = False

    async def start(self) -> None:
        """Prepare the sandbox and verify the confinement; `SandboxUnavailable` names what is missing or got out."""
        if not hasattr(os, "fork"):
            raise SandboxUnavailable("scripts need processes that can fork, which this system has not")
        if find_spec("lupa") is None:
            raise SandboxUnavailable("scripts need Lua: install louver[lua]")
        if self._level == "strict" and (reason := seccomp.missing()) is not None:
            raise SandboxUnavailable(f"scripts cannot be contained at the level 'strict': {reason}")
        await self._test()
        self._is_open = True
        try:
            if await self._run("result(true)", (), _Nobody()) is not True:
                raise SandboxUnavailable("the sandbox's Lua does not work")
        except BaseException as error:  # after a cancellation, too, no process may remain
            await self.close()
            if isinstance(error, SandboxError) and not isinstance(error, SandboxUnavailable):
                raise SandboxUnavailable(f"the sandbox's Lua does not work: {error.message}") from None
            raise

    async def run(self, script: str, servers: Sequence[str], host: Host, caller: Hashable) -> Json:
        """Run a script and return its result, or raise a `SandboxError`; one script per `caller` runs at a time."""
        size = len(script.encode("utf-8", "surrogatepass"))
        if size > MAX_SCRIPT_BYTES:
            message = f"a script has at most {MAX_SCRIPT_BYTES} bytes, this one has {size}"
            raise SandboxSyntax(message, limit=MAX_SCRIPT_BYTES)
        if any(0xD800 <= ord(sign) <= 0xDFFF for sign in script):
            raise SandboxSyntax("the script holds half a surrogate pair")
        async with self._turns.taken(caller):
            return await self._run(script, servers, host)

    async def close(self) -> None:
        self._is_open = False
        # Does not wait for `_starting`: cancelling and closing here also ends a start or a request for a worker.
        birth, nursery, self._nursery = self._birth, self._nursery, None
        if birth is not None:
            birth.cancel()
            await asyncio.wait([birth])
        if nursery is not None:
            await nursery.close()

    async def _run(self, script: str, servers: Sequence[str], host: Host) -> Json:
        wall = Wall(SCRIPT_WALL_S, SCRIPT_HARD_WALL_S)
        child = await self._child()
        try:
            bridge = Bridge(await Channel.open(child), servers, host, wall)
        except BaseException:  # after a cancellation, too, no worker may remain
            child.kill()
            raise
        try:
            async with wall.held():
                return await bridge.run(script)
        except Gone:
            if not self._is_open:
                raise SandboxUnavailable("the sandbox was closed") from None
            raise await _told(child) from None
        finally:
            # The process ends before the wait, since cancelling the calls may take time.
            bridge.stop()
            child.kill()
            await bridge.stopped()

    async def _child(self) -> Child:
        """Return a worker; start a new fork server if the last one has ended."""
        async with self._starting:
            if (nursery := self._nursery) is not None:
                with suppress(SandboxUnavailable):
                    return await nursery.child()
                self._nursery = None
                await nursery.close()
            if not self._is_open:
                raise SandboxUnavailable("the sandbox is closed")
            self._nursery = await self._born()
            return await self._nursery.child()

    async def _born(self) -> Nursery:
        """Start a fork server, unless the sandbox is closed meanwhile."""
        self._birth = asyncio.create_task(Nursery.start(_SCRIPTS, self._level))
        try:
            nursery = await self._birth
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise SandboxUnavailable("the sandbox is closed") from None
        finally:
            self._birth = None
        if not self._is_open:
            await nursery.close()
            raise SandboxUnavailable("the sandbox is closed")
        return nursery

    async def _test(self) -> None:
        """Run the self-test in a worker; raise `SandboxUnavailable` if a forbidden operation succeeds."""
        nursery = await Nursery.start(_ATTEMPTS, self._level)
        try:
            child = await nursery.child()
            channel = await Channel.open(child)
            try:
                done = set((await channel.receive())["done"])
            except Gone:
                raise SandboxUnavailable("the sandbox's self-test has ended without a word") from None
            finally:
                channel.close()
        finally:
            await nursery.close()
        if self._level == "process":
            done -= _BEYOND_PROCESS
        if done:
            raise SandboxUnavailable(f"a script's process is not contained here, it can: {', '.join(sorted(done))}")


class _Nobody:
    """A host without tools."""

    async def call(self, server: str, tool: str, arguments: dict[str, Json], options: Options) -> Json:
        raise SandboxUnavailable(f"there is no {server}.{tool}")


async def _told(child: Child) -> SandboxError:
    """Return the error of a worker that ended silently; kill a worker or fork server that does not end."""
    for end_it in (child.kill, child.nursery.give_up):
        with suppress(TimeoutError):
            async with asyncio.timeout(SANDBOX_ENDING_S):
                return error_of_end(await asyncio.shield(child.ended))
        end_it()
    return error_of_end(await child.ended)
