"""The longest array of a value, and a page of it.

{"total": 250, "issues": [{"id": 1, "labels": ["a"]}, ...]}
longest      issues, 250 elements
page 3       {"total": 250, "issues": [elements 201 to 250]}
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from louver.core.json import is_array, is_object
from louver.core.paths.path import FieldPath

if TYPE_CHECKING:
    from louver.core.json import Json


@dataclass(frozen=True, slots=True)
class Found:
    """An array, and the names that lead to it; arrays on the way are looked through."""

    names: tuple[str, ...]
    items: list[Json]

    @property
    def path(self) -> FieldPath:
        return FieldPath(self.names)


def longest(value: Json, *, within_arrays: bool) -> Found | None:
    """The longest array of a value, the first of several; `None` if there is none."""
    found: Found | None = None
    todo: list[tuple[tuple[str, ...], Json]] = [((), value)]
    while todo:
        steps, part = todo.pop()
        if is_object(part):
            todo += [
                ((*steps, name), below) for name, below in reversed(part.items()) if isinstance(below, dict | list)
            ]
        elif is_array(part):
            if found is None or len(part) > len(found.items):
                found = Found(steps, part)
            if within_arrays:
                todo += [(steps, below) for below in reversed(part) if isinstance(below, dict | list)]
    return found


def with_items(value: Json, names: tuple[str, ...], items: list[Json]) -> Json:
    """A copy of `value` with other elements in the array that `names` lead to."""
    if not names:
        return items
    return {**value, names[0]: with_items(value[names[0]], names[1:], items)}
