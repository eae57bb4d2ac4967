"""Values and messages of the store, sealed with the keys of the replicas, so that a reader of the store sees nothing.

A value is bound to its key: moved to another one, it does not open. Without keys values are only compressed.
"""

from __future__ import annotations

import hashlib
import zlib
from typing import TYPE_CHECKING, Final

from louver.core.secret_key import derived_key
from louver.limits import MAX_SHARED_RESULT_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp.server.request_state import AESGCMRequestStateCodec

_FORMAT: Final = b"1"  # of what is sealed: another one is unknown
_FASTEST: Final = 1
_MAX_BYTES: Final = MAX_SHARED_RESULT_BYTES + 1024 * 1024


class StateSeal:
    """The first key seals, every key opens, so that keys can be rotated."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._codec: AESGCMRequestStateCodec | None = None
        self._invalid: tuple[type[Exception], ...] = (UnicodeDecodeError,)
        if keys:
            # Imported only now: without keys neither the SDK nor cryptography is needed.
            from mcp.server.request_state import AESGCMRequestStateCodec, InvalidRequestState

            self._invalid = (UnicodeDecodeError, InvalidRequestState)
            self._codec = AESGCMRequestStateCodec([derived_key(key, b"louver state") for key in dict.fromkeys(keys)])

    def seal(self, name: str, value: bytes) -> bytes:
        plain = _bound_to(name) + zlib.compress(value, _FASTEST)
        return plain if self._codec is None else self._codec.seal(plain).encode()

    def unseal(self, name: str, sealed: bytes) -> bytes | None:
        """The value; `None` if it is of other keys, another name or another format."""
        try:
            plain = sealed if self._codec is None else self._codec.unseal(sealed.decode("ascii"))
        except self._invalid:
            return None
        bound = _bound_to(name)
        if not plain.startswith(bound):
            return None
        inflate = zlib.decompressobj()
        try:
            value = inflate.decompress(plain[len(bound) :], _MAX_BYTES)
        except zlib.error:
            return None
        return value if inflate.eof else None


def _bound_to(name: str) -> bytes:
    return _FORMAT + hashlib.sha256(name.encode()).digest()
