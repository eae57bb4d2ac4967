"""Making a value shorter: texts and arrays are cut, members that are null are left out.

Whatever stands anywhere in the value is made shorter alike::

    maxItems 2, maxString 4, dropNulls
    {"name": "Annabel", "nick": null, "tags": ["a", null, "c"]}
    {"name": "Ann…", "tags": ["a", null]}

Every value keeps its kind, and numbers are never touched. The interpreter is the only form: what
is shortened is small by then.

Law: shortening twice is shortening once (`tests/core/test_shaping_laws.py`).
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

ELLIPSIS = "…"
"""What a text that was cut ends in; it counts as one of its characters."""


@dataclass(frozen=True, slots=True)
class Shortening:
    """What becomes shorter.

    Args:
        text: What a text becomes; it is no longer then. `None`: texts stay.
        least: Of a text with so many characters at least so many are left.
        most: Characters of the longest text that can be left, if there is a bound.
        max_items: Elements that are left of an array, if there is a bound.
        drops_nulls: Whether members that are null are left out.
        enters_objects: Whether members are made shorter too.
    """

    text: Callable[[str], str] | None = None
    least: int = 0
    most: int | None = None
    max_items: int | None = None
    drops_nulls: bool = False
    enters_objects: bool = True

    @classmethod
    def to_format(cls, written: Format) -> Shortening:
        """Texts in a format: one text, or each text of an array."""
        return cls(written.write, written.least, enters_objects=False)

    @classmethod
    def to_size(cls, max_items: int | None, max_string: int | None, *, drops_nulls: bool) -> Shortening:
        """Arrays of at most `max_items` elements, and texts of at most `max_string` characters."""
        if max_string is None:
            return cls(max_items=max_items, drops_nulls=drops_nulls)
        return cls(_cut_to(max_string), max_string, max_string, max_items, drops_nulls)

    @property
    def touches(self) -> int:
        """The kinds of value that can become other values."""
        texts = type_bounds.STRING if self.text is not None else 0
        return texts | type_bounds.ARRAY | (type_bounds.OBJECT if self.enters_objects else 0)


def shorten(value: Json, by: Shortening) -> Json:
    """The shorter form of `value`, which is not changed.

    Args:
        value: Any JSON value, nested to any depth.
        by: What becomes shorter.
    """
    root: list[Any] = [None]
    # A place to fill, and what fills it. An explicit stack: values may be of any depth.
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
            # Not its subclass: a number can be there by its spelling (`louver.core.projection.json_text`).
            into[key] = by.text(value)
        else:
            into[key] = value
    return root[0]


def _cut_to(most: int) -> Callable[[str], str]:
    def cut(text: str) -> str:
        return text if len(text) <= most else text[: most - 1] + ELLIPSIS

    return cut
