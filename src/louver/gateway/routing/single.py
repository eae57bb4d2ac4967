"""Routing to one upstream, which passes unchanged, and the interface that `Forward` uses (see also `aggregate.py`)."""

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
        """The answer to `initialize` or `server/discover`, in the client's revision."""
        ...

    async def answer(self, turn: Caller, method: str, params: dict[str, Any]) -> dict[str, Any]: ...

    def place_of(self, tool: str) -> str:
        """Identifies the upstream of a tool, also across restarts."""
        ...

    async def answer_at(self, place: str, turn: Caller, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The answer about a result from the upstream that keeps it; `UnknownResult` if that is gone or replaced."""
        ...

    async def notify(self, client: Client, method: str, params: Params) -> None: ...

    def watching(self, turn: Caller, uris: Sequence[str]) -> AbstractAsyncContextManager[None]:
        """Watch resources meanwhile, for a 2026-07-28 client."""
        ...


class One:
    def __init__(self, upstream: Upstream, calls: Calls, places: Mapping[str, str], *, changes: bool) -> None:
        self._upstream = upstream
        self._calls = calls
        self._place = places[upstream.name]
        self._changes = changes  # another may replace it, so every list can change

    async def opening(self, client: Client) -> dict[str, Any]:
        said = await opening_of(self._upstream, client)
        if not self._changes:
            return said
        able = members(said.get("capabilities"))
        changing = {name: {**members(able[name]), "listChanged": True} for name in able if name in CHANGING}
        return {**said, "capabilities": {**able, **changing}}

    async def answer(self, turn: Caller, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return await self._calls.send(self._upstream, turn, method, params)

    def place_of(self, tool: str) -> str:
        return self._place

    async def answer_at(self, place: str, turn: Caller, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if place != self._place:
            raise UnknownResult
        return await self.answer(turn, method, params)

    async def notify(self, client: Client, method: str, params: Params) -> None:
        await self._upstream.notify(client, method, params)

    def watching(self, turn: Caller, uris: Sequence[str]) -> AbstractAsyncContextManager[None]:
        return watching(turn, dict.fromkeys(uris, self._upstream))
