"""What is said of a token, by itself or by its issuer, and the access token that the SDK knows by it.

    {"iss": "https://id.example", "sub": "ann", "client_id": "desk", "scope": "orders:read", "roles": ["support"],
     "aud": "https://mcp.example/mcp", "exp": 1780000000}

Only what is needed stays: of the token's own text nothing does, so that no log line can hold it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp.server.auth.provider import AccessToken

from louver.core.json import strings
from louver.limits import CLOCK_SKEW_S
from louver.server.identity import words

if TYPE_CHECKING:
    from collections.abc import Mapping

_CLIENT: Final = ("client_id", "azp", "cid", "appid")
"""Where a client stands: in RFC 9068, in OpenID Connect, and as two large issuers write it."""


def access_of(claims: Mapping[str, Any]) -> AccessToken | None:
    """The access token that claims describe; `None` if they say of nobody, or name an issuer that cannot be."""
    client = next(filter(None, (_text(claims, name) for name in _CLIENT)), None)
    subject, issuer, expires = _text(claims, "sub"), _text(claims, "iss"), claims.get("exp")
    if client is None and subject is None:
        return None
    if issuer is not None and "#" in issuer:
        # It would read as the issuer and subject of somebody else.
        return None
    return AccessToken(
        token="",
        client_id=client or "",
        subject=subject,
        scopes=sorted(words(claims.get("scope", claims.get("scp")))),
        expires_at=int(expires) + CLOCK_SKEW_S if isinstance(expires, int | float) else None,
        claims={"iss": issuer, "roles": sorted(words(claims.get("roles")))},
    )


def is_for(claims: Mapping[str, Any], audience: str | None) -> bool:
    """Whether claims say that the token is for this audience."""
    said = claims.get("aud")
    return audience in ([said] if isinstance(said, str) else strings(said))


def _text(claims: Mapping[str, Any], name: str) -> str | None:
    said = claims.get(name)
    return said if isinstance(said, str) and said else None
