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
from louver.core.mask import NONE, Mask
from louver.limits import MAX_SIZE_SAMPLES

if TYPE_CHECKING:
    from louver.core.json import Json
    from louver.core.plan import Plan


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
    """Whether a value has more than `most` parts, members and elements at any depth, as far as a sample shows.

    Of an array `MAX_SIZE_SAMPLES` elements are looked at, and stand for the others.

    Args:
        value: The value.
        most: So many parts.
        mask: Counts only the parts that are looked at for what it keeps: one that it keeps whole is not.
    """
    parts = 0.0
    # A part, what is kept of it, and for how many it stands.
    todo: list[tuple[Any, Mask, float]] = [(value, mask, 1)]
    while todo and parts <= most:
        part, node, times = todo.pop()
        if is_array(part):
            parts += len(part) * times
            if (below := node.elem).is_inner():
                sample = part[:: len(part) // MAX_SIZE_SAMPLES + 1]
                times *= len(part) / max(1, len(sample))
                todo += [(each, below, times) for each in sample if each.__class__ not in _SCALARS]
        elif is_object(part):
            members = part
            if node.other is NONE:
                members = {name: part[name] for name in node.children if name in part}
            parts += len(members) * times
            # Most parts are scalars, which need not be looked at again.
            todo += [
                (each, below, times)
                for name, each in members.items()
                if each.__class__ not in _SCALARS and (below := node.child(name)).is_inner()
            ]
    return parts > most


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
