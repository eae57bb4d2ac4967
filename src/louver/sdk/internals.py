"""Private names of the SDK and of FastMCP without a public alternative, all in this module.

Tried with mcp 2.3.0 and fastmcp 4.2.3. `tests/test_private_names.py` pins those of the SDK, and keeps private names out
of all other modules; `tests/stock/test_fastmcp.py` pins the one of FastMCP.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp.server import MCPServer, Server
    from mcp.server.connection import Connection
    from mcp.server.session import ServerSession
    from mcp.server.subscriptions import ListenHandler, SubscriptionBus
    from mcp.shared.dispatcher import DispatchContext


def lowlevel_of(server: MCPServer) -> Server[Any]:
    """The lowlevel server of an `MCPServer`, with its handlers and its lifespan."""
    return server._lowlevel_server  # pyright: ignore[reportPrivateUsage]


def fastmcp_lowlevel_of(server: object) -> Server[Any] | None:
    """The lowlevel server of a FastMCP server; None for anything else."""
    # Not imported: Louver does not depend on FastMCP, which is loaded where there is such a server.
    fastmcp: Any = sys.modules.get("fastmcp")
    if fastmcp is None or not isinstance(server, fastmcp.FastMCP):
        return None
    found: Any = server
    return found._mcp_server


def connection_of(session: ServerSession) -> Connection:
    """The connection of a session, with its state and its exit stack."""
    return session._connection  # pyright: ignore[reportPrivateUsage]


def request_outbound_of(session: ServerSession) -> DispatchContext[Any]:
    """The channel for messages about the request of a session."""
    return session._request_outbound  # pyright: ignore[reportPrivateUsage]


def bus_of(handler: ListenHandler) -> SubscriptionBus:
    """The bus on which a server publishes that its tools have changed."""
    return handler._bus  # pyright: ignore[reportPrivateUsage]
