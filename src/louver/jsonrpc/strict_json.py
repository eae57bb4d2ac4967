r"""Strict reading of JSON from an upstream.

What is sent on must mean the same to everyone. A fault of the upstream is::

    {"a": 1, "a": 2}    NaN    1e400    "\ud83d"    [[[[...    a byte that is not UTF-8

orjson takes a key that stands twice, and makes a float of a long integer, but does not write it so: what it writes
again as it was is strict. The rest is read by `core/json.py`, whose bounds are for other texts.
"""

from __future__ import annotations

import re
from typing import Final

import orjson

from louver.core.json import Json, NotJson, holds_more, is_object, levels, parse
from louver.errors import UpstreamInvalidOutput, UpstreamTooLarge
from louver.limits import (
    MAX_INTEGER_DIGITS,
    MAX_READ_ON_LOOP,
    MAX_UPSTREAM_BYTES,
    MAX_UPSTREAM_CONTAINERS,
    MAX_UPSTREAM_DEPTH,
)


def read(raw: bytes) -> Json:
    """The value of a text.

    Raises:
        UpstreamInvalidOutput: It is not strictly JSON.
        UpstreamTooLarge: It has more than is read.
    """
    try:
        return _value(raw)
    except NotJson as error:
        # Of the reader's own reasons some may quote the text.
        known = error.reason if error.reason in _REASONS else "it is not JSON"
        raise fault(f"not strictly JSON: {known}") from None


def fault(what: str) -> UpstreamInvalidOutput:
    """The error of a message that cannot be used; `what` is a text of our own."""
    return UpstreamInvalidOutput(f"the upstream sends what cannot be used: {what}")


def too_large() -> UpstreamTooLarge:
    """The error of an answer over `MAX_UPSTREAM_BYTES`."""
    return UpstreamTooLarge(f"the upstream's answer is over {MAX_UPSTREAM_BYTES} bytes", limit=MAX_UPSTREAM_BYTES)


_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_TOO_MANY_DIGITS: Final = "an integer has too many digits"
_REASONS: Final = {
    "a key stands twice",
    "NaN and infinities are no numbers of JSON",
    "a number is too large",
    "a text holds half a surrogate pair",
    "it is not UTF-8",
    f"it is nested deeper than {MAX_UPSTREAM_DEPTH} levels",
    _TOO_MANY_DIGITS,
}


def _value(raw: bytes) -> Json:
    # Of a large text orjson is no faster, all told, and lets nobody else run meanwhile.
    if len(raw) <= MAX_READ_ON_LOOP:
        try:
            value = orjson.loads(raw)
            written = _written_deep(value)
            if written.startswith(raw, _DEEPER) and len(written) == len(raw) + 2 * _DEEPER:
                return value
        except (orjson.JSONDecodeError, orjson.JSONEncodeError):
            pass  # the slow reader says why, or reads it
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise NotJson("it is not UTF-8") from None
    if holds_more(raw, b"[{", MAX_UPSTREAM_CONTAINERS):
        message = f"the upstream's answer has over {MAX_UPSTREAM_CONTAINERS} arrays and objects"
        raise UpstreamTooLarge(message, limit=MAX_UPSTREAM_CONTAINERS)
    return _slowly(text)


_DEEPER: Final = 254 - MAX_UPSTREAM_DEPTH
"""orjson writes 254 levels and refuses more: in so many others a value has to be as shallow as is read."""


def _written_deep(value: Json) -> bytes:
    """The text of a value within so many arrays."""
    for _ in range(_DEEPER):
        value = [value]
    return orjson.dumps(value)


def _slowly(text: str) -> Json:
    try:
        value = parse(text, deepest=MAX_UPSTREAM_DEPTH)
    except NotJson as error:
        if error.reason != _TOO_MANY_DIGITS:
            raise
        value = parse(text, deepest=MAX_UPSTREAM_DEPTH, integer=_integer)
    if _SURROGATE.search(text) and not all(_is_encodable(part) for level in levels(value) for part in level):
        raise NotJson("a text holds half a surrogate pair")
    return value


def _integer(digits: str) -> int:
    """An integer of any number of digits up to our own bound: Python's is 4,300."""
    if len(digits) > MAX_INTEGER_DIGITS:
        raise NotJson(_TOO_MANY_DIGITS)
    number = 0
    for start in range(0, len(unsigned := digits.removeprefix("-")), 4000):
        part = unsigned[start : start + 4000]
        number = number * 10 ** len(part) + int(part)
    return -number if digits.startswith("-") else number


def _is_encodable(part: Json) -> bool:
    text = part if isinstance(part, str) else "".join(part) if is_object(part) else ""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
