"""Convert the claims of a JWT to the SDK's access token.

The token's text is not stored, so that it can never appear in a log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp.server.auth.provider import AccessToken

from louver.limits import CLOCK_SKEW_S
from louver.sdk.adapter import words

if TYPE_CHECKING:
    from collections.abc import Mapping

# The claim with the client id: in RFC 9068, in OpenID Connect, and at two large issuers.
_CLIENT_CLAIMS: Final = ("client_id", "azp", "cid", "appid")


# Of OpenID Connect Core, sections 2 and 3.3.2.11: the digests of other tokens, and the nonce of the client.
_ID_TOKEN_CLAIMS: Final = ("nonce", "at_hash", "c_hash")


def access_token_from(claims: Mapping[str, Any]) -> AccessToken | None:
    """Return the access token; `None` if the claims name neither client nor subject, or an impossible issuer."""
    client = next(filter(None, (_text(claims, name) for name in _CLIENT_CLAIMS)), None)
    subject, issuer, expires = _text(claims, "sub"), _text(claims, "iss"), claims.get("exp")
    if client is None and subject is None:
        return None
    if issuer is not None and "#" in issuer:
        # `server/sdk.py` joins issuer and subject with "#", so this could be read as another principal.
        return None
    return AccessToken(
        token="",
        client_id=client or "",
        subject=subject,
        scopes=sorted(words(claims.get("scope", claims.get("scp")))),
        expires_at=int(expires) + CLOCK_SKEW_S if isinstance(expires, int | float) else None,
        claims={"iss": issuer, "roles": sorted(words(claims.get("roles")))},
    )


def is_access_token(claims: Mapping[str, Any], header: Mapping[str, Any]) -> bool:
    """Whether a token is an access token: an ID token is for its client alone. Source: RFC 9068 section 4."""
    kind = str(header.get("typ", "JWT")).lower().removeprefix("application/")
    if kind != "jwt":
        return kind == "at+jwt"
    # Many issuers type neither: Keycloak and Cognito name the kind in claims; the others are of ID tokens alone.
    named = [str(claims[name]).lower() for name in ("typ", "token_use") if name in claims]
    if named:
        return all(kind in ("bearer", "access", "at+jwt") for kind in named)
    return not any(name in claims for name in _ID_TOKEN_CLAIMS)


def _text(claims: Mapping[str, Any], name: str) -> str | None:
    value = claims.get(name)
    return value if isinstance(value, str) and value else None
