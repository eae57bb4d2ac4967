"""Arguments that a 2026-07-28 call repeats in HTTP headers, as the tool's input schema demands.

    {"name": "query", "inputSchema": {"properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}}
    tools/call {"name": "query", "arguments": {"region": "here"}}    ->    Mcp-Param-Region: here

They are learned from lists. If the tool has changed, the upstream refuses the call before it runs; then list again.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from louver.concurrency.offload import yielding
from louver.errors import UpstreamError
from louver.jsonrpc.errors import JsonRpcError
from louver.protocol.headers import header_names, param_headers

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    HeaderNames = dict[str, dict[tuple[str, ...], str]]  # tool name -> path in its arguments -> header name


async def header_names_of(tools: list[dict[str, Any]]) -> HeaderNames:
    return {tool["name"]: header_names(tool["inputSchema"]) async for tool in yielding(tools)}


class HeaderParams:
    def __init__(self, list_tools: Callable[[], Awaitable[object]]) -> None:
        self._list_tools = list_tools  # calls `learn` as a side effect
        self._header_names: HeaderNames = {}
        self._list_lock = asyncio.Lock()

    def learn(self, names: HeaderNames) -> None:
        self._header_names |= names

    def forget(self) -> None:
        self._header_names.clear()

    async def headers(self, name: str, arguments: dict[str, Any]) -> dict[str, str]:
        """The headers of a call; for an unknown tool the tools are listed first."""
        if name not in self._header_names:
            await self._ensure_listed(name)
        return param_headers(self._header_names.get(name, {}), arguments)

    async def _ensure_listed(self, name: str) -> None:
        async with self._list_lock:
            # Another task may have listed it while this one waited.
            if name not in self._header_names:
                with suppress(JsonRpcError, UpstreamError):
                    await self._list_tools()
