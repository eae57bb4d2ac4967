"""Secrets that seal, or that digests are keyed with."""

import pytest

from louver.core.secret_key import derived_key, secret_bytes
from louver.errors import LouverError


def test_a_key_of_too_few_bytes_is_refused():
    """Ours: bytes count, not characters."""
    assert secret_bytes(32 * b"k") == secret_bytes(32 * "k") == 32 * b"k"
    assert secret_bytes(16 * "\u00e9") == 16 * b"\xc3\xa9"
    for key in (31 * b"k", 31 * "k"):
        with pytest.raises(LouverError, match=r"^a key has at least 32 bytes of secret randomness, this one 31$"):
            secret_bytes(key)
        with pytest.raises(LouverError, match="this one 31"):
            derived_key(key, b"louver grant")


def test_a_secret_gives_each_purpose_a_key_of_its_own():
    """RFC 4231, test case 6: HMAC with SHA-256 of the purpose, so that what was sealed can be opened later."""
    secret, purpose = 131 * b"\xaa", b"Test Using Larger Than Block-Size Key - Hash Key First"
    derived = derived_key(secret, purpose)
    assert derived.hex() == "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
    assert derived_key(secret, b"louver grant") != derived
    assert derived_key(32 * "k", purpose) == derived_key(32 * b"k", purpose) != derived
