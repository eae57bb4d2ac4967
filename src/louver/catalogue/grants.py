"""Grants: sealed tokens that prove that a client has read a tool's description.

    v1.<key id, nonce, sealed: expiry, marks>     about 75 characters for one tool
    mark = digest of (server, principal, tool, version of its description)

Only a holder of the key can read or make a grant. A changed description has another mark, so its grant is void.
Source: 000 section 5, for protocol revisions without sessions; the form is ours.
"""

from __future__ import annotations

import hashlib
import logging
import os
import struct
import time
from typing import TYPE_CHECKING

from mcp.server.request_state import AESGCMRequestStateCodec, InvalidRequestState

from louver.core.json import canonical
from louver.core.secret_key import MIN_KEY_BYTES, derived_key
from louver.limits import CLOCKS_APART_S

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

GRANT_S = 3600
"""How long a grant is valid, in seconds: a long conversation. 2026-07-28 has no sessions that could end it."""


logger = logging.getLogger(__name__)

# Client, issuer and subject of the authenticated principal.
PrincipalKey = tuple[str, str | None, str | None]

_EXPIRY = struct.Struct(">Q")
_MARK_BYTES = 16


class Grants:
    """Seals and checks grants. The first key seals, every key opens, so that keys can be rotated."""

    def __init__(
        self, keys: Sequence[bytes | str] = (), *, audience: str, clock: Callable[[], float] = time.time
    ) -> None:
        self._wonders = not keys
        derived = dict.fromkeys(derived_key(key, b"louver grant") for key in keys)
        self._codec = AESGCMRequestStateCodec([*derived] or [os.urandom(MIN_KEY_BYTES)])
        self._audience = audience
        self._clock = clock

    def seal(self, principal: PrincipalKey | None, versions: Mapping[str, str]) -> str:  # tool -> version read
        marks = [self._mark(principal, tool, version) for tool, version in versions.items()]
        return self._codec.seal(_EXPIRY.pack(int(self._clock()) + GRANT_S) + b"".join(marks))

    def admits(self, grant: str, principal: PrincipalKey | None, tool: str, version: str) -> bool:
        """Whether a grant has not expired and is for this principal and this version of the tool's description."""
        try:
            opened = self._codec.unseal(grant)
        except InvalidRequestState as error:
            self._wonder(str(error))
            return False
        (expiry,) = _EXPIRY.unpack_from(opened)
        mark = self._mark(principal, tool, version)
        starts = range(_EXPIRY.size, len(opened), _MARK_BYTES)
        # Of one that expires later the clock was put back since.
        is_valid = 0 < expiry - self._clock() <= GRANT_S + CLOCKS_APART_S
        return is_valid and any(opened[start : start + _MARK_BYTES] == mark for start in starts)

    def _mark(self, principal: PrincipalKey | None, tool: str, version: str) -> bytes:
        parts = [self._audience, principal and list(principal), tool, version]
        return hashlib.sha256(canonical(parts)).digest()[:_MARK_BYTES]

    def _wonder(self, reason: str) -> None:
        if reason == "unknown key" and self._wonders:
            self._wonders = False
            logger.warning(
                "a grant was sealed by another process: give all workers the same `keys`, "
                "or their clients read descriptions again and again"
            )
