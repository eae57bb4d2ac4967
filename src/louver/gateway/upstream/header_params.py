"""What 2026-07-28 repeats of a call's arguments in HTTP headers, as the tool's schema says.

    {"name": "query", "inputSchema": {"properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}}
    tools/call {"name": "query", "arguments": {"region": "here"}}    ->    Mcp-Param-Region: here

What a tool wants is remembered from the lists that pass, so that a call needs none of its own. An upstream whose tool
wants something else by now refuses the call before anything runs; then the tools are listed again.
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

    Wanted = dict[str, dict[tuple[str, ...], str]]
    """What tools want: the name of a tool -> where in its arguments -> the name of a header."""


async def wanted_by(tools: list[dict[str, Any]]) -> Wanted:
    """What listed tools want, looked at in turns."""
    wanted: Wanted = {}
    async for tool in by_turns(tools):
        schema = tool["inputSchema"]
        is_valid = find_invalid_x_mcp_header(schema) is None
        wanted[tool["name"]] = x_mcp_header_map(schema) if is_valid else {}
    return wanted


class Parameters:
    """What the tools of one session want.

    Args:
        list_tools: Lists all tools of the upstream, which are learnt from by the way.
    """

    def __init__(self, list_tools: Callable[[], Awaitable[object]]) -> None:
        self._list_tools = list_tools
        self._wanted: Wanted = {}
        self._listing = asyncio.Lock()

    def learn(self, wanted: Wanted) -> None:
        """Remember what listed tools want."""
        self._wanted |= wanted

    def forget(self) -> None:
        """The tools have changed."""
        self._wanted.clear()

    async def headers(self, name: str, arguments: dict[str, Any]) -> dict[str, str]:
        """The headers of a call. A tool that is not known is looked for in the list; if that has none, it has none."""
        if name not in self._wanted:
            await self._look_for(name)
        return mcp_param_headers(self._wanted.get(name, {}), arguments)

    async def _look_for(self, name: str) -> None:
        async with self._listing:
            # Whoever had to wait may find it listed by now.
            if name not in self._wanted:
                with suppress(MCPError, UpstreamError):
                    await self._list_tools()
