"""The current definitions of a server's tools, as each caller sees them.

Every read of descriptions lists the tools again. A call uses the last list until the server announces a change, until
another list passes, or until that list is too old.
"""

from __future__ import annotations

from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import anyio

from louver.catalogue.files.descriptions import Described
from louver.concurrency.offload import yielding
from louver.limits import DEFINITIONS_S
from louver.steps.tools.origin import ATTACHED_SERVER
from louver.steps.tools.registry import CallerTools, ListedTools, all_tools
from louver.wire.results import READ_RESULT

if TYPE_CHECKING:
    from louver.catalogue.files.descriptions import DescriptionFiles
    from louver.steps.request import Next, Request
    from louver.steps.tools.origin import ToolOrigin, ToolOrigins


class ToolDefinitions:
    def __init__(self, files: DescriptionFiles, origins: ToolOrigins = ATTACHED_SERVER) -> None:
        self._files = files
        self._origins = origins
        # Weak: a tool that no caller sees any more is forgotten.
        self._latest: WeakValueDictionary[str, Described] = WeakValueDictionary()
        self._by_caller = CallerTools(_CachedDefinitions)
        self._change_count = 0
        # Learning a list yields to other tasks: the lock keeps lists in the order of arrival.
        self._lock = anyio.Lock(fast_acquire=True)

    def invalidate(self) -> None:
        """Treat the last lists as outdated: the server announced a change."""
        self._change_count += 1

    async def learn(self, request: Request, tools: list[dict[str, Any]], *, first: bool, last: bool) -> list[Described]:
        """The tools of one page that passes; `first` and `last` say whether a list begins or ends with it."""
        self._files.refresh()
        async with self._lock:
            described = [self._describe(tool) async for tool in yielding(tools)]
            cached = self._by_caller.get_or_create(request.identity.caller)
            # When it was listed is not known here: a call lists once more.
            cached.learn({each.name: each for each in described}, {}, first=first, last=last)
        return described

    def has(self, request: Request, name: str) -> bool:
        seen = self._by_caller.find(request.identity.caller)
        return seen is not None and name in seen.tools

    async def all(self, request: Request, call_next: Next) -> dict[str, Described]:
        """All tools that the caller sees, by name, from a new list."""
        return await self._list(request, call_next)

    async def find(self, name: str, request: Request, call_next: Next) -> Described | None:
        """A tool by its name, from a new list of its server if the last one may be outdated, or lacks it."""
        cached, origin = self._by_caller.find(request.identity.caller), self._origins.of(request, name)
        if cached is None or not self._is_current(cached, origin) or name not in cached.tools:
            return (await self._list(request, call_next, origin.server, name)).get(name)
        described = cached.tools[name]
        # Files are not reloaded here: a folder can hold one per tool.
        if described.file != self._files.find(name):
            described = cached.tools[name] = self._describe(described.tool)
        return described

    async def _list(
        self, request: Request, call_next: Next, server: str | None = None, wanted: str = ""
    ) -> dict[str, Described]:
        change_count, listed_at = self._change_count, monotonic()
        generations = self._origins.generations(request)
        self._files.refresh()
        # `read_result` is ours, and listed in full.
        listed = [tool async for tool in all_tools(request, call_next, server) if tool != READ_RESULT]
        async with self._lock:
            tools = {tool["name"]: self._describe(tool) async for tool in yielding(listed)}
            cached = self._by_caller.get_or_create(request.identity.caller)
            if server is None or not self._is_recent(cached):
                # The oldest list of a server counts.
                cached.outdate()
                cached.change_count, cached.listed_at = change_count, listed_at
            cached.replace(tools, generations, server, wanted)
        return tools

    def _is_current(self, cached: _CachedDefinitions, origin: ToolOrigin) -> bool:
        return self._is_recent(cached) and cached.are_of(origin)

    def _is_recent(self, cached: _CachedDefinitions) -> bool:
        return cached.change_count == self._change_count and monotonic() < cached.listed_at + DEFINITIONS_S

    def _describe(self, tool: dict[str, Any]) -> Described:
        """The tool in both stages; the same object if nothing has changed."""
        name = tool["name"]
        file = self._files.find(name)
        latest = self._latest.get(name)
        if latest is None or latest.file != file or not (latest.tool is tool or latest.tool == tool):
            latest = self._latest[name] = Described(tool, file)
        return latest


class _CachedDefinitions(ListedTools[Described]):
    """The tools of one caller, with the change count and the time, in seconds, before they were listed."""

    def __init__(self) -> None:
        super().__init__()
        self.change_count = 0
        self.listed_at = -inf
