"""The interpreter: the kept part of a value under a mask. Every faster form is tested against it.

    include items.id of {"items": [{"id": 1, "x": 2}, 7, null]}    is    {"items": [{"id": 1}, null, null]}

Laws (`tests/core/test_laws.py`): projecting twice is projecting once; the order of paths does not matter; an include
and an exclude of the same leaves together keep every scalar, each once. Structure stays, and nothing is renamed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from louver.core.json import is_array, is_object
from louver.core.paths.mask import ALL, NONE, Mask
from louver.limits import MAX_ARRAY_LEVELS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from louver.core.json import Json


def project(value: Json, mask: Mask, order: Mapping[Mask, tuple[str, ...]] | None = None, whole: Json = None) -> Json:
    """The kept part of `value`. Wholly kept parts are shared, not copied; `order` is that of an include's members.

    `whole`: what `$` in a test is, if not `value`.
    """
    if mask is NONE:
        return emptied(value)
    if is_missing(value, mask):
        return None
    return _Walk(order or {}, value if whole is None else whole).kept(value, mask)


class _Walk:
    """One projection. An explicit stack: values may be of any depth."""

    def __init__(self, order: Mapping[Mask, tuple[str, ...]], whole: Json) -> None:
        self._order = order
        self._whole = whole
        # Container, key, value, mask, and the arrays around it.
        self._todo: list[tuple[Any, Any, Json, Mask, int]] = []
        self._sparse: list[
            tuple[Any, Any]
        ] = []  # containers and keys of sparse places, those around before those within
        self._thinned: list[list[Any]] = []  # arrays with rows that may be gone

    def kept(self, value: Json, mask: Mask) -> Json:
        root: list[Any] = [None]
        self._todo.append((root, 0, value, mask, 0))
        while self._todo:
            into, key, value, mask, level = self._todo.pop()
            if mask is ALL:
                into[key] = value
            elif is_object(value):
                into[key] = self._members(value, mask)
            elif not is_array(value):
                into[key] = value
            elif mask.drops:
                into[key] = self._rows(value, mask, level + 1)
            else:
                into[key] = [] if mask.elem is NONE else self._elements(value, mask.elem, level + 1)
        self._leave_out()
        return root[0]

    def _members(self, value: dict[str, Any], mask: Mask) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for name in _names(value, mask, self._order):
            below, part = mask.child(name), value[name]
            if below is ALL:
                kept[name] = part
            elif below is not NONE and not is_missing(part, below):
                kept[name] = None
                self._put(kept, name, part, below, 0)
        return kept

    def _rows(self, value: list[Any], mask: Mask, level: int) -> list[Any]:
        kept: list[Any] = []
        for element, below in mask.each(value, self._whole):
            if below is not NONE and not is_missing(element, below, level):
                kept.append(None)
                self._put(kept, len(kept) - 1, element, below, level)
        self._thinned.append(kept)
        return kept

    def _elements(self, value: list[Any], mask: Mask, level: int) -> list[Any]:
        kept: list[Any] = [None] * len(value)
        for position, element in enumerate(value):
            if not is_missing(element, mask, level):
                self._put(kept, position, element, mask, level)
        return kept

    def _put(self, into: Any, key: Any, value: Json, mask: Mask, level: int) -> None:
        self._todo.append((into, key, value, mask, level))
        if mask.is_sparse:
            self._sparse.append((into, key))

    def _leave_out(self) -> None:
        """Leave out the sparse places that hold nothing."""
        for into, key in reversed(self._sparse):
            if all(each is _GONE for each in (into[key].values() if is_object(into[key]) else into[key])):
                into[key] = _GONE
        for into, key in self._sparse:
            if is_object(into) and into[key] is _GONE:
                del into[key]
        for rows in self._thinned:
            rows[:] = [each for each in rows if each is not _GONE]


_GONE: Any = object()


def emptied(value: Json) -> Json:
    """A value with everything left out: `{}`, `[]`, or `None` for a scalar."""
    return {} if isinstance(value, dict) else [] if isinstance(value, list) else None


def is_missing(value: Json, mask: Mask, level: int = 0) -> bool:
    """Whether an include looks for fields in `value` where there are none: in a scalar, or too deep in arrays."""
    if not mask.is_inner or mask.exclude or isinstance(value, dict):
        return False
    if value is None:
        return mask.is_sparse
    return not isinstance(value, list) or level == MAX_ARRAY_LEVELS


def _names(value: dict[str, Any], mask: Mask, order: Mapping[Mask, tuple[str, ...]]) -> list[str]:
    if mask.other is not NONE or mask.exclude:
        return list(value)
    return [name for name in order.get(mask, mask.children) if name in value]
