"""Shortening, anywhere in a value: texts and arrays are cut, and members that are null are left out.

    maxItems 2, maxString 4, dropNulls
    {"name": "Annabel", "nick": null, "tags": ["a", null, "c"]}    becomes    {"name": "Ann…", "tags": ["a", null]}

Every value keeps its kind. Law: shortening twice is shortening once (`tests/core/test_shaping_laws.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from louver.core.json import is_array, is_object
from louver.core.schema import type_bounds

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.core.json import Json
    from louver.core.shaping.formats import Format

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
        elif type(value) is str and by.text is not None:
            # Not a subclass: `json_text.Number` is the spelling of a number.
            into[key] = by.text(value)
        else:
            into[key] = value
    return root[0]


def _cut_to(most: int) -> Callable[[str], str]:
    def cut(text: str) -> str:
        return text if len(text) <= most else text[: most - 1] + ELLIPSIS

    return cut
