"""Arguments that a 2026-07-28 call repeats in HTTP headers, as the tool's input schema demands.

    {"name": "query", "inputSchema": {"properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}}
    tools/call {"name": "query", "arguments": {"region": "here"}}    ->    Mcp-Param-Region: here

They are learned from lists. If the tool has changed, the upstream refuses the call before it runs; then list again.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from mcp import MCPError
from mcp.shared.inbound import find_invalid_x_mcp_header, mcp_param_headers, x_mcp_header_map

from louver.concurrency.offload import by_turns
from louver.errors import UpstreamError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Wanted = dict[str, dict[tuple[str, ...], str]]  # tool name -> path in its arguments -> header name


async def wanted_by(tools: list[dict[str, Any]]) -> Wanted:
    wanted: Wanted = {}
    async for tool in by_turns(tools):
        schema = tool["inputSchema"]
        is_valid = find_invalid_x_mcp_header(schema) is None
        wanted[tool["name"]] = x_mcp_header_map(schema) if is_valid else {}
    return wanted


class Parameters:
    def __init__(self, list_tools: Callable[[], Awaitable[object]]) -> None:
        self._list_tools = list_tools  # calls `learn` as a side effect
        self._wanted: Wanted = {}
        self._listing = asyncio.Lock()

    def learn(self, wanted: Wanted) -> None:
        self._wanted |= wanted

    def forget(self) -> None:
        self._wanted.clear()

    async def headers(self, name: str, arguments: dict[str, Any]) -> dict[str, str]:
        """The headers of a call; for an unknown tool the tools are listed first."""
        if name not in self._wanted:
            await self._look_for(name)
        return mcp_param_headers(self._wanted.get(name, {}), arguments)

    async def _look_for(self, name: str) -> None:
        async with self._listing:
            # Another task may have listed it while this one waited.
            if name not in self._wanted:
                with suppress(MCPError, UpstreamError):
                    await self._list_tools()
