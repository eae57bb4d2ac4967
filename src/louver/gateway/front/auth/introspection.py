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
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Final

from louver.concurrency.background import retrieve_error
from louver.concurrency.budget import BudgetByKey
from louver.core import json
from louver.core.json import members
from louver.errors import AuthUnavailable
from louver.gateway.front.auth.claims import access_token_from, is_access_token, is_for_audience
from louver.gateway.front.auth.fetch import basic_credentials, fetch, prepare
from louver.limits import (
    CLOCK_SKEW_S,
    MAX_ADDRESS_INTROSPECTIONS,
    MAX_INTROSPECTED,
    MAX_INTROSPECTIONS,
    MAX_TOKEN_CHARACTERS,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.auth.provider import AccessToken

    from louver.gateway.config.auth import Auth, Introspection

INTROSPECTED_S = 30.0
"""How long an introspection result is valid, in seconds: a revoked token stays valid so long."""


logger = logging.getLogger(__name__)


CLIENT_ADDRESS: Final = ContextVar[str | None]("louver_client_address", default=None)
"""The address of the client whose request brings the token."""


class IntrospectionVerifier:
    """Token verifier by introspection; `clock` returns seconds since the epoch."""

    def __init__(self, settings: Introspection, auth: Auth, clock: Callable[[], float] = time.time) -> None:
        prepare()
        self._endpoint = settings.endpoint
        self._credentials = basic_credentials(settings.client_id, settings.client_secret)
        self._auth = auth
        self._clock = clock
        self._cache: OrderedDict[bytes, tuple[float, AccessToken | None]] = OrderedDict()
        self._semaphore = asyncio.Semaphore(MAX_INTROSPECTIONS)
        # By digest: requests that bring the same token wait for the same answer.
        self._open: dict[bytes, asyncio.Task[None]] = {}
        self._open_by_address = BudgetByKey(MAX_ADDRESS_INTROSPECTIONS)

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return the access token; `None` if it is invalid."""
        if len(token) > MAX_TOKEN_CHARACTERS:
            return None
        digest = hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
        if not self._is_cached(digest):
            if (checking := self._open.get(digest)) is None:
                checking = self._open[digest] = asyncio.create_task(self._check(digest, token))
                checking.add_done_callback(partial(self._on_checked, digest))
            # A client that leaves does not end it for the others.
            await asyncio.shield(checking)
        return self._cache[digest][1]

    async def _check(self, digest: bytes, token: str) -> None:
        with self._open_by_address.using(CLIENT_ADDRESS.get()) as is_within:
            if not is_within:
                raise AuthUnavailable(f"{self._open_by_address.limit} tokens of this address are being checked already")
            async with self._semaphore:
                self._store(digest, self._parse_response(await self._introspect(token)))

    def _on_checked(self, digest: bytes, checking: asyncio.Task[None]) -> None:
        del self._open[digest]
        retrieve_error(checking)

    def _is_cached(self, digest: bytes) -> bool:
        # Below 0 the clock was put back since: a token that was taken back would count for as long.
        return digest in self._cache and 0 <= self._clock() - self._cache[digest][0] < INTROSPECTED_S

    async def _introspect(self, token: str) -> bytes:
        form = {"token": token, "token_type_hint": "access_token"}
        try:
            return await fetch(self._endpoint, form, self._credentials)
        except AuthUnavailable as error:
            logger.error("a token cannot be asked about: %s", error.message)
            raise

    def _parse_response(self, body: bytes) -> AccessToken | None:
        try:
            claims = members(json.parse(body.decode()))
        except (json.NotJson, UnicodeDecodeError):
            raise AuthUnavailable("the issuer does not answer with JSON") from None
        if claims.get("active") is not True:
            return None
        problem = self._problem(claims)
        if problem is not None:
            logger.info("a token is rejected: %s", problem)
            return None
        return access_token_from(claims)

    def _problem(self, claims: dict[str, json.Json]) -> str | None:
        now = self._clock()
        expires, not_before = claims.get("exp", now), claims.get("nbf", now)
        if self._auth.issuer is not None and claims.get("iss", self._auth.issuer) != self._auth.issuer:
            return "it is of another issuer"
        if not is_access_token(claims, {}):
            return "it is not an access token"
        if not is_for_audience(claims, self._auth.audience):
            return "it is for another audience"
        if not isinstance(expires, int | float) or not isinstance(not_before, int | float):
            return "its times are no numbers"
        if expires + CLOCK_SKEW_S < now or not_before - CLOCK_SKEW_S > now:
            return "it is not good now"
        return None

    def _store(self, digest: bytes, access: AccessToken | None) -> None:
        self._cache[digest] = self._clock(), access
        self._cache.move_to_end(digest)
        if len(self._cache) > MAX_INTROSPECTED:
            self._cache.popitem(last=False)
