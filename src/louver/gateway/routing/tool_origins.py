"""The upstreams that tools come from: a call whose tool has to be looked up waits for its upstream alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from louver.gateway.clients.client import known_client
from louver.gateway.routing.aggregate import split_name
from louver.steps.tools.origin import ToolOrigin, ToolPlace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from louver.gateway.back.upstream import Upstream
    from louver.steps.request import Request


class UpstreamOrigins:
    def __init__(self, upstreams: Mapping[str, Upstream]) -> None:
        self._is_single = len(upstreams) == 1
        self._by_server = {None if self._is_single else name: upstream for name, upstream in upstreams.items()}

    def of(self, request: Request, tool: str) -> ToolOrigin:
        server = None if self._is_single else split_name(tool)[0]
        upstream, client = self._by_server.get(server), known_client(request)
        if upstream is None or client is None:
            return ToolOrigin(None, None)
        session = upstream.of(client).open_session(client)
        if session is None:
            return ToolOrigin(server, None)
        return ToolOrigin(server, ToolPlace(server, session.number), session.lists.generation)

    def generations(self, request: Request) -> Mapping[ToolPlace, int]:
        if (client := known_client(request)) is None:
            return {}
        return {
            ToolPlace(server, session.number): session.lists.generation
            for server, upstream in self._by_server.items()
            if (session := upstream.of(client).open_session(client)) is not None
        }
