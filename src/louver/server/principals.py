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

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import principal_components

from louver.catalogue.principals import NOBODY, Principal
from louver.core.json import strings

if TYPE_CHECKING:
    from collections.abc import Generator

    from mcp.server.auth.provider import AccessToken

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
