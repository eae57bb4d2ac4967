"""Runs clients' scripts in the sandbox, and sends their tool calls through the gateway like the client's own calls.

    tracker.search({query = "crash"}, {fields = {"items.id"}}):await()

The value of a call is the structured content; else the parsed JSON of a lone text, or that text; else the blocks. If
the script requests fields or a view, a lone JSON text inside the structured content is unwrapped too.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from time import monotonic
from typing import TYPE_CHECKING, Any

from louver.concurrency.backoff import Backoff
from louver.core.nearest import instead, nearest
from louver.core.wrapper import text_wrapper_in
from louver.errors import SandboxUnavailable, ToolFailed, UnknownName
from louver.gateway.scripting.sandbox import Sandbox
from louver.limits import DEFINITIONS_S, MAX_CALL_NAMES, MAX_SCRIPT_REPLY
from louver.protocol.output import blocks, find_output, is_structured

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable, Mapping

    from louver.core.json import Json
    from louver.gateway.discovery.behind import Behind
    from louver.gateway.discovery.service import DiscoveryService
    from louver.gateway.scripting.sandbox import Level, Options


logger = logging.getLogger(__name__)


class Scripts:
    """Runs scripts, and starts the sandbox on first use."""

    def __init__(self, level: Level) -> None:
        self.level: Level = level
        self.names = CallNames()
        self._sandbox = Sandbox(level)
        self._starting: asyncio.Task[bool] | None = None
        self._failures = Backoff()

    async def are_ready(self) -> bool:
        """Whether scripts can run; a failed start of the sandbox is logged and retried with backoff."""
        if self._starting is None or (self._starting.done() and self._failures.problem and not self._failures.wait_s):
            self._starting = asyncio.create_task(self._start())
        try:
            return await asyncio.shield(self._starting)
        except asyncio.CancelledError:
            if self._starting.cancelled():
                return False
            raise

    async def run(self, script: str, host: ScriptHost, caller: Hashable) -> Json:
        """Return the script's result, or raise a `SandboxError`."""
        return await self._sandbox.run(script, host.servers, host, caller)

    async def close(self) -> None:
        if self._starting is not None:
            self._starting.cancel()
        await self._sandbox.close()

    async def _start(self) -> bool:
        try:
            await self._sandbox.start()
        except SandboxUnavailable as error:
            logger.error("'execute' is not offered: %s", error.message)
            self._failures.fail(error.message)
            return False
        self._failures.problem = ""
        return True


class ScriptHost:
    """Host API of one script; `called` is awaited with `server.tool` after each call."""

    def __init__(
        self,
        service: DiscoveryService,
        behind: Behind,
        names: CallNames,
        caller: Hashable,
        called: Callable[[str], Awaitable[None]],
    ) -> None:
        self.servers = service.lua_servers()
        self._service = service
        self._behind = behind
        self._names = names
        self._caller = caller
        self._called = called
        self._listed: dict[str, Mapping[str, str]] = {}
        self._listing = asyncio.Lock()

    async def call(self, server: str, tool: str, arguments: dict[str, Json], options: Options) -> Json:
        name = await self._name(server, tool)
        called = f"{server}.{tool}"
        try:
            asks = _projection(options)
            result = await self._behind.answer(name, arguments, asks, called)
        except ToolFailed:
            await self._called(called)
            raise
        await self._called(called)
        return _value(result, called, is_projected=asks is not None)

    async def _name(self, server: str, tool: str) -> str:
        known = self._names.find((self._caller, server))
        if tool not in known:
            known = await self._listed_names(server)
        if tool in known:
            return known[tool]
        hint = instead(tool, known)
        raise UnknownName(f"server {server!r} has no tool {tool[:80]!r}: {hint}", nearest=nearest(tool, known))

    async def _listed_names(self, server: str) -> Mapping[str, str]:
        """List a server's tools, once per script; concurrent callers share the list."""
        async with self._listing:
            if server not in self._listed:
                self._listed[server] = await self._service.call_names(server)
                self._names.keep((self._caller, server), self._listed[server])
            return self._listed[server]


def _projection(options: Options) -> dict[str, Any] | None:
    """Return the projection request of a call; `required`, so that the script gets the projection or an error."""
    if options.view is not None:
        return {"mode": "view", "view": options.view, "required": True, "schema": "none"}
    if options.fields is not None:
        return {"mode": "include", "fields": list(options.fields), "required": True, "schema": "none"}
    return None


def _value(result: dict[str, Any], called: str, *, is_projected: bool) -> Json:
    """Return the value of a call for the script; raise `ToolFailed` if it is too large."""
    found = blocks(result)
    texts = [block["text"] for block in found if block.get("type") == "text" and isinstance(block.get("text"), str)]
    if sum(map(len, texts)) > MAX_SCRIPT_REPLY and not is_structured(result):
        message = f"{called} answers with over {MAX_SCRIPT_REPLY} characters: ask for fewer 'fields'"
        raise ToolFailed(message, tool=called)
    # Without a projection, the type of the value would depend on whether the text happens to be JSON.
    wrapper = text_wrapper_in(result.get("structuredContent")) if is_projected else None
    if (output := find_output(result, wrapper)) is not None:
        return output.value
    return texts[0] if len(texts) == len(found) == 1 else found


class CallNames:
    """A bounded cache of tool names: (caller, server) -> Lua identifier -> listed name."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._found: OrderedDict[Hashable, tuple[Mapping[str, str], float]] = OrderedDict()
        self._size = 0

    def find(self, key: Hashable) -> Mapping[str, str]:
        """Return the names if they are younger than `DEFINITIONS_S`, else none."""
        names, at = self._found.get(key, ({}, float("-inf")))
        return names if self._clock() < at + DEFINITIONS_S else {}

    def keep(self, key: Hashable, names: Mapping[str, str]) -> None:
        """Store names, and evict the oldest entries beyond `MAX_CALL_NAMES`."""
        self._size += len(names) - len(self._found.pop(key, ({}, 0.0))[0])
        self._found[key] = names, self._clock()
        while self._size > MAX_CALL_NAMES and len(self._found) > 1:
            self._size -= len(self._found.popitem(last=False)[1][0])

    def clear(self) -> None:
        """Forget all names, after the servers behind the gateway have changed."""
        self._found.clear()
        self._size = 0
