"""Grants: that somebody has read how tools are described, for where no connection remembers it.

A grant is a sealed token. Only who has the key can read or make one::

    v1.<key id, nonce, sealed: expiry, marks>     about 75 characters for one tool
    mark = digest of (server, principal, tool, version of its description)

So it names nothing, and serves for nothing else: another server, principal, or tool, and a tool
that is described otherwise by now, all have another mark. Source: 000 section 5, for revisions of the
protocol without a session; the form is ours.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import struct
import time
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from mcp.server.request_state import AESGCMRequestStateCodec, InvalidRequestState

from louver.core.json import canonical
from louver.errors import LouverError
from louver.limits import GRANT_S

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

logger = logging.getLogger(__name__)

PrincipalKey = tuple[str, str | None, str | None]
"""Who is authenticated: client, issuer, subject."""

_EXPIRY = struct.Struct(">Q")
_MARK_BYTES = 16
MIN_KEY_BYTES = 32


class Grants:
    """Makes grants and looks at them.

    Args:
        keys: Secrets of 32 bytes or more. The first seals, each of them opens, so that keys can be changed one by
            one. Without any, a key of this process alone.
        audience: The server that grants are for.
        clock: Seconds since the epoch.

    Raises:
        LouverError: A key is too short.
    """

    def __init__(
        self, keys: Sequence[bytes | str] = (), *, audience: str, clock: Callable[[], float] = time.time
    ) -> None:
        self._wonders = not keys
        self._codec = AESGCMRequestStateCodec([*dict.fromkeys(map(_derived, keys))] or [os.urandom(MIN_KEY_BYTES)])
        self._audience = audience
        self._clock = clock
        self.read_over: WeakKeyDictionary[Any, dict[PrincipalKey | None, dict[str, str]]] = WeakKeyDictionary()
        """What was read over a stream that is there, by whom: tool -> version. There no grant is needed."""

    def seal(self, principal: PrincipalKey | None, versions: Mapping[str, str]) -> str:
        """A grant for tools.

        Args:
            principal: Who may use it, if somebody is authenticated.
            versions: Tool name -> version of the description that was read.
        """
        marks = [self._mark(principal, tool, version) for tool, version in versions.items()]
        return self._codec.seal(_EXPIRY.pack(int(self._clock()) + GRANT_S) + b"".join(marks))

    def admits(self, grant: str, principal: PrincipalKey | None, tool: str, version: str) -> bool:
        """Whether a grant is for this tool as it is described now, used by this principal, and has not expired."""
        try:
            opened = self._codec.unseal(grant)
        except InvalidRequestState as error:
            self._wonder(str(error))
            return False
        (expiry,) = _EXPIRY.unpack_from(opened)
        mark = self._mark(principal, tool, version)
        starts = range(_EXPIRY.size, len(opened), _MARK_BYTES)
        return self._clock() < expiry and any(opened[start : start + _MARK_BYTES] == mark for start in starts)

    def _mark(self, principal: PrincipalKey | None, tool: str, version: str) -> bytes:
        said = [self._audience, principal and list(principal), tool, version]
        return hashlib.sha256(canonical(said)).digest()[:_MARK_BYTES]

    def _wonder(self, reason: str) -> None:
        """Say once what is probably wrong if a grant comes that another key has sealed."""
        if reason == "unknown key" and self._wonders:
            self._wonders = False
            logger.warning(
                "a grant was sealed by another process: give all workers the same `keys`, "
                "or their clients read descriptions again and again"
            )


def _derived(key: bytes | str) -> bytes:
    """A key for grants alone, so that no other token sealed with the same secret can pass for one."""
    secret = key.encode() if isinstance(key, str) else key
    if len(secret) < MIN_KEY_BYTES:
        raise LouverError(f"a key has at least {MIN_KEY_BYTES} bytes of secret randomness, this one {len(secret)}")
    return hmac.digest(secret, b"louver grant", "sha256")
