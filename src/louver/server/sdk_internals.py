"""Private names of the SDK without a public alternative, all in this module.

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
    """The lowlevel server of an `MCPServer`, with its handlers and its lifespan."""
    return server._lowlevel_server  # pyright: ignore[reportPrivateUsage]


def connection_of(session: ServerSession) -> Connection:
    """The connection of a session, with its state and its exit stack."""
    return session._connection  # pyright: ignore[reportPrivateUsage]


def bus_of(handler: ListenHandler) -> SubscriptionBus:
    """The bus on which a server publishes that its tools have changed."""
    return handler._bus  # pyright: ignore[reportPrivateUsage]
