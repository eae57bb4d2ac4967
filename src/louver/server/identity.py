"""Who makes the request that is served.

========================================  ==========================================================
over HTTP with authentication             what the access token of the request says
over stdio                                the principal that the configuration names, if it names one
else                                      `NOBODY`
========================================  ==========================================================

Of a token: `subject` and the claim `iss` become the subject, `client_id` the client, and the claim `roles`, a list or
words of one text, the roles. Source: PRIVACY.md, "Policy file"; the forms are ours.
"""

from __future__ import annotations

import secrets
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import principal_components
from mcp.server.connection import NotifyOnlyOutbound
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from louver.catalogue.policy.principal import NOBODY, Principal
from louver.core.json import digest, strings
from louver.protocol.names import DISCLOSURE, RESULT
from louver.server.sdk_internals import connection_of

if TYPE_CHECKING:
    from collections.abc import Generator

    from mcp.server.auth.provider import AccessToken
    from mcp.server.connection import Connection
    from mcp.server.context import ServerRequestContext

    from louver.catalogue.grants import Grants, PrincipalKey
    from louver.core.json import Json


_served: Final = ContextVar("louver_served", default=NOBODY)


def principal_of() -> Principal:
    """Who makes the request that is served."""
    token = get_access_token()
    return _served.get() if token is None else _of_token(token)


@contextmanager
def served_as(principal: Principal) -> Generator[None]:
    """Within the block, and in every task that begins in it, requests without a token are those of this principal.

    It is for a transport that serves one client alone, and so stands around all of its serving.
    """
    token = _served.set(principal)
    try:
        yield
    finally:
        _served.reset(token)


def words(said: Any) -> frozenset[str]:
    """What a claim lists: the texts of a list, or the words of one text."""
    return frozenset(said.split() if isinstance(said, str) else strings(said))


def _of_token(token: AccessToken) -> Principal:
    client, issuer, subject = principal_components(token)
    if subject is not None and issuer is not None:
        # Subjects are unique within their issuer only. No issuer has a fragment (RFC 8414), so this is one name.
        subject = f"{issuer}#{subject}"
    return Principal(subject, client or None, frozenset(token.scopes), words((token.claims or {}).get("roles")))


_NUMBER = f"{DISCLOSURE}/number"
_HOLDER = f"{RESULT}/holder"


def principal_key() -> PrincipalKey | None:
    """Who is authenticated, if somebody is."""
    token = get_access_token()
    return None if token is None else principal_components(token)


def outlives(ctx: ServerRequestContext[Any, Any]) -> bool:
    """Whether the connection of a request is that of the ones before and after: it was opened by a handshake."""
    return ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS and ctx.session.client_params is not None


def read_before(ctx: ServerRequestContext[Any, Any], grants: Grants) -> dict[str, str] | None:
    """What was read over this connection by this principal: tool -> version. It can be added to.

    `None` where no connection is that of the requests before and after.
    """
    if outlives(ctx):
        read = connection(ctx).state.setdefault(DISCLOSURE, {})
    elif isinstance(stream := connection(ctx).outbound, NotifyOnlyOutbound):
        # In 2026-07-28 each request has a connection of its own; what it answers to is that of the stream.
        read = grants.read_over.setdefault(stream, {})
    else:
        return None
    return read.setdefault(principal_key(), {})


def reader(ctx: ServerRequestContext[Any, Any]) -> str:
    """Who is counted, as a word for the log: a principal by its digest, else a connection, else an address."""
    who = principal_key()
    if who is not None:
        return f"principal {digest(list(who))}"
    if outlives(ctx):
        return f"connection {connection(ctx).state.setdefault(_NUMBER, secrets.token_hex(8))}"
    client = getattr(ctx.request, "client", None)
    return f"address {getattr(client, 'host', 'none')}"


def holder(ctx: ServerRequestContext[Any, Any]) -> Json:
    """Whose a result is that a request has brought, or whose one may be that it asks for."""
    who = principal_key()
    # Random, not counted: a store can outlive this process.
    here = connection(ctx).state.setdefault(_HOLDER, secrets.token_hex(16)) if outlives(ctx) else None
    return [here, None if who is None else list(who)]


def connection(ctx: ServerRequestContext[Any, Any]) -> Connection:
    """The connection that a request came over."""
    return connection_of(ctx.session)
