"""Routing to one upstream, which passes unchanged, and the interface that `Forward` uses (see also `aggregate.py`)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from louver import __version__
from louver.core.json import members
from louver.errors import LoginRequired, UnknownResult
from louver.gateway.back.lists.list_cache import LIST_CAPABILITIES
from louver.gateway.clients.revisions import opening_for_modern
from louver.gateway.routing.dispatch import Dispatcher, opening_of, watching

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from louver.gateway.back.upstream import Upstream
    from louver.gateway.clients.client import Caller, GatewayClient
    from louver.wire.jsonrpc.codec import Params


class Routes(Protocol):
    """Where the requests of clients go."""

    async def opening(self, client: GatewayClient) -> dict[str, Any]:
        """The answer to `initialize` or `server/discover`, in the client's revision."""
        ...

    @property
    def answer(self) -> Callable[[Caller, str, dict[str, Any]], Awaitable[dict[str, Any]]]: ...

    def server_id_of(self, tool: str) -> str:
        """Identifies the upstream of a tool, also across restarts."""
        ...

    async def answer_from(self, server_id: str, caller: Caller, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The answer about a result from the upstream that keeps it; `UnknownResult` if that is gone or replaced."""
        ...

    async def notify(self, client: GatewayClient, method: str, params: Params) -> None: ...

    def watching(self, caller: Caller, uris: Sequence[str]) -> AbstractAsyncContextManager[None]:
        """Watch resources meanwhile, for a 2026-07-28 client."""
        ...


class SingleRoute:
    def __init__(
        self, upstream: Upstream, dispatcher: Dispatcher, server_ids: Mapping[str, str], *, can_reload: bool
    ) -> None:
        self.answer = partial(dispatcher.send, upstream)
        self._upstream = upstream
        self._dispatcher = dispatcher
        self._server_id = server_ids[upstream.name]
        self._can_reload = can_reload  # another may replace it, so every list can change

    async def opening(self, client: GatewayClient) -> dict[str, Any]:
        try:
            opening = await opening_of(self._upstream, client, is_live=False)
        except LoginRequired:
            if client.principal is None or not self._dispatcher.log_in_tools(self._upstream):
                raise
            # What it has is known once the caller has logged in.
            self._upstream.of(client).notify_when_available(client)
            declared = {"capabilities": {name: {"listChanged": True} for name in LIST_CAPABILITIES}}
            opening = {**declared, "serverInfo": {"name": "louver", "version": __version__}}
            return opening_for_modern(opening) if client.is_modern else opening
        if not self._can_reload:
            return opening
        capabilities = members(opening.get("capabilities"))
        changing = {
            name: {**members(capabilities[name]), "listChanged": True}
            for name in capabilities
            if name in LIST_CAPABILITIES
        }
        return {**opening, "capabilities": {**capabilities, **changing}}

    def server_id_of(self, tool: str) -> str:
        return self._server_id

    async def answer_from(self, server_id: str, caller: Caller, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if server_id != self._server_id:
            raise UnknownResult
        return await self.answer(caller, method, params)

    async def notify(self, client: GatewayClient, method: str, params: Params) -> None:
        await self._upstream.of(client).notify(client, method, params)

    def watching(self, caller: Caller, uris: Sequence[str]) -> AbstractAsyncContextManager[None]:
        return watching(caller, dict.fromkeys(uris, self._upstream))
