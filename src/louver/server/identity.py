"""The caller of the current request: by its access token over HTTP, by the configuration over stdio, or `NOBODY`.

Of a token, `subject` and the claim `iss` make the subject, `client_id` the client, and the claim `roles` (a list, or
the words of one string) the roles. Source: PRIVACY.md, "Policy file"; the forms are ours.
"""

from __future__ import annotations

import secrets
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import principal_components
from mcp.server.connection import NotifyOnlyOutbound
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from louver.catalogue.policy.principal import NOBODY, Principal
from louver.core.json import digest, strings
from louver.protocol.names import DISCLOSURE, RESULT

if TYPE_CHECKING:
    from collections.abc import Generator

    from mcp.server.auth.provider import AccessToken
    from mcp.server.connection import Connection
    from mcp.server.context import ServerRequestContext

    from louver.catalogue.grants import PrincipalKey
    from louver.core.json import Json


_served: Final = ContextVar("louver_served", default=NOBODY)


def principal_of() -> Principal:
    token = get_access_token()
    return _served.get() if token is None else _of_token(token)


@contextmanager
def served_as(principal: Principal) -> Generator[None]:
    """Requests without a token in the block, or in tasks begun there, are this principal's: for stdio."""
    token = _served.set(principal)
    try:
        yield
    finally:
        _served.reset(token)


def words(said: Any) -> frozenset[str]:
    """The strings of a list, or the words of one string."""
    return frozenset(said.split() if isinstance(said, str) else strings(said))


def _of_token(token: AccessToken) -> Principal:
    client, issuer, subject = principal_components(token)
    if subject is not None and issuer is not None:
        # Subjects are unique only per issuer. No issuer has a fragment (RFC 8414), so the result is unambiguous.
        subject = f"{issuer}#{subject}"
    return Principal(subject, client or None, frozenset(token.scopes), words((token.claims or {}).get("roles")))


_NUMBER = f"{DISCLOSURE}/number"
_HOLDER = f"{RESULT}/holder"
_numbers = count(1)
_READ_OVER_STREAMS: WeakKeyDictionary[NotifyOnlyOutbound, dict[PrincipalKey | None, dict[str, str]]] = (
    WeakKeyDictionary()
)


def principal_key() -> PrincipalKey | None:
    token = get_access_token()
    return None if token is None else principal_components(token)


def outlives(ctx: ServerRequestContext[Any, Any]) -> bool:
    """Whether a handshake opened the connection, so that earlier and later requests share it."""
    return ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS and ctx.session.client_params is not None


def read_before(ctx: ServerRequestContext[Any, Any]) -> dict[str, str] | None:
    """Tool -> version of descriptions read over this connection by this principal (mutable), if requests share it."""
    if outlives(ctx):
        read = connection(ctx).state.setdefault(DISCLOSURE, {})
    elif isinstance(stream := connection(ctx).outbound, NotifyOnlyOutbound):
        # In 2026-07-28 each request has its own connection, but the outbound stream is shared.
        read = _READ_OVER_STREAMS.setdefault(stream, {})
    else:
        return None
    return read.setdefault(principal_key(), {})


def reader(ctx: ServerRequestContext[Any, Any]) -> str:
    """The caller as text for the log: a principal's digest, else a connection, else an address."""
    who = principal_key()
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
    """The owner of results that this request stores or may read."""
    who = principal_key()
    # Random, not a counter: a store can outlive this process.
    here = connection(ctx).state.setdefault(_HOLDER, secrets.token_hex(16)) if outlives(ctx) else None
    return [here, None if who is None else list(who)]


def connection(ctx: ServerRequestContext[Any, Any]) -> Connection:
    # Private, and the only access to the state of a connection; a test pins it.
    return ctx.session._connection  # pyright: ignore[reportPrivateUsage]
