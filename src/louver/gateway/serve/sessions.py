"""Sessions of the handshake era over HTTP, each of which can take up its own streams again, and no other's.

    POST {"id": 7, ...}           -> the stream "7" of this session, its first event 41; another session has a "7" too
    GET, Last-Event-ID: 41        -> what came after it on that stream; nothing, if the event is another session's

The SDK names a stream by the id of its request, and hands one store of events to all sessions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.routing import Route

from louver.gateway.serve.event_store import Events
from louver.gateway.serve.request_body import Bounded
from louver.limits import RETRY_MS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp.server import Server
    from mcp.server.streamable_http import EventStore

LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
"""What the SDK takes for this machine's loopback."""


def app_of(server: Server[Any], *, known_as: Sequence[str] = ()) -> Starlette:
    """What serves a server over HTTP at `/mcp`, as the SDK's own app does.

    Args:
        server: The server.
        known_as: The hosts by which it can be reached, beside those of this machine's loopback.
    """
    sessions = _Sessions(server, security_of(known_as))
    route = Route("/mcp", endpoint=StreamableHTTPASGIApp(sessions))
    return Starlette(routes=[route], lifespan=lambda _: sessions.run())


def security_of(known_as: Sequence[str]) -> TransportSecuritySettings:
    """What keeps pages in browsers from reaching a server by a host of theirs (DNS rebinding), or from one of theirs.

    Args:
        known_as: The hosts by which it can be reached, beside those of this machine's loopback.
    """
    return TransportSecuritySettings(
        # At port 80 clients leave the port out.
        allowed_hosts=[*LOOPBACK, *(f"{host}:*" for host in LOOPBACK), *known_as],
        allowed_origins=[f"http://{host}:*" for host in LOOPBACK],
    )


class _Sessions(StreamableHTTPSessionManager):
    """Gives each session a store of its own: the SDK reads this attribute once for each."""

    def __init__(self, server: Server[Any], security: TransportSecuritySettings) -> None:
        self._events = Events()
        super().__init__(server, retry_interval=RETRY_MS, security_settings=security)
        # Within that, so that it gets bodies whole.
        self.asgi_app.app = Bounded(self.asgi_app.app)

    @property
    def event_store(self) -> EventStore:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._events.of_one_session()

    @event_store.setter
    def event_store(self, _: EventStore | None) -> None:
        pass
