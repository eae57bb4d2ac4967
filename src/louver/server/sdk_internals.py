"""What is private in the SDK, and has no public way to it: all of it stands here.

Tried with mcp 2.3.0; `tests/test_private_names.py` pins each, and keeps private names out of all other modules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp.server import MCPServer, Server
    from mcp.server.connection import Connection
    from mcp.server.session import ServerSession
    from mcp.server.subscriptions import ListenHandler, SubscriptionBus


def lowlevel_of(server: MCPServer) -> Server[Any]:
    """What serves an `MCPServer`: its handlers and its lifespan are reached by that alone."""
    return server._lowlevel_server  # pyright: ignore[reportPrivateUsage]


def connection_of(session: ServerSession) -> Connection:
    """The connection of a session: what belongs to one is kept there, and is done there when it ends."""
    return session._connection  # pyright: ignore[reportPrivateUsage]


def bus_of(handler: ListenHandler) -> SubscriptionBus:
    """Where a server publishes that its tools have changed: the bus belongs to the server's author."""
    return handler._bus  # pyright: ignore[reportPrivateUsage]
