"""What values look like where a mask looks at them, learnt from values.

Generated code is fast because it expects something: that this member is there, that
that one is an object. What to expect is learnt from the values that come::

    mask     include items.id, items.note
    value    {"items": [{"id": 1, "note": "x"}, {"id": 2}]}
    shape    items: an array of objects; id: in 2 of 2; note: in 1 of 2

A schema would say less (of a field that is optional and always there) and may say what is
not so. A shape only widens: what was seen once stays possible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from louver.core.json import is_array, is_object
from louver.core.schema import type_bounds

if TYPE_CHECKING:
    from louver.core.json import Json
    from louver.core.paths.mask import Mask


class Shape:
    """What was seen at the places of one inner node.

    Args:
        mask: The node.

    Attributes:
        kinds: The kinds of value.
        objects: How many objects.
        present: Of how many of them each child of the mask was a member.
        members: The shapes of members that are looked into.
        elements: The shape of elements, if they are looked into.
    """

    __slots__ = ("elements", "kinds", "mask", "members", "objects", "present")

    def __init__(self, mask: Mask) -> None:
        self.mask = mask
        self.kinds = 0
        self.objects = 0
        self.present: dict[str, int] = {}
        self.members: dict[str, Shape] = {}
        self.elements: Shape | None = None

    def learn(self, value: Json, most: int | None = None) -> None:
        """Widen by a value, looking at `most` elements of each array; at all of them by default.

        Raises:
            RecursionError: The value is too deep.
        """
        self.kinds |= type_bounds.kind_of(value)
        if is_object(value):
            self.objects += 1
            for name, below in self.mask.children.items():
                if name in value:
                    self.present[name] = self.present.get(name, 0) + 1
                    if below.is_inner():
                        self.members.setdefault(name, Shape(below)).learn(value[name], most)
        elif is_array(value) and self.mask.elem.is_inner():
            if self.elements is None:
                self.elements = Shape(self.mask.elem)
            step = 1 if most is None else max(1, len(value) // most)
            for element in value[::step]:
                self.elements.learn(element, most)

    def doubt(self) -> None:
        """Count on no member any more."""
        self.objects += 1
        for below in self.members.values():
            below.doubt()
        if self.elements is not None:
            self.elements.doubt()

    def is_certain(self, name: str) -> bool:
        """Whether every object had the member."""
        return self.present.get(name, 0) == self.objects
