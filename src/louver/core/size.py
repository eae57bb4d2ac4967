"""Sizes: how many parts of a value a mask looks at, and how many bytes of JSON it has; without writing it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from louver.core.json import is_array, is_object
from louver.core.paths.mask import NONE, Mask

if TYPE_CHECKING:
    from louver.core.json import Json


_SCALARS = frozenset({str, int, float, bool, type(None)})


# A mask under which every part counts.
EVERYTHING: Final = Mask(exclude=True)


def is_larger(value: Json, most: int, mask: Mask = EVERYTHING) -> bool:
    """Whether a mask looks at more than `most` parts of a value: members and elements at any depth. Stops early."""
    # An object counts every name of the mask, present or not; and its own members where the mask has a wildcard.
    parts = 0
    # All values of one mask node together.
    todo: list[tuple[list[Any], Mask]] = [([value], mask)]
    while todo:
        alike, node = todo.pop()
        arrays: list[list[Any]] = [part for part in alike if isinstance(part, list)]
        objects: list[dict[str, Any]] = [part for part in alike if isinstance(part, dict)]
        names = node.children
        weight = 1
        for pick in node.rows:
            weight += pick.weight
        parts += sum(map(len, arrays)) * weight + len(names) * len(objects)
        if node.other is not NONE:
            parts += sum(map(len, objects))
        if parts > most:
            return True
        if arrays and node.elem.is_inner:
            todo.append(([each for part in arrays for each in part if each.__class__ not in _SCALARS], node.elem))
        if objects:
            todo += [
                ([part[name] for part in objects if name in part], below)
                for name, below in names.items()
                if below.is_inner
            ]
            if node.other.is_inner:
                others = [
                    member
                    for part in objects
                    for name, member in part.items()
                    if member.__class__ not in _SCALARS and name not in names
                ]
                todo.append((others, node.other))
    return False


def is_heavier(value: Json, most: int) -> bool:
    """Whether a value has more than about `most` bytes of JSON; escapes do not count. Stops early."""
    left = most
    todo: list[Json] = [value]
    while todo and left >= 0:
        part = todo.pop()
        if isinstance(part, str):
            left -= len(part)
        elif is_object(part):
            left -= sum(map(len, part)) + _MEMBER_BYTES * len(part) + _BRACKETS
            todo += part.values()
        elif is_array(part):
            left -= len(part) + _BRACKETS
            if left >= 0:
                todo += part
        else:
            left -= _SCALAR_BYTES
    return left < 0


_BRACKETS = 2

# Quotes, colon and comma.
_MEMBER_BYTES = 4

# An average of numbers, booleans and null.
_SCALAR_BYTES = 8
