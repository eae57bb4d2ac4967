"""Compiled projections: closures at first, generated code once values are known.

1. `project`, the interpreter: for any value of any depth;
2. closures: for any value within Python's limit of recursion;
3. generated code: for values of the shape seen so far (`louver.core.projection.codegen`).

It learns the shape of the first values, and makes code for that. An unexpected value goes to the closures and widens
it, and the next code is made. This ends: the code of the last generation expects no member, and nothing is learnt from
the values that it does not take.

Law: of JSON as `json.loads` returns it, all three keep the same (`tests/core/projection/test_compile.py`).
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from louver.core.json import is_array, is_object
from louver.core.paths.mask import ALL, NONE, Mask
from louver.core.project import emptied, project
from louver.core.projection.codegen import NotSpecial, generated
from louver.core.projection.shape import Shape
from louver.limits import MAX_ARRAY_LEVELS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from louver.core.json import Json


MAX_GENERATIONS = 8
"""How often code is generated for one plan. The last code expects nothing, and stays."""

FIRST_CALLS = 3
FIRST_ELEMENTS = 300
"""Values, or elements of the root's arrays, that a plan learns from before code is generated."""

MAX_SHAPE_SAMPLES = 64
"""Elements of each array that a plan learns from at first."""


class Compiled:
    """`project(value, mask, order)` as a function of the value, in its current form: `keep`."""

    def __init__(self, mask: Mask, order: Mapping[Mask, tuple[str, ...]]) -> None:
        self.reads_root = any(pick.reads_root for node in mask.nodes() for pick in node.rows)
        walk = closures(mask, order)

        def general(value: Json) -> Json:
            if self.reads_root:
                return project(value, mask, order)
            try:
                return walk(value)
            except RecursionError:
                return project(value, mask, order)

        self._general, self._order = general, order
        self._shape = Shape(mask)
        self._calls = 0
        self._generations = 0
        # A mask that keeps all or nothing has nothing to learn.
        self.keep: Callable[[Json], Json] = self._first if mask.is_inner and not self.reads_root else general

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
            self.keep = generated(self._order, self._shape, otherwise, is_first=self._generations == 1)


def _size(value: Json) -> int:
    """The length of the longest array at the root or directly below it."""
    if is_array(value):
        return len(value)
    if is_object(value):
        return max((len(member) for member in value.values() if is_array(member)), default=0)
    return 0


_SCALARS = frozenset({str, int, float, bool, type(None)})
# The result of a node for a value that has no such fields.
_MISSING: Any = object()


def closures(mask: Mask, order: Mapping[Mask, tuple[str, ...]]) -> Callable[[Json], Json]:
    """The function that keeps what `project` keeps; it raises `RecursionError` for a value that is too deep."""
    if mask is NONE:
        return emptied
    if mask is ALL:
        return _same
    node = _Closures(order).node(mask)

    def keep(value: Json) -> Json:
        kept = node(value, 0)
        if kept is _MISSING:
            return emptied(value) if mask.is_sparse else None
        return kept

    return keep


def _same(value: Json) -> Json:
    return value


def _excluding_everywhere(gone: frozenset[str]) -> Callable[[Json, int], Any]:
    """The function of a node that leaves out these members at any depth."""

    def keep(value: Json, level: int) -> Any:
        if is_object(value):
            return {
                name: member if member.__class__ in _SCALARS else keep(member, 0)
                for name, member in value.items()
                if name not in gone
            }
        if is_array(value):
            return [element if element.__class__ in _SCALARS else keep(element, 0) for element in value]
        return value

    return keep


class _Closures:
    def __init__(self, order: Mapping[Mask, tuple[str, ...]]) -> None:
        self._order = order
        self._made: dict[Mask, Callable[[Json, int], Any]] = {}

    def node(self, mask: Mask) -> Callable[[Json, int], Any]:
        """The function of an inner node: of a value and the number of arrays around it."""
        made = self._made.get(mask)
        if made is None:
            # A node can lead back to itself, so its function is looked up when it is called.
            self._made[mask] = lambda value, level: self._made[mask](value, level)
            made = self._made[mask] = self._excluding(mask) if mask.exclude else self._including(mask)
        return made

    def _below(self, mask: Mask) -> Callable[[Json, int], Any] | None:
        return None if mask is ALL else self.node(mask)

    def _including(self, mask: Mask) -> Callable[[Json, int], Any]:
        members = self._named(mask) if mask.other is NONE else self._any(mask)
        elements = self._elements(mask)

        def keep(value: Json, level: int) -> Any:
            if is_object(value):
                return members(value)
            if is_array(value) and level < MAX_ARRAY_LEVELS:
                return elements(value, level + 1)
            return None if value is None else _MISSING

        return (lambda value, level: keep(value, level) or _MISSING) if mask.is_sparse else keep

    def _excluding(self, mask: Mask) -> Callable[[Json, int], Any]:
        if mask.other is mask.elem is mask and not mask.rows and all(node is NONE for node in mask.children.values()):
            return _excluding_everywhere(frozenset(mask.children))
        members = self._others(mask)
        elements = self._elements(mask)

        def keep(value: Json, level: int) -> Any:
            if is_object(value):
                return members(value)
            return elements(value, level) if is_array(value) else value

        return keep

    def _named(self, mask: Mask) -> Callable[[dict[str, Any]], dict[str, Any]]:
        names = self._order.get(mask, tuple(mask.children))
        below = [(name, self._below(mask.children[name])) for name in names]

        def keep(value: dict[str, Any]) -> dict[str, Any]:
            kept: dict[str, Any] = {}
            for name, part_of in below:
                if name in value:
                    part = value[name] if part_of is None else part_of(value[name], 0)
                    if part is not _MISSING:
                        kept[name] = part
            return kept

        return keep

    def _any(self, mask: Mask) -> Callable[[dict[str, Any]], dict[str, Any]]:
        below = {name: self._below(node) for name, node in mask.children.items()}
        other = self._below(mask.other)

        def keep(value: dict[str, Any]) -> dict[str, Any]:
            kept: dict[str, Any] = {}
            for name, member in value.items():
                part_of = below.get(name, other)
                part = member if part_of is None else part_of(member, 0)
                if part is not _MISSING:
                    kept[name] = part
            return kept

        return keep

    def _others(self, mask: Mask) -> Callable[[dict[str, Any]], dict[str, Any]]:
        gone = frozenset(name for name, node in mask.children.items() if node is NONE)
        below = {name: self._below(node) for name, node in mask.children.items() if node is not NONE}
        if mask.other is NONE:
            return lambda value: {}
        other = self._below(mask.other)

        def keep(value: dict[str, Any]) -> dict[str, Any]:
            kept: dict[str, Any] = {}
            for name, member in value.items():
                if name not in gone:
                    part_of = below.get(name, other)
                    # An exclude leaves a scalar unchanged, and most members are scalars.
                    if part_of is None or member.__class__ in _SCALARS:
                        kept[name] = member
                    else:
                        kept[name] = part_of(member, 0)
            return kept

        return keep

    def _rows(self, mask: Mask) -> Callable[[list[Any], int], list[Any]]:
        below = {node: self._below(node) for node in mask.of_elements if node is not NONE}

        def keep(value: list[Any], level: int) -> list[Any]:
            kept: list[Any] = []
            for element, node in mask.each(value, None):
                if node in below:
                    part_of = below[node]
                    part = element if part_of is None else part_of(element, level)
                    if part is not _MISSING:
                        kept.append(part)
            return kept

        return keep

    def _elements(self, mask: Mask) -> Callable[[list[Any], int], list[Any]]:
        if mask.drops:
            return self._rows(mask)
        if mask.elem is NONE:
            return lambda value, level: []
        if mask.elem is ALL:
            return lambda value, level: value
        part_of = self.node(mask.elem)

        def keep(value: list[Any], level: int) -> list[Any]:
            parts = [part_of(element, level) for element in value]
            return [None if part is _MISSING else part for part in parts] if _MISSING in parts else parts

        return keep
