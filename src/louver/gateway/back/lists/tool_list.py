"""The tools of a session, as its upstream lists them: without bad and blocked ones; and the headers of their calls.

    {"name": "query", "inputSchema": {"properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}}
    tools/call {"name": "query", "arguments": {"region": "here"}}    ->    Mcp-Param-Region: here

A 2026-07-28 call repeats these arguments in HTTP headers. They are learned from lists. If the tool has changed, the
upstream refuses the call before it runs; then list again.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from louver.concurrency.background import retrieve_error
from louver.concurrency.offload import yielding
from louver.errors import UpstreamError
from louver.gateway.back.lists.list_cache import without_bad_tools
from louver.steps.pages import pages
from louver.wire.headers import header_names, param_headers
from louver.wire.jsonrpc.errors import METHOD_NOT_FOUND, JsonRpcError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from louver.gateway.back.lists.list_cache import ListCache
    from louver.gateway.back.lists.tool_pins import ToolPins

    HeaderNames = dict[str, dict[tuple[str, ...], str]]  # tool name -> path in its arguments -> header name


class ToolList:
    def __init__(
        self,
        pins: ToolPins,
        lists: ListCache,
        page: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]],  # lists one page, and calls `learn`
    ) -> None:
        self.blocks = pins.blocks  # tools that changed
        self.headers = HeaderParams(self.all)
        self._pins = pins
        self._lists = lists
        self._page = page
        self._blocked: set[str] = set()
        self._checked_generation = -1  # of the last list by which tools were blocked
        # Checking a list yields to other tasks; the lock keeps lists in order.
        self._lock = asyncio.Lock()
        self._listing: asyncio.Task[list[dict[str, Any]]] | None = None
        self._listed_generation = 0

    async def all(self) -> list[dict[str, Any]]:
        """All tools of all pages; callers at the same time share one list."""
        generation = self._lists.generation
        if self._listing is None or self._listing.done() or self._listed_generation != generation:
            self._listing, self._listed_generation = asyncio.create_task(self._list_all()), generation
            self._listing.add_done_callback(retrieve_error)
        return list(await asyncio.shield(self._listing))

    async def learn(self, result: dict[str, Any]) -> dict[str, Any]:
        """A result of `tools/list` without bad and blocked tools; the blocked are remembered to refuse their calls."""
        async with self._lock:
            result = await without_bad_tools(result)
            tools: list[dict[str, Any]] = result["tools"]
            blocked = await self._pins.learn(tools)
            self._blocked = self._blocked.difference(tool["name"] for tool in tools) | blocked
            if blocked:
                result = {**result, "tools": [tool for tool in tools if tool["name"] not in blocked]}
            await self.headers.learn(result["tools"])
        return result

    async def is_blocked(self, tool: object) -> bool:
        """Whether a tool is blocked, by a list since the session opened and since the last change."""
        if (generation := self._lists.generation) != self._checked_generation:
            try:
                await self.all()
            except JsonRpcError as error:
                # What has no list has no tool that could change in it.
                if error.code != METHOD_NOT_FOUND:
                    raise
            self._checked_generation = generation
        return tool in self._blocked

    async def _list_all(self) -> list[dict[str, Any]]:
        return [tool async for page in pages(self._page) for tool in page["tools"]]


class HeaderParams:
    def __init__(self, list_tools: Callable[[], Awaitable[object]]) -> None:
        self._list_tools = list_tools  # calls `learn` as a side effect
        self.names: HeaderNames = {}
        self._list_lock = asyncio.Lock()

    async def learn(self, tools: list[dict[str, Any]]) -> None:
        self.names |= {tool["name"]: header_names(tool["inputSchema"]) async for tool in yielding(tools)}

    def forget(self) -> None:
        self.names.clear()

    async def headers(self, name: str, arguments: dict[str, Any]) -> dict[str, str]:
        """The headers of a call; for an unknown tool the tools are listed first."""
        if name not in self.names:
            await self._ensure_listed(name)
        return param_headers(self.names.get(name, {}), arguments)

    async def _ensure_listed(self, name: str) -> None:
        async with self._list_lock:
            # Another task may have listed it while this one waited.
            if name not in self.names:
                with suppress(JsonRpcError, UpstreamError):
                    await self._list_tools()
