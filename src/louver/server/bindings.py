"""What a session is: who has read which descriptions, whose a kept result is, and who is counted.

==================================  ====================================  =======================================
                                    who has read a description            whose a kept result is
==================================  ====================================  =======================================
handshake era, over stdio or with   the connection remembers, for each    this connection's, and that of the
`Mcp-Session-Id`                    principal that uses it                principal
2026-07-28 over stdio               likewise                              the principal's; without one it is that
handshake era over stateless HTTP,  nothing remembers: a grant goes to    of whoever has the handle
and 2026-07-28 over HTTP            the client, and comes back
==================================  ====================================  =======================================

Source: 000 sections 5.1 and 5.2; the second row and the last column are ours.
"""

from __future__ import annotations

import secrets
from itertools import count
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import principal_components
from mcp.server.connection import NotifyOnlyOutbound
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from louver.core.json import digest
from louver.protocol.names import DISCLOSURE, RESULT

if TYPE_CHECKING:
    from mcp.server.connection import Connection
    from mcp.server.context import ServerRequestContext

    from louver.catalogue.grants import Principal
    from louver.core.json import Json

_NUMBER = f"{DISCLOSURE}/number"
_HOLDER = f"{RESULT}/holder"
_numbers = count(1)
_READ_OVER_STREAMS: WeakKeyDictionary[NotifyOnlyOutbound, dict[Principal | None, dict[str, str]]] = WeakKeyDictionary()


def principal() -> Principal | None:
    """Who is authenticated, if somebody is."""
    token = get_access_token()
    return None if token is None else principal_components(token)


def outlives(ctx: ServerRequestContext[Any, Any]) -> bool:
    """Whether the connection of a request is that of the ones before and after: it was opened by a handshake."""
    return ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS and ctx.session.client_params is not None


def read_before(ctx: ServerRequestContext[Any, Any]) -> dict[str, str] | None:
    """What was read over this connection by this principal: tool -> version. It can be added to.

    `None` where no connection is that of the requests before and after.
    """
    if outlives(ctx):
        read = connection(ctx).state.setdefault(DISCLOSURE, {})
    elif isinstance(stream := connection(ctx).outbound, NotifyOnlyOutbound):
        # In 2026-07-28 each request has a connection of its own; what it answers to is that of the stream.
        read = _READ_OVER_STREAMS.setdefault(stream, {})
    else:
        return None
    return read.setdefault(principal(), {})


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


def holder(ctx: ServerRequestContext[Any, Any]) -> Json:
    """Whose a result is that a request has brought, or whose one may be that it asks for."""
    who = principal()
    # Random, not counted: a store can outlive this process.
    here = connection(ctx).state.setdefault(_HOLDER, secrets.token_hex(16)) if outlives(ctx) else None
    return [here, None if who is None else list(who)]


def connection(ctx: ServerRequestContext[Any, Any]) -> Connection:
    """The connection that a request came over."""
    # Private, and the only way to what belongs to a connection; a test pins it.
    return ctx.session._connection  # pyright: ignore[reportPrivateUsage]
