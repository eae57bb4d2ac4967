"""The shape of the values that one plan has seen, learnt where its mask looks at them.

mask items.id, items.note    {"items": [{"id": 1, "note": "x"}, {"id": 2}]}    id: in 2 of 2; note: in 1 of 2
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from louver.core.json import is_array, is_object
from louver.core.schema import type_bounds

if TYPE_CHECKING:
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
            for element, below in self.mask.each(value[::step], None):
                if below is self.mask.elem:
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
