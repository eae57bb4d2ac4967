r"""Strict JSON from an upstream: a forwarded text must mean the same to every reader.

    {"a": 1, "a": 2}    NaN    1e400    "\ud83d"    [[[[...    a byte that is not UTF-8        refused

orjson accepts a duplicate key and a long integer, but writes other text for them: a text that it writes back
unchanged is strict. `core/json.py` reads the rest.
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
    try:
        return _parse(raw)
    except NotJson as error:
        # Other reasons of the parser may quote the text.
        reason = error.reason if error.reason in _REASONS else "it is not JSON"
        raise invalid_output(f"not strictly JSON: {reason}") from None


def invalid_output(reason: str) -> UpstreamInvalidOutput:
    """The error of a message that cannot be used; `what` is our own text."""
    return UpstreamInvalidOutput(f"the upstream sends what cannot be used: {reason}")


def too_large() -> UpstreamTooLarge:
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


def _parse(raw: bytes) -> Json:
    # For a large text orjson is not faster in total, and other threads cannot run meanwhile.
    if len(raw) <= MAX_READ_ON_LOOP:
        try:
            value = orjson.loads(raw)
            written = _dumps_nested(value)
            if written.startswith(raw, _EXTRA_DEPTH) and len(written) == len(raw) + 2 * _EXTRA_DEPTH:
                return value
        except (orjson.JSONDecodeError, orjson.JSONEncodeError):
            pass  # the slow parser reports why, or succeeds
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise NotJson("it is not UTF-8") from None
    if holds_more(raw, b"[{", MAX_UPSTREAM_CONTAINERS):
        message = f"the upstream's answer has over {MAX_UPSTREAM_CONTAINERS} arrays and objects"
        raise UpstreamTooLarge(message, limit=MAX_UPSTREAM_CONTAINERS)
    return _parse_slow(text)


# orjson writes at most 254 levels: within this many arrays, it refuses a value over `MAX_UPSTREAM_DEPTH`.
_EXTRA_DEPTH: Final = 254 - MAX_UPSTREAM_DEPTH


def _dumps_nested(value: Json) -> bytes:
    """The text of a value within these arrays."""
    for _ in range(_EXTRA_DEPTH):
        value = [value]
    return orjson.dumps(value)


def _parse_slow(text: str) -> Json:
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
    """An integer of up to `MAX_INTEGER_DIGITS` digits: Python's limit is 4,300."""
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
