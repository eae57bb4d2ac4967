"""Verify tokens by introspection at their issuer. Source: RFC 7662.

    POST endpoint    token=...&token_type_hint=access_token
    -> {"active": true, "sub": "ann", "client_id": "desk", "scope": "orders:read", "aud": "...", "exp": 1780000000}

A response is cached for `INTROSPECTED_S`; a revoked token may be accepted for that long.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections import OrderedDict
from typing import TYPE_CHECKING
from urllib.parse import quote

from louver.core import json
from louver.core.json import members
from louver.errors import AuthUnavailable
from louver.gateway.auth.claims import access_of, is_for
from louver.gateway.auth.fetch import fetch
from louver.limits import (
    CLOCK_SKEW_S,
    INTROSPECTED_S,
    MAX_INTROSPECTED,
    MAX_INTROSPECTIONS,
    MAX_TOKEN_CHARACTERS,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.auth.provider import AccessToken

    from louver.gateway.auth.settings import Auth, Introspection

logger = logging.getLogger(__name__)


class Introspected:
    """Token verifier by introspection; `clock` returns seconds since the epoch."""

    def __init__(self, by: Introspection, auth: Auth, clock: Callable[[], float] = time.time) -> None:
        self._endpoint = by.endpoint
        # RFC 6749 section 2.3.1: both are form-encoded before Basic authentication.
        self._credentials = quote(by.client_id, safe=""), quote(by.client_secret, safe="")
        self._auth = auth
        self._clock = clock
        self._known: OrderedDict[bytes, tuple[float, AccessToken | None]] = OrderedDict()
        self._at_once = asyncio.Semaphore(MAX_INTROSPECTIONS)

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return the access token; `None` if it is invalid."""
        if len(token) > MAX_TOKEN_CHARACTERS:
            return None
        name = hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
        if not self._knows(name):
            async with self._at_once:
                # Another request may have introspected the token meanwhile.
                if not self._knows(name):
                    self._keep(name, self._access(await self._ask(token)))
        return self._known[name][1]

    def _knows(self, name: bytes) -> bool:
        return name in self._known and self._clock() < self._known[name][0]

    async def _ask(self, token: str) -> bytes:
        form = {"token": token, "token_type_hint": "access_token"}
        try:
            return await fetch(self._endpoint, form, self._credentials)
        except AuthUnavailable as error:
            logger.error("a token cannot be asked about: %s", error.message)
            raise

    def _access(self, body: bytes) -> AccessToken | None:
        try:
            claims = members(json.parse(body.decode()))
        except (json.NotJson, UnicodeDecodeError):
            raise AuthUnavailable("the issuer does not answer with JSON") from None
        if claims.get("active") is not True:
            return None
        problem = self._problem(claims)
        if problem is not None:
            logger.info("a token is not taken: %s", problem)
            return None
        return access_of(claims)

    def _problem(self, claims: dict[str, json.Json]) -> str | None:
        now = self._clock()
        expires, begins = claims.get("exp", now), claims.get("nbf", now)
        if self._auth.issuer is not None and claims.get("iss", self._auth.issuer) != self._auth.issuer:
            return "it is of another issuer"
        if not is_for(claims, self._auth.audience):
            return "it is for another audience"
        if not isinstance(expires, int | float) or not isinstance(begins, int | float):
            return "its times are no numbers"
        if expires + CLOCK_SKEW_S < now or begins - CLOCK_SKEW_S > now:
            return "it is not good now"
        return None

    def _keep(self, name: bytes, access: AccessToken | None) -> None:
        self._known[name] = self._clock() + INTROSPECTED_S, access
        self._known.move_to_end(name)
        if len(self._known) > MAX_INTROSPECTED:
            self._known.popitem(last=False)
