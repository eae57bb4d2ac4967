r"""JSON values in Python, their canonical bytes, and strict parsing.

Canonical bytes are UTF-8, keys in the order of code points, no white space. A digest over them names a schema::

    canonical({"b": 1, "a": "é"}) == b'{"a":"\xc3\xa9","b":1}'

Parsing refuses whatever parsers read differently: repeated keys, `NaN`, numbers out of range, very deep nesting.
orjson reads the most, and what it takes without a word is found by what it writes again; the standard library reads
the rest, and says why.
"""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import suppress
from functools import cache
from itertools import accumulate
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, TypeGuard, cast

import msgspec
import orjson

from louver.limits import MAX_JSON_DEPTH, MAX_READ_FAST

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


def parse(text: str, *, deepest: int = MAX_JSON_DEPTH) -> Json:
    """Parse JSON text strictly: `NotJson` for repeated keys, non-finite numbers, or over `deepest` levels."""
    with suppress(UnicodeEncodeError):
        value = parse_fast(text.encode(), deepest)
        if value is not UNSURE:
            return value
    return parse_slowly(text, deepest=deepest)


def parse_slowly(text: str, *, deepest: int, integer: Callable[[str], int] = int) -> Json:
    """The same for a text that `parse_fast` does not take."""
    _check_depth(text, deepest)
    # Python's own `int` refuses over 4,300 digits: callers may pass another `integer`.
    try:
        return json.loads(
            text, object_pairs_hook=_once, parse_constant=_constant, parse_float=_finite, parse_int=integer
        )
    except json.JSONDecodeError as error:
        raise NotJson(_reason(error), error.lineno, offset=error.pos) from None
    except ValueError as error:
        if isinstance(error, NotJson):
            raise
        raise NotJson("an integer has too many digits") from None


UNSURE: Final = object()
"""What the fast reader returns for a text that it does not read, or that may not be strict."""


def parse_fast(raw: bytes, deepest: int) -> Json:
    """The value of a strict JSON text; `UNSURE` if it may be none, has integers of 19 digits, or is very large."""
    if len(raw) > MAX_READ_FAST or (len(raw) > _FEW_CONTAINERS and raw.count(b"[") + raw.count(b"{") > _MAX_CONTAINERS):
        return UNSURE
    # orjson writes at most 254 levels: within so many arrays, it refuses a value over `deepest`.
    around = max(0, _WRITTEN_LEVELS - deepest)
    try:
        value = nested = orjson.loads(raw)
        for _ in range(around):
            nested = [nested]
        written = orjson.dumps(nested)
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return UNSURE
    is_same = len(written) == len(raw) + 2 * around and written.startswith(raw, around)
    return value if is_same or _is_respelt(raw, written) else UNSURE


def _is_respelt(raw: bytes, written: bytes) -> bool:
    """Whether a text, and what orjson has written of it, differ in spelling alone."""
    # Of members of one name it keeps the last: fewer colons are left. An integer of over 64 bits becomes a fraction.
    alike = raw.translate(_ALIKE)
    has_escaped = b"\\" in raw and _ESCAPED_COLON in alike
    escaped = raw.count(b"\\u003a") + raw.count(b"\\u003A") if has_escaped else 0
    return raw.count(b":") + escaped == written.count(b":") and _LONG_INTEGER not in alike


_WRITTEN_LEVELS: Final = 254
_MAX_CONTAINERS: Final = 200_000  # arrays and objects that orjson makes in some 20 ms, while nothing else runs
_FEW_CONTAINERS: Final = 2 * _MAX_CONTAINERS  # bytes: each takes two
_LONG_INTEGER: Final = b"0" * 19
_ESCAPED_COLON: Final = b"\\u000a"
# Of what these two consist of; all else is a space.
_LIKE: Final = dict(zip(r"0123456789\uaA", r"0000000000\uaa", strict=True))
_ALIKE: Final = bytes(ord(_LIKE.get(chr(byte), " ")) for byte in range(256))


def _check_depth(text: str, deepest: int) -> None:
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


def _constant(_name: str) -> Json:
    """Refuse `NaN` and the infinities: a `parse_constant` for `json.loads`."""
    raise NotJson("NaN and infinities are no numbers of JSON")


def compact(value: Json) -> str:
    """JSON text without white space, members in order."""
    return compact_bytes(value).decode()


def compact_bytes(value: Json) -> bytes:
    """The same in UTF-8."""
    try:
        return _encode(value)
    except (ValueError, TypeError, RecursionError):
        # msgspec refuses some values, such as lone surrogates: in strings only, where the escape is JSON's own.
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")


def check_encodable(value: Json) -> None:
    """Raise `UnicodeEncodeError` for a value with half a surrogate pair, which `compact` writes as its escape."""
    json.dumps(value, ensure_ascii=False).encode()


def unspaced(text: str) -> str:
    """JSON text without white space between its tokens; a text that is not JSON, or too deep, is returned unchanged."""
    try:
        return msgspec.json.format(text.encode("utf-8", "surrogatepass"), indent=-1).decode("utf-8", "surrogatepass")
    except (msgspec.DecodeError, RecursionError):
        return text


# `isinstance` with the type that is known of JSON; without a frame of its own, since every part of a value meets it.
is_object = cast("Callable[[object], TypeGuard[dict[str, Any]]]", dict.__instancecheck__)
is_array = cast("Callable[[object], TypeGuard[list[Any]]]", list.__instancecheck__)


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
