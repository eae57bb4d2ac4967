"""Masking: a replacement for each hidden value, in the value and in the schema.

    hidden   user.email, by a pseudonym
    value    {"user": {"email": "ann@example.org", "id": 1}}  ->  {"user": {"email": "p:Zk3x...", "id": 1}}
    S        "email": {"type": "string", "format": "email"}   ->  {"type": "string", "pattern": "^p:[...]{22}$"}

Law: `hide` of a value that is valid under `S` is valid under `hidden` of `S` (`tests/core/test_visible_laws.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from louver.core.json import Json, is_array, is_object
from louver.core.paths.mask import ALL, Mask
from louver.core.schema.budget import OverBudget
from louver.core.schema.derive import Derivation, Derived
from louver.core.schema.references import UnknownDialect, document
from louver.limits import MAX_WRITTEN_SIZE

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.core.json import Schema
    from louver.core.schema.references import Place

# The place stays, with a replacement.
HIDDEN: Final = Mask(exclude=True)


def hide(value: Json, mask: Mask, put: Callable[[Json], Json]) -> Json:
    """The value with `put(part)` for each part where the mask is `HIDDEN`; the input is not changed."""
    root: list[Any] = [None]
    # An explicit stack: values may be of any depth.
    todo: list[tuple[Any, Any, Json, Mask]] = [(root, 0, value, mask)]
    while todo:
        into, key, value, mask = todo.pop()
        if mask is HIDDEN:
            into[key] = put(value)
        elif mask is ALL or not (is_object(value) or is_array(value)):
            into[key] = value
        elif is_object(value):
            members: dict[str, Any] = dict.fromkeys(value)
            todo += [(members, name, member, mask.child(name)) for name, member in value.items()]
            into[key] = members
        else:
            elements: list[Any] = [None] * len(value)
            todo += [(elements, position, element, mask.elem) for position, element in enumerate(value)]
            into[key] = elements
    return root[0]


def hidden(
    schema: Schema, mask: Mask, stands: Schema, put: Callable[[Json], Json], *, wrapped: bool = False
) -> Derived:
    """The schema of everything that `hide` makes of a valid value; `stands` is the schema of the replacements."""
    try:
        return Derived(_Hiding(stands, put).document(document(schema), mask, wrapped, MAX_WRITTEN_SIZE), "exact")
    except (OverBudget, UnknownDialect):
        return Derived(_Hiding(stands, put).document(document(True), mask, wrapped, None), "shape")


class _Hiding(Derivation):
    """A derivation with replacements: nothing that the schema says of a hidden place holds there."""

    def __init__(self, stands: Schema, put: Callable[[Json], Json]) -> None:
        super().__init__(silent=True)
        self._stands = stands
        self._put = put

    def at(self, place: Place, mask: Mask, closes: bool) -> Schema:
        return self._stands if mask is HIDDEN else super().at(place, mask, closes)

    def left(self, value: Json, mask: Mask) -> Json:
        return hide(value, mask, self._put)

    def shape(self, mask: Mask) -> Schema:
        return self._stands if mask is HIDDEN else super().shape(mask)
