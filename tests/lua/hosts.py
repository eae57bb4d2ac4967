"""Hosts for scripts, and a sandbox that is started once for many of them."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from unittest.mock import patch

from fixtures.failsafe import FAILSAFE_S, until
from louver.errors import ToolFailed, UnknownName
from louver.lua import sandbox as module
from louver.lua.fork_server import SPARE_CHILDREN
from louver.lua.sandbox import Sandbox

SECRET = "an answer that no message may hold"


class Tools:
    """A host with one server, `srv`, that remembers what it was asked.

    Args:
        value: What `give` answers with.
    """

    def __init__(self, value=None):
        self.value = value
        self.calls = []
        self.running = self.most_running = self.cancelled = 0
        self.begun, self.four = asyncio.Event(), asyncio.Event()

    async def call(self, server, tool, arguments, options):
        self.calls.append((server, tool, arguments, options))
        self.running += 1
        self.most_running = max(self.running, self.most_running)
        self.begun.set()
        if self.running == 4:
            self.four.set()
        try:
            return await self._answer(server, tool, arguments)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.running -= 1

    async def _answer(self, server, tool, arguments):
        await asyncio.sleep(0)
        if tool == "echo":
            return arguments
        if tool == "profile":
            return {"id": 7, "name": "Ann"}
        if tool == "give":
            return self.value
        if tool == "large":
            return {"text": "x" * arguments["bytes"]}
        if tool == "together":
            await self.four.wait()
            return arguments
        if tool == "never":
            await asyncio.Event().wait()
        if tool == "fail":
            content = [{"type": "text", "text": SECRET}]
            raise ToolFailed(f"{server}.{tool} has answered with an error", tool=tool, content=content)
        raise UnknownName(f"{server} has no tool '{tool}'", nearest=["echo"])


@asynccontextmanager
async def started(level="strict"):
    """A sandbox that is ready; what a script may take of it counts by the processor, and not by the clock."""
    sandbox = Sandbox(level)
    with patch.multiple(module, SCRIPT_WALL_S=FAILSAFE_S, SCRIPT_HARD_WALL_S=FAILSAFE_S):
        await sandbox.start()
        try:
            yield sandbox
        finally:
            await sandbox.close()


async def run(sandbox, script, host=None, servers=("srv",), caller="ann"):
    """What a script gives to `result`."""
    return await sandbox.run(script, servers, host or Tools(), caller)


def zygote_of(sandbox):
    """The process that makes the sandbox's processes."""
    return sandbox._pool._process.pid


def _state(pid):
    """The state of a process, and its parent."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            state, parent = file.read().rpartition(") ")[2].split()[:2]
    except OSError:
        return "Z", 0
    return state, int(parent)


def is_there(pid):
    """Whether a process has not ended."""
    return _state(pid)[0] != "Z"


def children(pid):
    """The processes that a process has made and that have not ended."""
    found = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [one for one in found if _state(one)[1] == pid and is_there(one)]


async def only_spares(sandbox):
    """Wait until no process is left but those that wait for a script."""
    await until(lambda: len(children(zygote_of(sandbox))) <= SPARE_CHILDREN)
