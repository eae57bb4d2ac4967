"""The servers and tools behind the gateway, as one client sees them.

Every request passes the same middleware as the client's own requests, so hidden or forbidden tools do not appear.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from louver.concurrency.offload import yielding
from louver.core.json import members
from louver.errors import ToolFailed, UpstreamError, UpstreamUnavailable
from louver.gateway.builtin.search import FoundTools, search_tools
from louver.gateway.routing.aggregate import split_name
from louver.gateway.routing.dispatch import opening_of
from louver.steps.pages import pages
from louver.wire.jsonrpc.errors import METHOD_NOT_FOUND, JsonRpcError
from louver.wire.mcp import SERVER_INFO_META_KEY
from louver.wire.names import COMPACT, ERROR, PROJECTION_LITERAL, SERVER

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from louver.gateway.back.upstream import Upstream
    from louver.gateway.clients.client import GatewayClient

SERVER_LOOK_S = 5.0
"""How long a list of servers waits for one that is opening, in seconds; then it shows its current state."""


READY: Final = "ready"  # state of an available server
STARTING: Final = "starting"  # of one that is being opened: calls wait for it


@dataclass(frozen=True, slots=True)
class ServerStatus:
    name: str
    state: str  # `READY`, `STARTING`, or why the server is unavailable
    info: Mapping[str, Any] = field(default_factory=dict[str, Any])  # `serverInfo`
    instructions: str | None = None


class VisibleServers:
    """The servers for one client; `ask` sends a request through the whole gateway: method, params -> result."""

    def __init__(
        self,
        upstreams: Mapping[str, Upstream],
        client: GatewayClient,
        ask: Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]],
    ) -> None:
        self._upstreams = upstreams
        self._client = client
        self._ask = ask

    @property
    def names(self) -> list[str]:
        """The servers' names; a server given on the command line has the name that it reports."""
        return [upstream.display_name for upstream in self._upstreams.values()]

    async def statuses(self) -> list[ServerStatus]:
        """Return all servers, available or not."""
        return await asyncio.gather(*map(self._status, self._upstreams.values()))

    async def status(self, name: str) -> ServerStatus:
        return await self._status(self._by_name(name))

    async def tools(self, server: str | None = None) -> dict[str, dict[str, dict[str, Any]]]:
        """Return server -> the tool's own name -> the tool as listed; of one server, or of all that answer."""
        tools_by_server: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in self.names}
        meta = {} if server is None else {"_meta": {SERVER: self._by_name(server).name}}

        async def ask(cursor: dict[str, Any]) -> dict[str, Any]:
            return await self._ask("tools/list", {**cursor, **meta})

        try:
            async for page in pages(ask):
                listed: list[dict[str, Any]] = page.get("tools") or []
                async for tool in yielding(listed):
                    server_name, local_name = self.split_name(tool["name"])
                    if server_name in tools_by_server:
                        tools_by_server[server_name][local_name] = tool
        except JsonRpcError as error:
            if server is None or error.code == METHOD_NOT_FOUND:
                return tools_by_server
            if (status := await self.status(server)).state not in (READY, STARTING):
                raise UpstreamUnavailable(f"server {server!r} is not there: {status.state}") from None
            message = members(members(error.data).get("error")).get("message", f"error {error.code}")
            raise UpstreamUnavailable(f"server {server!r} does not list its tools: {message}") from None
        if server is not None and not tools_by_server[server] and (status := await self.status(server)).state != READY:
            raise UpstreamUnavailable(f"server {server!r} is not there: {status.state}")
        return tools_by_server

    async def search(self, query: str) -> FoundTools:
        return await search_tools(query, lambda params: self._ask("tools/list", params))

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        projection: dict[str, Any] | None = None,
        *,
        compact: bool = True,
    ) -> dict[str, Any]:
        """Call a tool by its listed name; `compact` applies the default view if there is no `projection`."""
        meta: dict[str, Any] = {} if projection is None else {PROJECTION_LITERAL: projection}
        meta |= {} if compact else {COMPACT: False}
        extra = {"_meta": meta} if meta else {}
        return await self._ask("tools/call", {"name": name, "arguments": dict(arguments), **extra})

    def server_of(self, name: str) -> str:
        """Return the server of a tool by the tool's listed name."""
        return self.split_name(name)[0]

    async def call_checked(
        self,
        name: str,
        arguments: Mapping[str, Any],
        projection: dict[str, Any] | None,
        tool_name: str,
        *,
        compact: bool = True,
    ) -> dict[str, Any]:
        """Call a tool and raise `ToolFailed` for any error; `called` is the tool's name in the message."""
        try:
            result = await self.call(name, arguments, projection, compact=compact)
        except JsonRpcError as error:
            error_data = members(members(error.data).get("error"))
            content = [] if error_data else [{"type": "text", "text": error.message}]
            raise _tool_failed(tool_name, error_data or {"code": error.code}, content) from None
        if result.get("isError") is True:
            error_data = members(members(result.get("_meta")).get(ERROR))
            raise _tool_failed(tool_name, error_data, [] if error_data else result.get("content") or [])
        if result.get("resultType", "complete") != "complete":
            raise _tool_failed(tool_name, {"message": "it asks the user something, which is not possible here"}, [])
        return result

    def _by_name(self, name: str) -> Upstream:
        return next(each for each in self._upstreams.values() if each.display_name == name)

    def split_name(self, name: str) -> tuple[str, str]:
        """The server and its own name of a tool, by the tool's listed name."""
        return (self.names[0], name) if len(self._upstreams) == 1 else split_name(name)

    async def _status(self, upstream: Upstream) -> ServerStatus:
        try:
            async with asyncio.timeout(SERVER_LOOK_S):
                opening = await opening_of(upstream, self._client)
        except TimeoutError:
            return self._starting(upstream)
        except UpstreamError as error:
            return ServerStatus(upstream.display_name, upstream.problem or error.message)
        except JsonRpcError as error:
            return ServerStatus(upstream.display_name, f"it answers with error {error.code}")
        return _status_of(upstream, READY, opening)

    def _starting(self, upstream: Upstream) -> ServerStatus:
        """A server that is being opened, as it described itself in its last run."""
        kept = upstream.of(self._client).kept_for(self._client, is_late=True)
        return _status_of(upstream, STARTING, {} if kept is None else kept.negotiation.opening)


def _status_of(upstream: Upstream, state: str, opening: Mapping[str, Any]) -> ServerStatus:
    info = opening.get("serverInfo") or members(opening.get("_meta")).get(SERVER_INFO_META_KEY)
    text = opening.get("instructions")
    return ServerStatus(upstream.display_name, state, members(info), text if isinstance(text, str) and text else None)


def _tool_failed(tool_name: str, error_data: dict[str, Any], content: list[Any]) -> ToolFailed:
    """Build the error of a call; `said` is Louver's own error object, if there is one."""
    reason = ": ".join(str(error_data[key]) for key in ("code", "message") if key in error_data)
    return ToolFailed(f"{tool_name} fails{reason and f': {reason}'}", tool=tool_name, content=content)
