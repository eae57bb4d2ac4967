"""Routing to one upstream, and the interface that `Forward` asks; several are in `louver.gateway.routing.aggregate`.

One upstream is passed through as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from louver.core.json import members
from louver.errors import UnknownResult
from louver.gateway.routing.dispatch import Calls, opening_of, watching
from louver.gateway.upstream.list_cache import CHANGING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from louver.gateway.clients.client import Caller, Client
    from louver.gateway.upstream.upstream import Upstream
    from louver.jsonrpc.codec import Params


class Routes(Protocol):
    """Where the requests of clients go."""

    async def opening(self, client: Client) -> dict[str, Any]:
        """What the gateway says of itself when a client opens it, in the client's era.

        Raises:
            UpstreamError: There is nothing behind it.
        """
        ...

    async def answer(self, turn: Caller, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request.

        Raises:
            MCPError: It is an error.
        """
        ...

    def place_of(self, tool: str) -> str:
        """Names the server that has answered a call of a tool, also after a restart."""
        ...

    async def answer_at(self, place: str, turn: Caller, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """What a server answers to a request of a result that it keeps.

        Args:
            place: Names the server.
            turn: Who asks.
            method: The request's.
            params: Likewise.

        Raises:
            UnknownResult: There is no such server any more, or another in its place.
            MCPError: It is an error.
        """
        ...

    async def notify(self, client: Client, method: str, params: Params) -> None:
        """Send on what a client says."""
        ...

    def watching(self, turn: Caller, uris: Sequence[str]) -> AbstractAsyncContextManager[None]:
        """Have resources watched meanwhile, for a client of 2026-07-28."""
        ...


class One:
    """All of one upstream, as it is.

    Args:
        upstream: The upstream.
        calls: Sends the requests.
        places: Names it where it is told from whatever else had its name: by name.
        changes: Whether another may come in its place: then each list can change, whatever it says of its own.
    """

    def __init__(self, upstream: Upstream, calls: Calls, places: Mapping[str, str], *, changes: bool) -> None:
        self._upstream = upstream
        self._calls = calls
        self._place = places[upstream.name]
        self._changes = changes

    async def opening(self, client: Client) -> dict[str, Any]:
        """What the upstream says of itself."""
        said = await opening_of(self._upstream, client)
        if not self._changes:
            return said
        able = members(said.get("capabilities"))
        changing = {name: {**members(able[name]), "listChanged": True} for name in able if name in CHANGING}
        return {**said, "capabilities": {**able, **changing}}

    async def answer(self, turn: Caller, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """What the upstream answers."""
        return await self._calls.send(self._upstream, turn, method, params)

    def place_of(self, tool: str) -> str:
        """Names the upstream."""
        return self._place

    async def answer_at(self, place: str, turn: Caller, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """What the upstream answers, if it is the one that is meant."""
        if place != self._place:
            raise UnknownResult
        return await self.answer(turn, method, params)

    async def notify(self, client: Client, method: str, params: Params) -> None:
        """Send on what a client says."""
        await self._upstream.notify(client, method, params)

    def watching(self, turn: Caller, uris: Sequence[str]) -> AbstractAsyncContextManager[None]:
        """Have resources watched meanwhile."""
        return watching(turn, dict.fromkeys(uris, self._upstream))
