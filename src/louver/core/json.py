r"""JSON values in Python, their canonical bytes, and strict parsing.

Canonical bytes are UTF-8, keys in the order of code points, no white space. A digest over them names a schema::

    canonical({"b": 1, "a": "é"}) == b'{"a":"\xc3\xa9","b":1}'

Parsing refuses whatever parsers read differently: repeated keys, `NaN`, numbers out of range, very deep nesting.
"""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import suppress
from functools import cache
from itertools import accumulate
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeGuard

import msgspec

from louver.limits import MAX_JSON_DEPTH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_encode = msgspec.json.Encoder().encode

# `None`, `bool`, `int`, `float`, `str`, `list[Json]` or `dict[str, Json]`.
Json = Any

# A JSON Schema: an object of keywords, or `True` (anything) or `False` (nothing).
Schema = bool | dict[str, Any]


def canonical(value: Json) -> bytes:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


def digest(value: Json) -> str:
    """The first 16 hex digits of the SHA-256 of the canonical bytes."""
    return hashlib.sha256(canonical(value)).hexdigest()[:16]


class NotJson(ValueError):
    """A text is not strict JSON. `reason` quotes no values; `line` counts from 1, `offset` in characters from 0."""

    def __init__(self, reason: str, line: int = 1, key: str | None = None, offset: int | None = None) -> None:
        super().__init__(reason)
        self.reason, self.line, self.key, self.offset = reason, line, key, offset


def parse(text: str, *, deepest: int = MAX_JSON_DEPTH, integer: Callable[[str], int] = int) -> Json:
    """Parse JSON text strictly: `NotJson` for repeated keys, non-finite numbers, or over `deepest` levels."""
    check_depth(text, deepest)
    # Python's own `int` refuses over 4,300 digits: callers may pass another `integer`.
    try:
        return json.loads(
            text, object_pairs_hook=_once, parse_constant=constant, parse_float=_finite, parse_int=integer
        )
    except json.JSONDecodeError as error:
        raise NotJson(_reason(error), error.lineno, offset=error.pos) from None
    except ValueError as error:
        if isinstance(error, NotJson):
            raise
        raise NotJson("an integer has too many digits") from None


def check_depth(text: str, deepest: int = MAX_JSON_DEPTH) -> None:
    """Raise `NotJson` for a text nested deeper than `deepest` levels, which recursion could not parse."""
    if is_deeper(text.encode("utf-8", "replace"), deepest):
        raise NotJson(f"it is nested deeper than {deepest} levels")


def is_deeper(raw: bytes, deepest: int) -> bool:
    """Whether a JSON text is nested deeper than `deepest` levels; found without recursion."""
    if _is_sparse(raw, b"[", deepest // 2) and _is_sparse(raw, b"{", deepest // 2):
        return False
    brackets = _outside_texts(raw, b"[]{}")
    # A text that closes more than it has opened is read no further.
    left = brackets = brackets[: 2 * (brackets.count(b"[") + brackets.count(b"{"))]
    # Most texts nest a few levels deep; each pass removes one or two of them.
    for _ in range(min(8, deepest // 2)):
        left = left.replace(b"[]", b"").replace(b"{}", b"")
    return bool(left) and max(accumulate(map(_STEPS.__getitem__, brackets))) > deepest


def holds_more(raw: bytes, marks: bytes, most: int) -> bool:
    """Whether a JSON text has more than `most` of the characters `marks` outside of its strings."""
    return sum(map(raw.count, marks)) > most and len(_outside_texts(raw, marks)) > most


def constant(_name: str) -> Json:
    """Refuse `NaN` and the infinities: a `parse_constant` for `json.loads`."""
    raise NotJson("NaN and infinities are no numbers of JSON")


def compact(value: Json) -> str:
    """JSON text without white space, members in order."""
    with suppress(ValueError, TypeError, RecursionError):
        return _encode(value).decode()
    # msgspec refuses some values, such as lone surrogates.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def unspaced(text: str) -> str:
    """JSON text without white space between its tokens; a text that is not JSON is returned unchanged."""
    try:
        return msgspec.json.format(text.encode("utf-8", "surrogatepass"), indent=-1).decode("utf-8", "surrogatepass")
    except msgspec.DecodeError:
        return text


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def members(value: object) -> dict[str, Any]:
    """The members of an object; empty for any other value."""
    return value if is_object(value) else {}


def strings(value: Json) -> list[str]:
    """The strings among the elements of an array; empty for any other value."""
    return [element for element in value if isinstance(element, str)] if is_array(value) else []


def levels(value: Json) -> Iterator[list[Json]]:
    """The parts of a value level by level: the value, its members or elements, theirs, and so on."""
    level = [value]
    while level:
        yield level
        below: list[Json] = []
        for part in level:
            if is_object(part):
                below += part.values()
            elif is_array(part):
                below += part
        level = below


def _is_sparse(raw: bytes, mark: bytes, most: int) -> bool:
    """Whether `mark` occurs at most `most` times; faster than counting all of them."""
    at = 0
    for _ in range(most + 1):
        at = raw.find(mark, at) + 1
        if not at:
            return True
    return False


def _outside_texts(raw: bytes, marks: bytes) -> bytes:
    """Those of the characters `marks` that occur outside of strings, in their order."""
    if b"\\" in raw:
        raw = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    # Most strings hold no mark: they are removed before the rest is split.
    left = raw.translate(None, _all_but(marks)).replace(b'""', b"")
    return b"".join(left.split(b'"')[::2])


@cache
def _all_but(marks: bytes) -> bytes:
    return bytes(set(range(256)) - {*marks, ord('"')})


_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


_COMMENT = re.compile(r"//|/\*")
_COMMA = re.compile(r",\s*[\]}]")


def _reason(error: json.JSONDecodeError) -> str:
    if _COMMENT.match(error.doc, error.pos):
        return "a comment, which JSON does not have"
    comma = _COMMA.match(error.doc, error.doc.rfind(",", 0, error.pos + 1))
    if comma is not None and error.pos < comma.end():
        return "a comma before the end of a list or an object, which JSON does not have"
    return error.msg


def _once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))
        raise NotJson("a key stands twice", key=twice)
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise NotJson("a number is too large")
    return number
