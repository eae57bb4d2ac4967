"""Cache of an issuer's public keys (JWKS). Source: RFC 7517; the times are ours.

    {"keys": [{"kty": "RSA", "kid": "2026-01", "use": "sig", "alg": "RS256", "n": "...", "e": "AQAB"}]}

Keys are refreshed when they are old, and when a token names an unknown key; the latter is rate-limited, because anyone
can invent a key name. If a refresh fails, known keys stay valid for `JWKS_KEPT_S`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Any

import jwt

from louver.concurrency.background import retrieve_error
from louver.core import json
from louver.core.json import is_array, is_object, members
from louver.errors import AuthUnavailable
from louver.limits import JWKS_AGAIN_S, JWKS_RETRY_S

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

MAX_JWKS = 100
"""Keys of one issuer. Ten are many."""

JWKS_FRESH_S = 600.0
JWKS_KEPT_S = 3600.0
"""Age at which keys are read again (a revoked key stays valid so long), and at which they expire, in seconds."""


logger = logging.getLogger(__name__)

_KEY_TYPES = ("RSA", "EC", "OKP")


class JwksCache:
    """The keys of one issuer; `read` returns the JWKS document."""

    def __init__(self, read: Callable[[], Awaitable[bytes]], clock: Callable[[], float] = time.monotonic) -> None:
        self._read = read
        self._clock = clock
        self._keys: list[dict[str, Any]] = []
        self._prepared: dict[tuple[int, str], jwt.PyJWK | None] = {}
        self._read_at = self._tried_at = -JWKS_KEPT_S
        self._reading: asyncio.Task[None] | None = None

    async def find(self, kid: str | None, algorithm: str) -> jwt.PyJWK | None:
        """Return the key by its `kid`; without a `kid`, the only key that fits the algorithm."""
        if self._clock() - self._read_at >= JWKS_FRESH_S and not (self._keys and self._reading):
            await self._refresh()
        found = self._select(kid, algorithm)
        if found is None:
            await self._refresh()
            found = self._select(kid, algorithm)
        if not self._keys:
            raise AuthUnavailable("the issuer's keys are not known")
        return found

    async def _refresh(self) -> None:
        if self._reading is None:
            now, wait = self._clock(), JWKS_AGAIN_S if self._keys else JWKS_RETRY_S
            if now - self._tried_at < wait:
                return
            self._tried_at = now
            self._reading = asyncio.create_task(self._read_again())
            self._reading.add_done_callback(self._on_read)
        # A client that leaves does not end it for the others.
        await asyncio.shield(self._reading)

    def _on_read(self, reading: asyncio.Task[None]) -> None:
        self._reading = None
        retrieve_error(reading)

    async def _read_again(self) -> None:
        try:
            self._update(await self._read())
        except (AuthUnavailable, OSError, json.NotJson, UnicodeDecodeError) as error:
            known = error.strerror if isinstance(error, OSError) else str(error)
            reason = type(error).__name__ if isinstance(error, UnicodeDecodeError) else known
            logger.error("the issuer's keys cannot be read: %s", reason)
            if self._clock() - self._read_at >= JWKS_KEPT_S:
                self._keys, self._prepared = [], {}

    def _update(self, body: bytes) -> None:
        keys = members(json.parse(body.decode())).get("keys")
        if not is_array(keys) or len(keys) > MAX_JWKS:
            raise json.NotJson(f"expected an object with at most {MAX_JWKS} 'keys'")
        self._keys, self._prepared = [key for key in keys if is_object(key) and _is_usable(key)], {}
        self._read_at = self._clock()

    def _select(self, kid: str | None, algorithm: str) -> jwt.PyJWK | None:
        candidates = [
            prepared
            for index, key in enumerate(self._keys)
            if kid in (None, key.get("kid")) and (prepared := self._prepare(index, algorithm)) is not None
        ]
        return candidates[0] if (candidates and kid is not None) or len(candidates) == 1 else None

    def _prepare(self, index: int, algorithm: str) -> jwt.PyJWK | None:
        """Return a key prepared for an algorithm; `None` if it does not fit."""
        if (index, algorithm) not in self._prepared:
            key = self._keys[index]
            try:
                prepared = jwt.PyJWK(key, algorithm) if key.get("alg", algorithm) == algorithm else None
            except jwt.PyJWTError:
                prepared = None
            self._prepared[index, algorithm] = prepared
        return self._prepared[index, algorithm]


def _is_usable(key: dict[str, Any]) -> bool:
    """Whether a key is asymmetric and for verifying signatures."""
    uses = key.get("key_ops", ["verify"])
    return key.get("kty") in _KEY_TYPES and key.get("use", "sig") == "sig" and is_array(uses) and "verify" in uses
