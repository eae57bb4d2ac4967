"""Secrets that seal, or that digests are keyed with."""

from __future__ import annotations

from louver.errors import LouverError

MIN_KEY_BYTES = 32


def secret_bytes(key: bytes | str) -> bytes:
    """The bytes of a key; LouverError if they are too few."""
    secret = key.encode() if isinstance(key, str) else key
    if len(secret) < MIN_KEY_BYTES:
        raise LouverError(f"a key has at least {MIN_KEY_BYTES} bytes of secret randomness, this one {len(secret)}")
    return secret
