"""HTTP sessions of the handshake revisions; each session can resume its own streams and no others.

    POST {"id": 7, ...}           -> stream "7" of this session, its first event 41; another session may have a "7" too
    GET, Last-Event-ID: 41        -> the later events of that stream; none if event 41 is another session's

The SDK names a stream by the id of its request, and would use one event store for all sessions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.routing import Route

from louver.gateway.serve.event_store import EventBuffer
from louver.gateway.serve.request_body import BodyLimitMiddleware
from louver.limits import RETRY_MS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp.server import Server
    from mcp.server.streamable_http import EventStore

# The hosts that the SDK treats as the loopback.
LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")


def build_app(server: Server[Any], *, allowed_hosts: Sequence[str] = ()) -> Starlette:
    """Build the HTTP app of a server at `/mcp`; `known_as` lists allowed hosts in addition to the loopback."""
    sessions = _SessionManager(server, security_settings(allowed_hosts))
    route = Route("/mcp", endpoint=StreamableHTTPASGIApp(sessions))
    return Starlette(routes=[route], lifespan=lambda _: sessions.run())


def security_settings(allowed_hosts: Sequence[str]) -> TransportSecuritySettings:
    """Return the allowed hosts and origins, against DNS rebinding and cross-origin requests from browsers."""
    return TransportSecuritySettings(
        # Clients omit port 80 from the Host header.
        allowed_hosts=[*LOOPBACK, *(f"{host}:*" for host in LOOPBACK), *allowed_hosts],
        allowed_origins=[f"http://{host}:*" for host in LOOPBACK],
    )


class _SessionManager(StreamableHTTPSessionManager):
    """Gives each session its own event store: the SDK reads the attribute `event_store` once per session."""

    def __init__(self, server: Server[Any], security: TransportSecuritySettings) -> None:
        self._events = EventBuffer()
        super().__init__(server, retry_interval=RETRY_MS, security_settings=security)
        # Inside the SDK's size limit, which delivers whole bodies.
        self.asgi_app.app = BodyLimitMiddleware(self.asgi_app.app)

    @property
    def event_store(self) -> EventStore:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._events.session_store()

    @event_store.setter
    def event_store(self, _: EventStore | None) -> None:
        pass
