"""How large an answer is against the output that it was kept from.

A projected schema costs something too. For a large output it is a small part of
what was saved; for a tiny one it can be more than the data, and then
`"schema": "digest"` is the better request::

    measure(plan, output)   Sizes(full=2894, kept=23, schema=119)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from louver.core.json import canonical, compact, is_array, is_object
from louver.core.paths.mask import NONE, Mask

if TYPE_CHECKING:
    from louver.core.json import Json
    from louver.core.projection.plan import Plan


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes in bytes of JSON without white space.

    Args:
        full: The whole output.
        kept: What is left of it.
        schema: The projected schema.
    """

    full: int
    kept: int
    schema: int

    @property
    def saved(self) -> float:
        """The share of the output that was left out, 0 to 1; the schema is not counted."""
        return 1 - self.kept / self.full

    @property
    def pays(self) -> bool:
        """Whether kept value and schema together are smaller than the whole output."""
        return self.kept + self.schema < self.full


_SCALARS = frozenset({str, int, float, bool, type(None)})


def measure(plan: Plan, value: Json) -> Sizes:
    """The sizes of `value`, of what `plan` keeps of it, and of the schema that this satisfies."""
    kept = plan(value)
    return Sizes(*(len(text) for text in (_bytes(value), _bytes(kept), canonical(plan.schema))))


EVERYTHING: Final = Mask(exclude=True)
"""A mask for which every part is looked at."""


def is_larger(value: Json, most: int, mask: Mask = EVERYTHING) -> bool:
    """Whether a value has more than `most` parts, members and elements at any depth; no more of it are looked at.

    Args:
        value: The value.
        most: So many parts.
        mask: Counts only what is looked at for what it keeps: every name that it has for an object, there or not,
            and the members of one whose other names it looks at too; nothing in a part that it keeps whole.
    """
    parts = 0
    # What one node is for, all at once.
    todo: list[tuple[list[Any], Mask]] = [([value], mask)]
    while todo:
        alike, node = todo.pop()
        arrays = [part for part in alike if is_array(part)]
        objects = [part for part in alike if is_object(part)]
        names = node.children
        parts += sum(map(len, arrays)) + len(names) * len(objects)
        if node.other is not NONE:
            parts += sum(map(len, objects))
        if parts > most:
            return True
        if arrays and node.elem.is_inner():
            todo.append(([each for part in arrays for each in part if each.__class__ not in _SCALARS], node.elem))
        if objects:
            todo += [
                ([part[name] for part in objects if name in part], below)
                for name, below in names.items()
                if below.is_inner()
            ]
            if node.other.is_inner():
                others = [
                    member
                    for part in objects
                    for name, member in part.items()
                    if member.__class__ not in _SCALARS and name not in names
                ]
                todo.append((others, node.other))
    return False


def is_heavier(value: Json, most: int) -> bool:
    """Whether a value has more than about `most` bytes of JSON; no more of it is looked at than that takes.

    What is escaped in a text is counted as if it were not, and a scalar that is no text as `_SCALAR_BYTES`.
    """
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

_MEMBER_BYTES = 4
"""Quotes, colon and comma."""

_SCALAR_BYTES = 8
"""Of numbers and the like, on an average."""


def _bytes(value: Json) -> bytes:
    return compact(value).encode("utf-8", "surrogatepass")
