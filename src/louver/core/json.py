r"""JSON values in Python, and the one canonical way to write them.

Canonical bytes are UTF-8, keys in the order of code points, no white space::

    canonical({"b": 1, "a": "é"}) == b'{"a":"\xc3\xa9","b":1}'

Equal requests have equal canonical bytes, so a digest over them names a schema.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, TypeGuard

Json = Any
"""`None`, `bool`, `int`, `float`, `str`, `list[Json]` or `dict[str, Json]`."""

Schema = bool | dict[str, Any]
"""A JSON Schema: an object of keywords, or `True` (anything) or `False` (nothing)."""


def canonical(value: Json) -> bytes:
    """The canonical bytes of a JSON value."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


def digest(value: Json) -> str:
    """The first 16 hex digits of the SHA-256 of the canonical bytes."""
    return hashlib.sha256(canonical(value)).hexdigest()[:16]


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether a JSON value is an object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any]]:
    """Whether a JSON value is an array."""
    return isinstance(value, list)
