"""Plans that get fast: closures at first, generated code once values are known.

Three forms keep the same of every value, each faster and narrower than the last:

1. the interpreter (`project`), for any value of any depth;
2. the closures, for any value that Python can recurse through;
3. the generated code, for values of the shape that was seen.

The first values are kept by the closures and learnt from. Then code is generated; a
value that it was not made for falls back to the closures and widens the shape, and
code is generated anew. That ends: a shape can only widen so often, and after
`MAX_GENERATIONS` the closures stay.

Law: all three keep the same (`tests/core/test_compile.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from louver.core.closures import closures
from louver.core.generate import UNEXPECTED, NotGenerated, generated
from louver.core.json import is_array, is_object
from louver.core.project import project
from louver.core.shape import Shape
from louver.limits import FIRST_CALLS, FIRST_ELEMENTS, MAX_GENERATIONS, MAX_SHAPE_SAMPLES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from louver.core.json import Json
    from louver.core.mask import Mask


class Compiled:
    """`project(value, mask, order)` as a function of the value.

    Args:
        mask: What is kept.
        order: For an include: the order of members.
    """

    def __init__(self, mask: Mask, order: Mapping[Mask, tuple[str, ...]]) -> None:
        self._mask = mask
        self._order = order
        self._closures = closures(mask, order)
        self._generated: Callable[[Json], Json] | None = None
        self._shape = Shape(mask)
        self._calls = 0
        # A mask that keeps all or nothing has nothing to learn.
        self._generations = 0 if mask.is_inner() else MAX_GENERATIONS

    @property
    def tier(self) -> str:
        """The form that keeps the next value: `closures` or `generated`."""
        return "closures" if self._generated is None else "generated"

    def __call__(self, value: Json) -> Json:
        """The kept part of `value`."""
        if self._generated is not None:
            try:
                return self._generated(value)
            except UNEXPECTED:
                self._learn(value, most=None)
                self._generate()
        elif self._generations < MAX_GENERATIONS:
            self._calls += 1
            self._learn(value, MAX_SHAPE_SAMPLES)
            if self._calls >= FIRST_CALLS or _size(value) >= FIRST_ELEMENTS:
                self._generate()
        try:
            return self._closures(value)
        except RecursionError:
            return project(value, self._mask, self._order)

    def _learn(self, value: Json, most: int | None) -> None:
        try:
            self._shape.learn(value, most)
        except RecursionError:
            self._generations = MAX_GENERATIONS

    def _generate(self) -> None:
        self._generated = None
        if self._generations == MAX_GENERATIONS:
            return
        self._generations += 1
        try:
            self._generated = generated(self._shape, self._order)
        except NotGenerated:
            self._generations = MAX_GENERATIONS


def _size(value: Json) -> int:
    """The elements of the longest array at the root or directly below it."""
    if is_array(value):
        return len(value)
    if is_object(value):
        return max((len(member) for member in value.values() if is_array(member)), default=0)
    return 0
