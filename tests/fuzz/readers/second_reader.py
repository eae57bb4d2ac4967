"""JSON as the standard library reads it, made strict by its hooks: it shares nothing with Louver's readers."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any


class Refused(Exception):
    """The text is not strict JSON."""


def read(raw: bytes | str, *, repeats: bool = False, numbers: Any = None) -> Any:
    """The value of a text; `repeats`: the last member of a name counts, else none may be repeated."""

    def members(pairs):
        if not repeats and len(dict(pairs)) < len(pairs):
            raise Refused("a repeated name")
        return dict(pairs)

    def constant(name):
        raise Refused(name)

    def fraction(digits):
        if not isfinite(float(digits)):
            raise Refused("a number out of range")
        return float(digits)

    try:
        text = raw if isinstance(raw, str) else raw.decode()
        value = json.loads(
            text,
            object_pairs_hook=members,
            parse_constant=constant,
            parse_float=numbers or fraction,
            parse_int=numbers or _integer,
        )
    except (ValueError, RecursionError) as error:
        raise Refused from error
    return value


def ids(raw: bytes) -> list[Any] | None:
    """The values of every member `id` of a text's object; `None` if the text is no object."""
    try:
        found = json.loads(raw.decode(errors="replace"), object_pairs_hook=tuple, parse_int=_integer)
    except (ValueError, RecursionError):
        return None
    return [value for name, value in found if name == "id"] if isinstance(found, tuple) else None


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal in the types and the order of their parts too, as `1` and `1.0` are not."""
    return repr(one) == repr(other)


def depth(value: Any) -> int:
    """How many arrays and objects are around the innermost part."""
    deepest, level = 0, [value]
    while level := [part for part in level if isinstance(part, (dict, list))]:
        deepest += 1
        level = [below for part in level for below in (part.values() if isinstance(part, dict) else part)]
    return deepest


def is_text(value: Any) -> bool:
    """Whether no string of a value holds half a surrogate pair."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _integer(digits: str) -> int:
    # More digits than any bound of Louver's allows are another matter.
    return int(digits) if len(digits) <= 4300 else 0
