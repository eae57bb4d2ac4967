"""Session ids of 2025-11-25 that every replica can open: they hold what `initialize` said, sealed with the shared keys.

    v1.<key id, nonce, sealed: owner, time, replica, params of `initialize`>

A session whose servers keep state for it belongs to one replica: its id names that one's URL. Source: TEAM.md.
"""

from __future__ import annotations

import json
import time
import zlib
from typing import TYPE_CHECKING, Any

from louver.core.json import compact_bytes, members
from louver.core.secret_key import derived_key
from louver.gateway.front.replicas import SealedSession
from louver.limits import CLOCKS_APART_S, REPLICA_TAG_S, SEALED_SESSION_S

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAX_SESSION_ID = 3000
"""Longest sealed session id, in characters: proxies take heads of 4 kB. What hosts send needs some 400."""


class SessionSeal:
    """Seals and opens ids. The first key seals, every key opens, so that keys can be rotated."""

    def __init__(self, keys: Sequence[str], clock: Callable[[], float] = time.time) -> None:
        # Imported only now: most gateways have no keys, and need neither the SDK nor cryptography.
        from mcp.server.request_state import AESGCMRequestStateCodec, InvalidRequestState

        self._invalid = InvalidRequestState
        self._codec = AESGCMRequestStateCodec([derived_key(key, b"louver session") for key in dict.fromkeys(keys)])
        self._url_codec = AESGCMRequestStateCodec([derived_key(key, b"louver replica") for key in dict.fromkeys(keys)])
        self._clock = clock

    def seal(self, session: SealedSession) -> str | None:
        """The id of a session; `None` if it is too long for a header."""
        content = [session.owner, self._clock(), session.replica, _needed(session.params)]
        session_id = self._codec.seal(zlib.compress(compact_bytes(content)))
        return session_id if len(session_id) <= MAX_SESSION_ID else None

    def unseal(self, session_id: str) -> SealedSession | None:
        """What an id holds; `None` if it was not sealed with a shared key, or has expired."""
        if len(session_id) > MAX_SESSION_ID:
            return None
        try:
            content = self._codec.unseal(session_id)
        except self._invalid:
            return None
        owner, opened, replica, params = json.loads(zlib.decompress(content).decode("utf-8", "surrogatepass"))
        # Below 0 the clock was put back since, or that of another replica is ahead.
        if not -CLOCKS_APART_S <= self._clock() - opened <= SEALED_SESSION_S:
            return None
        return SealedSession(params, None if owner is None else tuple(owner), replica)

    def seal_url(self, url: str) -> str:
        """The sealed URL of a replica, and the time."""
        return self._url_codec.seal(f"{int(self._clock())} {url}".encode())

    def unseal_url(self, sealed: str) -> str | None:
        """The URL of a replica; `None` if it was sealed with no shared key, or is so old that it may be another's."""
        # A client may send megabytes in place of it.
        if len(sealed) > MAX_SESSION_ID:
            return None
        try:
            opened, _, url = self._url_codec.unseal(sealed).decode().partition(" ")
        except self._invalid:
            return None
        is_new = opened.isdigit() and -CLOCKS_APART_S <= self._clock() - int(opened) <= SEALED_SESSION_S + REPLICA_TAG_S
        return url if is_new else None


def _needed(params: dict[str, Any]) -> dict[str, Any]:
    """The params without what only a person would look at, such as icons."""
    info = {key: value for key, value in members(params.get("clientInfo")).items() if key in ("name", "version")}
    return {**{key: params[key] for key in ("protocolVersion", "capabilities") if key in params}, "clientInfo": info}
