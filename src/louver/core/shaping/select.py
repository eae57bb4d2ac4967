"""Selecting: an object becomes one of just the members that a view lists, under names of its own.

::

    select   {"from": "author.email", "labels": "labels.name"}      at   issues
    value    {"total": 1, "issues": [{"author": {"email": "a@b.c", "id": 7}, "labels": [{"name": "bug"}, {}]}]}
             {"total": 1, "issues": [{"from": "a@b.c", "labels": ["bug", null]}]}

`at` is read as an include reads a path, and what is not there is not touched. At the place it is as if
the members were asked for (`louver.core.project`): arrays are transparent, null stays null, and a scalar
is missing: as an element it becomes null, as a member it is dropped. So nothing passes but what is listed.

A path within the place has names only. What it finds in an array is an array of the same length, with null
for each element that has no such member.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from louver.core.json import Json, is_array, is_object
from louver.core.paths.mask import ALL, NONE, Mask, include_mask
from louver.core.project import is_missing
from louver.core.shaping.formats import FORMATS
from louver.core.shaping.shorten import Shortening, shorten
from louver.limits import MAX_ARRAY_LEVELS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from louver.core.paths.path import FieldPath

PICKED: Final = Mask(exclude=False)
"""The node of the place where members are selected. Its neighbours are those of an exclude."""
PICKED.other = NONE

_MISSING: Any = object()


@dataclass(frozen=True, slots=True)
class Source:
    """Where a selected member comes from.

    Args:
        path: From the place; names only.
        format: The name of a format, in which its texts are written.
    """

    path: FieldPath
    format: str | None = None

    @property
    def shortening(self) -> Shortening | None:
        """What the format does to what is found."""
        return None if self.format is None else Shortening.to_format(FORMATS[self.format])


@dataclass(frozen=True, slots=True)
class Select:
    """The members of an object, and where in a value such objects stand.

    Args:
        members: Name and source, in the order in which they are written.
        at: The place. No step at all is the root.
    """

    members: tuple[tuple[str, Source], ...]
    at: FieldPath

    def replaces(self, path: FieldPath) -> bool:
        """Whether `path` leads beyond the place, where only what is selected is left."""
        at, names = ([step for step in each.steps if step is not None] for each in (self.at, path))
        return len(names) > len(at) and names[: len(at)] == at


def place_mask(at: FieldPath) -> Mask:
    """The mask that is `PICKED` at a place, and keeps everything else."""
    made = {ALL: PICKED, NONE: ALL}

    def node(mask: Mask) -> Mask:
        if mask not in made:
            above = made[mask] = Mask(exclude=True)
            above.children = {name: node(below) for name, below in mask.children.items()}
            above.other, above.elem = node(mask.other), node(mask.elem)
        return made[mask]

    return node(include_mask([at]))


def select(value: Json, mask: Mask, members: Mapping[str, Source]) -> Json:
    """`value` with the members selected.

    Args:
        value: Any JSON value, nested to any depth; not changed.
        mask: Where: of `place_mask`.
        members: What.
    """
    if is_missing(value, mask):
        return None
    root: list[Any] = [None]
    todo: list[tuple[Any, Any, Json, Mask, int]] = [(root, 0, value, mask, 0)]
    while todo:
        into, key, value, mask, level = todo.pop()
        if mask is PICKED:
            into[key] = _picked(value, members, level)
        elif mask is ALL or not (is_object(value) or is_array(value)):
            into[key] = value
        elif is_object(value):
            kept = into[key] = {
                name: member for name, member in value.items() if not is_missing(member, mask.child(name))
            }
            todo.extend((kept, name, member, mask.child(name), 0) for name, member in kept.items())
        else:
            elements: list[Any] = [None if is_missing(element, mask.elem) else element for element in value]
            into[key] = elements
            todo.extend((elements, at, element, mask.elem, 1) for at, element in enumerate(elements))
    return root[0]


def _picked(value: Json, members: Mapping[str, Source], level: int) -> Json:
    """What is selected of what stands at the place: null, an object, or an array of such, and not missing."""
    if is_array(value):
        return [
            None if is_missing(element, PICKED, level + 1) else _picked(element, members, level + 1)
            for element in value
        ]
    if not is_object(value):
        return None
    picked: dict[str, Any] = {}
    for name, source in members.items():
        found = _found(value, source.path.steps, 0)
        if found is not _MISSING:
            by = source.shortening
            picked[name] = found if by is None else shorten(found, by)
    return picked


def _found(value: Json, steps: tuple[str | None, ...], level: int) -> Any:
    """What names lead to; `level` counts the arrays on the way."""
    if not steps or value is None:
        return value
    if is_object(value):
        name = steps[0]
        return _found(value[name], steps[1:], level) if name in value else _MISSING
    return [_found_in(element, steps, level + 1) for element in value] if is_array(value) else _MISSING


def _found_in(element: Json, steps: tuple[str | None, ...], level: int) -> Json:
    if is_array(element) and level >= MAX_ARRAY_LEVELS:
        return None
    found = _found(element, steps, level)
    return None if found is _MISSING else found
