"""Shortening, anywhere in a value: texts and arrays are cut or written in a format, and null members are left out.

    maxItems 2, maxString 4, dropNulls
    {"name": "Annabel", "nick": null, "tags": ["a", null, "c"]}    becomes    {"name": "Ann…", "tags": ["a", null]}
    format minute    2025-01-05T14:32:05+02:00    2025-01-05T14:32+02:00, in its own time zone

Every value keeps its kind; a text of another form than its format's stays unchanged. Law: shortening twice is
shortening once (`tests/core/test_shaping_laws.py`). Source of the formats: 001 pattern 4; which texts match is ours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from louver.core.json import is_array, is_object
from louver.core.schema import type_bounds

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.core.json import Json


_DATE = r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
_MINUTE = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_OFFSET = rf"[Zz]|[+-]{_MINUTE}"
# Date and time of RFC 3339; many servers leave its offset out.
_TIME = re.compile(rf"({_DATE})[Tt ]({_MINUTE}):(?:[0-5][0-9]|60)(?:\.[0-9]+)?({_OFFSET})?")

# A bare address: without a display name and brackets.
_ADDRESS = re.compile(r"([^\s<>]+)@[^\s<>@]+")

_ZERO = ("Z", "+00:00", "-00:00")


@dataclass(frozen=True, slots=True)
class Format:
    write: Callable[[str], str]
    least: int  # a text of at least so many characters keeps at least so many


def _minute(text: str) -> str:
    found = _TIME.fullmatch(text)
    if found is None:
        return text
    date, minute, offset = found.groups(default="Z")
    return f"{date}T{minute}{'' if offset.upper() in _ZERO else offset}"


def _date(text: str) -> str:
    found = _TIME.fullmatch(text)
    return text if found is None else found[1]


def _localpart(text: str) -> str:
    found = _ADDRESS.fullmatch(text)
    return text if found is None else found[1]


FORMATS = {"minute": Format(_minute, 16), "date": Format(_date, 10), "localpart": Format(_localpart, 1)}


# The end of a text that was cut; it counts as one of its characters.
ELLIPSIS = "…"


@dataclass(frozen=True, slots=True)
class Shortening:
    text: Callable[[str], str] | None = None  # never makes a text longer
    least: int = 0  # a text of at least so many characters keeps at least so many
    most: int | None = None  # characters of a text at most
    max_items: int | None = None
    drops_nulls: bool = False
    enters_objects: bool = True  # members become shorter too

    @classmethod
    def to_format(cls, written: Format) -> Shortening:
        """Texts in a format: a single text, or each text of an array."""
        return cls(written.write, written.least, enters_objects=False)

    @classmethod
    def to_size(cls, max_items: int | None, max_string: int | None, *, drops_nulls: bool) -> Shortening:
        if max_string is None:
            return cls(max_items=max_items, drops_nulls=drops_nulls)
        return cls(_cut_to(max_string), max_string, max_string, max_items, drops_nulls)

    @property
    def touches(self) -> int:
        texts = type_bounds.STRING if self.text is not None else 0
        return texts | type_bounds.ARRAY | (type_bounds.OBJECT if self.enters_objects else 0)


def shorten(value: Json, by: Shortening) -> Json:
    root: list[Any] = [None]
    # Container, key and value. An explicit stack: values may be of any depth.
    todo: list[tuple[Any, Any, Json]] = [(root, 0, value)]
    while todo:
        into, key, value = todo.pop()
        if is_array(value):
            elements = into[key] = value[: by.max_items]
            todo.extend((elements, position, element) for position, element in enumerate(elements))
        elif is_object(value) and by.enters_objects:
            members = into[key] = {
                name: member for name, member in value.items() if member is not None or not by.drops_nulls
            }
            todo.extend((members, name, member) for name, member in members.items())
        elif isinstance(value, str) and by.text is not None:
            into[key] = by.text(value)
        else:
            into[key] = value
    return root[0]


def _cut_to(most: int) -> Callable[[str], str]:
    def cut(text: str) -> str:
        return text if len(text) <= most else text[: most - 1] + ELLIPSIS

    return cut
