"""What a session is, for those who read descriptions: who has read what, and who is counted.

==========================================  =========================================
handshake era, over stdio or with           the connection remembers, for each
`Mcp-Session-Id`                            principal that uses it
handshake era over stateless HTTP, and      nothing: a grant goes to the client, and
2026-07-28                                  comes back with its calls
==========================================  =========================================

Source: 000 sections 5.1 and 5.2; the second row is ours.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import principal_components
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from louver.core.json import digest
from louver.protocol.names import DISCLOSURE

if TYPE_CHECKING:
    from mcp.server.connection import Connection
    from mcp.server.context import ServerRequestContext

    from louver.catalogue.grants import Principal

_NUMBER = f"{DISCLOSURE}/number"
_numbers = count(1)


def principal() -> Principal | None:
    """Who is authenticated, if somebody is."""
    token = get_access_token()
    return None if token is None else principal_components(token)


def outlives(ctx: ServerRequestContext[Any, Any]) -> bool:
    """Whether the connection of a request is that of the ones before and after: it was opened by a handshake."""
    return ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS and ctx.session.client_params is not None


def read_before(ctx: ServerRequestContext[Any, Any]) -> dict[str, str]:
    """What was read over this connection by this principal: tool -> version. It can be added to."""
    return connection(ctx).state.setdefault(DISCLOSURE, {}).setdefault(principal(), {})


def reader(ctx: ServerRequestContext[Any, Any]) -> str:
    """Who is counted, as a word for the log: a principal by its digest, else a connection, else an address."""
    who = principal()
    if who is not None:
        return f"principal {digest(list(who))}"
    if outlives(ctx):
        state = connection(ctx).state
        if _NUMBER not in state:
            state[_NUMBER] = next(_numbers)
        return f"connection {state[_NUMBER]}"
    client = getattr(ctx.request, "client", None)
    return f"address {getattr(client, 'host', 'none')}"


def connection(ctx: ServerRequestContext[Any, Any]) -> Connection:
    """The connection that a request came over."""
    # Private, and the only way to what belongs to a connection; a test pins it.
    return ctx.session._connection  # pyright: ignore[reportPrivateUsage]
