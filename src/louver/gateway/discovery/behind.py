"""What stands behind the gateway, as whoever asks sees it: servers, their tools, and a call of one.

Everything goes the way that the same request of a client goes: what is not shown to it, or not allowed, is not here.
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

READY: Final = "ready"
"""The state of a server that is there."""


@dataclass(frozen=True, slots=True)
class Server:
    """One server.

    Args:
        name: Its name in the configuration.
        state: `ready`, or why it is not there.
        info: What it says that it is: `name`, `version` and the like.
        instructions: What it says to models.
    """

    name: str
    state: str
    info: Mapping[str, Any] = field(default_factory=dict[str, Any])
    instructions: str | None = None


class Behind:
    """The servers.

    Args:
        upstreams: By name.
        client: For whom.
        ask: Answers a request as the whole gateway does: method, params -> result.
    """

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
        """The names of the servers; one that was given on the command line is called what it says of itself."""
        return [self._shown(upstream) for upstream in self._upstreams.values()]

    async def servers(self) -> list[Server]:
        """The servers, whether they are there or not."""
        return await asyncio.gather(*map(self._server, self._upstreams.values()))

    async def server(self, name: str) -> Server:
        """One of them."""
        return await self._server(self._by_name(name))

    async def tools(self, server: str | None = None) -> dict[str, dict[str, dict[str, Any]]]:
        """The tools: server -> its own name of a tool -> the tool as it is listed.

        Args:
            server: The one that is asked; all by default, and then those that do not answer have none.

        Raises:
            UpstreamUnavailable: The one that is asked is not there, or does not list its tools.
        """
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
        """What a tool answers.

        Args:
            name: As it is listed.
            arguments: Likewise, of the call.
            projection: A request for a projection, in its wire form.
            compact: Whether the default view is taken, if there is one and nothing else is asked for.

        Raises:
            MCPError: It is an error.
        """
        meta: dict[str, Any] = {} if projection is None else {PROJECTION_LITERAL: projection}
        meta |= {} if compact else {COMPACT: False}
        said = {"_meta": meta} if meta else {}
        return await self._ask("tools/call", {"name": name, "arguments": dict(arguments), **said})

    def owner(self, name: str) -> str:
        """The server that a tool is of, by the name that it is listed by."""
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
        """Likewise, what it answers if all goes well.

        Args:
            name: As it is listed.
            arguments: Of the call.
            projection: A request for a projection, in its wire form.
            called: The name by which whoever asks knows the tool.
            compact: Whether the default view is taken, if there is one and nothing else is asked for.

        Raises:
            ToolFailed: It answers with an error, or not as was asked.
        """
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
    """The error of a call; `said` is what is known of it in words of ours."""
    known = ": ".join(str(said[key]) for key in ("code", "message") if key in said)
    return ToolFailed(f"{called} fails{known and f': {known}'}", tool=called, content=content)
