"""Selecting: an object becomes one with just the members that a view lists, under new names.

    select   {"from": "author.email", "labels": "labels.name"}      at   issues
    value    {"total": 1, "issues": [{"author": {"email": "a@b.c", "id": 7}, "labels": [{"name": "bug"}, {}]}]}
    becomes  {"total": 1, "issues": [{"from": "a@b.c", "labels": ["bug", null]}]}

At the place an include's rules hold (`louver.core.project`): arrays are transparent, null stays, scalars are missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from louver.core.json import Json, is_array, is_object
from louver.core.paths.mask import ALL, NONE, Mask, include_mask
from louver.core.project import is_missing
from louver.core.shaping.shorten import FORMATS, Shortening, shorten
from louver.limits import MAX_ARRAY_LEVELS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from louver.core.paths.path import FieldPath

# The node of the place where members are selected. The nodes around it are those of an exclude.
PICKED: Final = Mask(exclude=False)
PICKED.other = NONE

_MISSING: Any = object()


@dataclass(frozen=True, slots=True)
class MemberSource:
    path: FieldPath  # from the place; names only
    format: str | None = None  # the name of a format for its texts

    @property
    def shortening(self) -> Shortening | None:
        return None if self.format is None else Shortening.to_format(FORMATS[self.format])


@dataclass(frozen=True, slots=True)
class Select:
    members: tuple[tuple[str, MemberSource], ...]  # in the order of the output
    at: FieldPath  # no steps: the root

    def replaces(self, path: FieldPath) -> bool:
        """Whether `path` leads below the place, where only selected members are left."""
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


def select(value: Json, mask: Mask, members: Mapping[str, MemberSource]) -> Json:
    """`value` with `members` selected where the mask (`place_mask`) says; the input is not changed."""
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


def _picked(value: Json, members: Mapping[str, MemberSource], level: int) -> Json:
    """The selection of a value that stands at the place and is not missing: null, an object, or an array of such."""
    if is_array(value):
        return [
            None if is_missing(element, PICKED, level + 1) else _picked(element, members, level + 1)
            for element in value
        ]
    if not is_object(value):
        return None
    picked: dict[str, Any] = {}
    for name, source in members.items():
        found = _found(value, source.path.names, 0)
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
