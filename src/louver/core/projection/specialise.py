"""A function that specialises once it knows the shape of its values, learnt where a mask looks at them.

    mask items.id, items.note    {"items": [{"id": 1, "note": "x"}, {"id": 2}]}    id: in 2 of 2; note: in 1 of 2

It starts in a general form and learns the shape of the first values; then it makes a special form for that shape. An
unexpected value goes to the general form and widens the shape, and the next special form is made. This ends: the form
of the last generation expects no member, and nothing is learnt from the values that it does not take.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from louver.core.json import is_array, is_object
from louver.core.schema import type_bounds

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.core.json import Json
    from louver.core.paths.mask import Mask


class Shape:
    """What occurred at the places of a mask node. It only widens. A schema would say less, and can be wrong."""

    __slots__ = ("elements", "kinds", "mask", "members", "objects", "present")

    def __init__(self, mask: Mask) -> None:
        self.mask = mask
        self.kinds = 0
        self.objects = 0
        self.present: dict[str, int] = {}  # how many of the objects have the member
        self.members: dict[str, Shape] = {}  # of members that the mask looks into
        self.elements: Shape | None = None

    def learn(self, value: Json, most: int | None = None) -> None:
        """Widen by a value, reading at most `most` elements of each array; `RecursionError` if it is too deep."""
        self.kinds |= type_bounds.kind_of(value)
        if is_object(value):
            self.objects += 1
            for name, below in self.mask.children.items():
                if name in value:
                    self.present[name] = self.present.get(name, 0) + 1
                    if below.is_inner:
                        self.members.setdefault(name, Shape(below)).learn(value[name], most)
        elif is_array(value) and self.mask.elem.is_inner:
            if self.elements is None:
                self.elements = Shape(self.mask.elem)
            step = 1 if most is None else max(1, len(value) // most)
            for element in value[::step]:
                self.elements.learn(element, most)

    def doubt(self) -> None:
        """From now on, no member is certain."""
        self.objects += 1
        for below in self.members.values():
            below.doubt()
        if self.elements is not None:
            self.elements.doubt()

    def is_certain(self, name: str) -> bool:
        return self.present.get(name, 0) == self.objects


MAX_GENERATIONS = 8
"""How often code is generated for one plan. The last code expects nothing, and stays."""

FIRST_CALLS = 3
FIRST_ELEMENTS = 300
"""Values, or elements of the root's arrays, that a plan learns from before code is generated."""

MAX_SHAPE_SAMPLES = 64
"""Elements of each array that a plan learns from at first."""


class NotSpecial(Exception):
    """A mask and a shape have no special form: the general form does as well."""


class Learning:
    """The function in its current form: `keep`."""

    # `special` makes the form of a shape, or raises `NotSpecial`. That form passes unexpected values to its function
    # argument, and returns the result of that.

    def __init__(
        self,
        mask: Mask,
        general: Callable[[Json], Json],
        special: Callable[[Shape, Callable[[Json], Json]], Callable[[Json], Json]],
    ) -> None:
        self._general = general
        self._special = special
        self._shape = Shape(mask)
        self._calls = 0
        self._generations = 0
        # A mask that keeps all or nothing has nothing to learn.
        self.keep: Callable[[Json], Json] = self._first if mask.is_inner else general

    @property
    def is_special(self) -> bool:
        return self.keep not in (self._general, self._first)

    def _first(self, value: Json) -> Json:
        self._calls += 1
        self._learn(value, MAX_SHAPE_SAMPLES)
        if self._calls >= FIRST_CALLS or _size(value) >= FIRST_ELEMENTS:
            self._specialise()
        return self._general(value)

    def _unexpected(self, value: Json) -> Json:
        self._learn(value, most=None)
        self._specialise()
        return self._general(value)

    def _learn(self, value: Json, most: int | None) -> None:
        try:
            self._shape.learn(value, most)
        except RecursionError:
            self._generations = MAX_GENERATIONS

    def _specialise(self) -> None:
        self.keep = self._general
        if self._generations == MAX_GENERATIONS:
            return
        self._generations += 1
        otherwise = self._unexpected
        if self._generations == MAX_GENERATIONS:
            self._shape.doubt()
            otherwise = self._general
        with suppress(NotSpecial):
            self.keep = self._special(self._shape, otherwise)


def _size(value: Json) -> int:
    """The length of the longest array at the root or directly below it."""
    if is_array(value):
        return len(value)
    if is_object(value):
        return max((len(member) for member in value.values() if is_array(member)), default=0)
    return 0
