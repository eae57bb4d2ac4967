"""A function that specialises once it knows what its values look like.

It starts in a general form and learns the shape of the first values; then it makes a special form for that shape. An
unexpected value goes to the general form and widens the shape, and the next special form is made. This ends: the form
of the last generation expects no member, and nothing is learnt from the values that it does not take.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Generic, TypeVar

from louver.core.json import is_array, is_object
from louver.core.projection.shape import Shape
from louver.limits import FIRST_CALLS, FIRST_ELEMENTS, MAX_GENERATIONS, MAX_SHAPE_SAMPLES

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.core.json import Json
    from louver.core.paths.mask import Mask

Value = TypeVar("Value")


class NotSpecial(Exception):
    """A mask and a shape have no special form: the general form does as well."""


class Learning(Generic[Value]):
    """The function in its current form: `keep`."""

    # `special` makes the form of a shape, or raises `NotSpecial`. That form passes unexpected values to its function
    # argument, and returns the result of that. `seen` is the JSON value to learn from.

    def __init__(
        self,
        mask: Mask,
        general: Callable[[Value], Value],
        special: Callable[[Shape, Callable[[Value], Value]], Callable[[Value], Value]],
        seen: Callable[[Value], Json],
    ) -> None:
        self._general = general
        self._special = special
        self._seen = seen
        self._shape = Shape(mask)
        self._calls = 0
        self._generations = 0
        # A mask that keeps all or nothing has nothing to learn.
        self.keep: Callable[[Value], Value] = self._first if mask.is_inner else general

    @property
    def is_special(self) -> bool:
        return self.keep not in (self._general, self._first)

    def _first(self, value: Value) -> Value:
        self._calls += 1
        seen = self._seen(value)
        self._learn(seen, MAX_SHAPE_SAMPLES)
        if self._calls >= FIRST_CALLS or _size(seen) >= FIRST_ELEMENTS:
            self._specialise()
        return self._general(value)

    def _unexpected(self, value: Value) -> Value:
        self._learn(self._seen(value), most=None)
        self._specialise()
        return self._general(value)

    def _learn(self, seen: Json, most: int | None) -> None:
        try:
            self._shape.learn(seen, most)
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
