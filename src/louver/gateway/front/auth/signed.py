"""Verify tokens that are JWTs. Source: RFC 7519, RFC 8725, RFC 9068.

PyJWT checks the signature, the audience, the expiry, and the issuer if it is configured. An expiry is required, and
only asymmetric algorithms are accepted. The token's text is not stored, so that it can never appear in a log.
"""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import jwt
from mcp.server.auth.provider import AccessToken

from louver.catalogue.files.open_regular import trusted
from louver.gateway.front.auth.fetch import fetch, prepare
from louver.gateway.front.auth.keys import JwksCache
from louver.limits import CLOCK_SKEW_S, MAX_AUTH_BYTES, MAX_TOKEN_CHARACTERS
from louver.sdk.adapter import words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from louver.gateway.config.auth import Auth, Jwks

logger = logging.getLogger(__name__)

# All are asymmetric: a public key cannot sign.
ALGORITHMS: Final = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)

# The claim with the client id: in RFC 9068, in OpenID Connect, and at two large issuers.
_CLIENT_CLAIMS: Final = ("client_id", "azp", "cid", "appid")

# Of OpenID Connect Core, sections 2 and 3.3.2.11: the digests of other tokens, and the nonce of the client.
_ID_TOKEN_CLAIMS: Final = ("nonce", "at_hash", "c_hash")


class JwtVerifier:
    """Token verifier for JWTs."""

    def __init__(self, jwks: Jwks, auth: Auth) -> None:
        if isinstance(jwks.keys, Path):
            self._keys = JwksCache(partial(_read_file, jwks.keys))
        else:
            prepare()
            self._keys = JwksCache(partial(fetch, jwks.keys))
        self._auth = auth

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return the access token; `None` if it is invalid."""
        if len(token) > MAX_TOKEN_CHARACTERS:
            return None
        try:
            header = jwt.get_unverified_header(token)
            if (algorithm := header.get("alg")) not in ALGORITHMS:
                raise jwt.InvalidAlgorithmError
            key = await self._keys.find(header.get("kid"), algorithm)
            if key is None:
                raise jwt.InvalidKeyError
            claims = jwt.decode(
                token,
                key,
                algorithms=ALGORITHMS,
                audience=self._auth.audience,
                issuer=self._auth.issuer,
                leeway=CLOCK_SKEW_S,
                options={"require": ["exp", "aud"], "enforce_minimum_key_length": True},
            )
        except (jwt.PyJWTError, ValueError, TypeError) as error:
            # Only the error's class: PyJWT's message can quote the token's content.
            logger.info("a token is rejected: %s", type(error).__name__)
            return None
        if not is_access_token(claims, header):
            logger.info("a token is rejected: it is not an access token")
            return None
        return access_token_from(claims)


async def _read_file(path: Path) -> bytes:
    return _read(path)


def _read(path: Path) -> bytes:
    with open(path, "rb", opener=trusted) as file:
        return file.read(MAX_AUTH_BYTES)


def access_token_from(claims: Mapping[str, Any]) -> AccessToken | None:
    """Return the access token; `None` if the claims name neither client nor subject, or an impossible issuer."""
    client = next(filter(None, (_text(claims, name) for name in _CLIENT_CLAIMS)), None)
    subject, issuer, expires = _text(claims, "sub"), _text(claims, "iss"), claims.get("exp")
    if client is None and subject is None:
        return None
    if issuer is not None and "#" in issuer:
        # `sdk/adapter.py` joins issuer and subject with "#", so this could be read as another principal.
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
