"""Verify tokens that are JWTs. Source: RFC 7519, RFC 8725, RFC 9068.

PyJWT checks the signature, the audience, the expiry, and the issuer if it is configured. An expiry is required, and
only asymmetric algorithms are accepted.
"""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import jwt

from louver.catalogue.files.open_regular import trusted
from louver.gateway.front.auth.claims import access_token_from, is_access_token
from louver.gateway.front.auth.fetch import fetch, prepare
from louver.gateway.front.auth.keys import JwksCache
from louver.limits import CLOCK_SKEW_S, MAX_AUTH_BYTES, MAX_TOKEN_CHARACTERS

if TYPE_CHECKING:
    from mcp.server.auth.provider import AccessToken

    from louver.gateway.config.auth import Auth, Jwks

logger = logging.getLogger(__name__)


class JwtVerifier:
    """Token verifier for JWTs."""

    def __init__(self, jwks: Jwks, auth: Auth) -> None:
        if isinstance(jwks.keys, Path):
            self._keys = JwksCache(partial(_read_file, jwks.keys))
        else:
            prepare()
            self._keys = JwksCache(partial(fetch, jwks.keys))
        self._algorithms = jwks.algorithms
        self._auth = auth

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return the access token; `None` if it is invalid."""
        if len(token) > MAX_TOKEN_CHARACTERS:
            return None
        try:
            header = jwt.get_unverified_header(token)
            if (algorithm := header.get("alg")) not in self._algorithms:
                raise jwt.InvalidAlgorithmError
            key = await self._keys.find(header.get("kid"), algorithm)
            if key is None:
                raise jwt.InvalidKeyError
            claims = jwt.decode(
                token,
                key,
                algorithms=self._algorithms,
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
