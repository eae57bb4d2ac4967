"""The servers and tools behind the gateway, as one client sees them.

Every request passes the same middleware as the client's own requests, so hidden or forbidden tools do not appear.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from mcp import MCPError
from mcp_types import METHOD_NOT_FOUND, SERVER_INFO_META_KEY

from louver.concurrency.offload import by_turns
from louver.core.json import members
from louver.errors import ToolFailed, UpstreamError, UpstreamUnavailable
from louver.gateway.config.model import ONLY
from louver.gateway.routing.aggregate import named
from louver.gateway.routing.dispatch import opening_of
from louver.limits import SERVER_LOOK_S
from louver.protocol.names import COMPACT, ERROR, PROJECTION_LITERAL, SERVER
from louver.server.wire import pages

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from louver.gateway.clients.client import Client
    from louver.gateway.upstream.upstream import Upstream

READY: Final = "ready"  # state of an available server


@dataclass(frozen=True, slots=True)
class Server:
    name: str
    state: str  # `READY`, or why the server is unavailable
    info: Mapping[str, Any] = field(default_factory=dict[str, Any])  # `serverInfo`
    instructions: str | None = None


class Behind:
    """The servers for one client; `ask` sends a request through the whole gateway: method, params -> result."""

    def __init__(
        self,
        upstreams: Mapping[str, Upstream],
        client: Client,
        ask: Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]],
    ) -> None:
        self._upstreams = upstreams
        self._client = client
        self._ask = ask

    @property
    def names(self) -> list[str]:
        """The servers' names; a server given on the command line has the name that it reports."""
        return [self._shown(upstream) for upstream in self._upstreams.values()]

    async def servers(self) -> list[Server]:
        """Return all servers, available or not."""
        return await asyncio.gather(*map(self._server, self._upstreams.values()))

    async def server(self, name: str) -> Server:
        return await self._server(self._by_name(name))

    async def tools(self, server: str | None = None) -> dict[str, dict[str, dict[str, Any]]]:
        """Return server -> the tool's own name -> the tool as listed; of one server, or of all that answer."""
        found: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in self.names}
        meta = {} if server is None else {"_meta": {SERVER: self._by_name(server).name}}

        async def ask(place: dict[str, Any]) -> dict[str, Any]:
            return await self._ask("tools/list", {**place, **meta})

        try:
            async for page in pages(ask):
                listed: list[dict[str, Any]] = page.get("tools") or []
                async for tool in by_turns(listed):
                    owner, own = self._named(tool["name"])
                    if owner in found:
                        found[owner][own] = tool
        except MCPError as error:
            if server is None or error.error.code == METHOD_NOT_FOUND:
                return found
            said = members(members(error.error.data).get("error")).get("message", f"error {error.error.code}")
            raise UpstreamUnavailable(f"server {server!r} does not list its tools: {said}") from None
        if server is not None and not found[server] and (known := await self.server(server)).state != READY:
            raise UpstreamUnavailable(f"server {server!r} is not there: {known.state}")
        return found

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
        said = {"_meta": meta} if meta else {}
        return await self._ask("tools/call", {"name": name, "arguments": dict(arguments), **said})

    def owner(self, name: str) -> str:
        """Return the server of a tool by the tool's listed name."""
        return self._named(name)[0]

    async def answer(
        self,
        name: str,
        arguments: Mapping[str, Any],
        projection: dict[str, Any] | None,
        called: str,
        *,
        compact: bool = True,
    ) -> dict[str, Any]:
        """Call a tool and raise `ToolFailed` for any error; `called` is the tool's name in the message."""
        try:
            result = await self.call(name, arguments, projection, compact=compact)
        except MCPError as error:
            said = members(members(error.error.data).get("error"))
            told = [] if said else [{"type": "text", "text": error.error.message}]
            raise _failed(called, said or {"code": error.error.code}, told) from None
        if result.get("isError") is True:
            said = members(members(result.get("_meta")).get(ERROR))
            raise _failed(called, said, [] if said else result.get("content") or [])
        if result.get("resultType", "complete") != "complete":
            raise _failed(called, {"message": "it asks the user something, which is not possible here"}, [])
        return result

    def _shown(self, upstream: Upstream) -> str:
        return upstream.says if upstream.name == ONLY and upstream.says else upstream.name

    def _by_name(self, name: str) -> Upstream:
        return next(each for each in self._upstreams.values() if self._shown(each) == name)

    def _named(self, name: str) -> tuple[str, str]:
        return (self.names[0], name) if len(self._upstreams) == 1 else named(name)

    async def _server(self, upstream: Upstream) -> Server:
        try:
            async with asyncio.timeout(SERVER_LOOK_S):
                said = await opening_of(upstream, self._client)
        except TimeoutError:
            return Server(self._shown(upstream), "it is being opened")
        except UpstreamError as error:
            return Server(self._shown(upstream), upstream.problem or error.message)
        except MCPError as error:
            return Server(self._shown(upstream), f"it answers with error {error.error.code}")
        info = said.get("serverInfo") or members(said.get("_meta")).get(SERVER_INFO_META_KEY)
        text = said.get("instructions")
        return Server(self._shown(upstream), READY, members(info), text if isinstance(text, str) and text else None)


def _failed(called: str, said: dict[str, Any], content: list[Any]) -> ToolFailed:
    """Build the error of a call; `said` is Louver's own error object, if there is one."""
    known = ": ".join(str(said[key]) for key in ("code", "message") if key in said)
    return ToolFailed(f"{called} fails{known and f': {known}'}", tool=called, content=content)
