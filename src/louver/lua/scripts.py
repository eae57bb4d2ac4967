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
from louver.limits import DEFINITIONS_S, MAX_SCRIPT_REPLY
from louver.lua.sandbox import Sandbox
from louver.wire.output import blocks, find_output, is_structured

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable, Mapping

    from louver.core.json import Json
    from louver.gateway.builtin.behind import VisibleServers
    from louver.gateway.builtin.scripts import Level
    from louver.gateway.builtin.service import DiscoveryService
    from louver.lua.sandbox import Options

MAX_CALL_NAMES = 100_000
"""Cached tool names for scripts: of many callers, or ten very large servers."""


logger = logging.getLogger(__name__)


class ScriptRunner:
    """Runs scripts, and starts the sandbox on first use."""

    def __init__(self, level: Level) -> None:
        self.level: Level = level
        self.names = ToolNameCache()
        self._sandbox = Sandbox(level)
        self._starting: asyncio.Task[bool] | None = None
        self._failures = Backoff()

    async def is_ready(self) -> bool:
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
            self._failures.record_failure(error.message)
            return False
        self._failures.problem = ""
        return True


class ScriptHost:
    """Host API of one script; `called` is awaited with `server.tool` after each call."""

    def __init__(
        self,
        service: DiscoveryService,
        visible_servers: VisibleServers,
        names: ToolNameCache,
        caller: Hashable,
        on_called: Callable[[str], Awaitable[None]],
    ) -> None:
        self.servers = service.lua_servers()
        self._service = service
        self._visible_servers = visible_servers
        self._names = names
        self._caller = caller
        self._on_called = on_called
        self._listed: dict[str, Mapping[str, str]] = {}
        self._list_lock = asyncio.Lock()

    async def call(self, server: str, tool: str, arguments: dict[str, Json], options: Options) -> Json:
        name = await self._listed_name(server, tool)
        tool_name = f"{server}.{tool}"
        try:
            projection = _projection(options)
            result = await self._visible_servers.call_checked(name, arguments, projection, tool_name)
        except ToolFailed:
            await self._on_called(tool_name)
            raise
        await self._on_called(tool_name)
        return _value(result, tool_name, is_projected=projection is not None)

    async def _listed_name(self, server: str, tool: str) -> str:
        names = self._names.find((self._caller, server))
        if tool not in names:
            names = await self._listed_names(server)
        if tool in names:
            return names[tool]
        hint = instead(tool, names)
        raise UnknownName(f"server {server!r} has no tool {tool[:80]!r}: {hint}", nearest=nearest(tool, names))

    async def _listed_names(self, server: str) -> Mapping[str, str]:
        """List a server's tools, once per script; concurrent callers share the list."""
        async with self._list_lock:
            if server not in self._listed:
                self._listed[server] = await self._service.call_names(server)
                self._names.put((self._caller, server), self._listed[server])
            return self._listed[server]


def _projection(options: Options) -> dict[str, Any] | None:
    """Return the projection request of a call; `required`, so that the script gets the projection or an error."""
    if options.view is not None:
        return {"mode": "view", "view": options.view, "required": True, "schema": "none"}
    if options.fields is not None:
        return {"mode": "include", "fields": list(options.fields), "required": True, "schema": "none"}
    return None


def _value(result: dict[str, Any], tool_name: str, *, is_projected: bool) -> Json:
    """Return the value of a call for the script; raise `ToolFailed` if it is too large."""
    content_blocks = blocks(result)
    texts = [
        block["text"] for block in content_blocks if block.get("type") == "text" and isinstance(block.get("text"), str)
    ]
    if sum(map(len, texts)) > MAX_SCRIPT_REPLY and not is_structured(result):
        message = f"{tool_name} answers with over {MAX_SCRIPT_REPLY} characters: ask for fewer 'fields'"
        raise ToolFailed(message, tool=tool_name)
    # Without a projection, the type of the value would depend on whether the text happens to be JSON.
    wrapper = text_wrapper_in(result.get("structuredContent")) if is_projected else None
    if (output := find_output(result, wrapper)) is not None:
        return output.value
    return texts[0] if len(texts) == len(content_blocks) == 1 else content_blocks


class ToolNameCache:
    """A bounded cache of tool names: (caller, server) -> Lua identifier -> listed name."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._entries: OrderedDict[Hashable, tuple[Mapping[str, str], float]] = OrderedDict()
        self._size = 0

    def find(self, key: Hashable) -> Mapping[str, str]:
        """Return the names if they are younger than `DEFINITIONS_S`, else none."""
        names, at = self._entries.get(key, ({}, float("-inf")))
        return names if self._clock() < at + DEFINITIONS_S else {}

    def put(self, key: Hashable, names: Mapping[str, str]) -> None:
        """Store names, and evict the oldest entries beyond `MAX_CALL_NAMES`."""
        self._size += len(names) - len(self._entries.pop(key, ({}, 0.0))[0])
        self._entries[key] = names, self._clock()
        while self._size > MAX_CALL_NAMES and len(self._entries) > 1:
            self._size -= len(self._entries.popitem(last=False)[1][0])

    def clear(self) -> None:
        """Forget all names, after the servers behind the gateway have changed."""
        self._entries.clear()
        self._size = 0
