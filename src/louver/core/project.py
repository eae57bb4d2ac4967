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


def project(value: Json, mask: Mask, order: Mapping[Mask, tuple[str, ...]] | None = None) -> Json:
    """The kept part of `value`. Wholly kept parts are shared, not copied; `order` is that of an include's members."""
    if mask is NONE:
        return emptied(value)
    if is_missing(value, mask):
        return None
    order = order or {}
    root: list[Any] = [None]
    # Container, key, value, mask, and the arrays around it. An explicit stack: values may be of any depth.
    todo: list[tuple[Any, Any, Json, Mask, int]] = [(root, 0, value, mask, 0)]
    while todo:
        into, key, value, mask, level = todo.pop()
        if mask is ALL or not (is_object(value) or is_array(value)):
            into[key] = value
        elif is_object(value):
            kept: dict[str, Any] = {}
            for name in _names(value, mask, order):
                below, part = mask.child(name), value[name]
                if below is ALL:
                    kept[name] = part
                elif below is not NONE and not is_missing(part, below):
                    kept[name] = None
                    todo.append((kept, name, part, below, 0))
            into[key] = kept
        elif mask.elem is NONE:
            into[key] = []
        else:
            elements: list[Any] = [None] * len(value)
            for position, element in enumerate(value):
                if not is_missing(element, mask.elem, level + 1):
                    todo.append((elements, position, element, mask.elem, level + 1))
            into[key] = elements
    return root[0]


def emptied(value: Json) -> Json:
    """A value with everything left out: `{}`, `[]`, or `None` for a scalar."""
    return {} if isinstance(value, dict) else [] if isinstance(value, list) else None


def is_missing(value: Json, mask: Mask, level: int = 0) -> bool:
    """Whether an include looks for fields in `value` where there are none: in a scalar, or too deep in arrays."""
    if not mask.is_inner or mask.exclude or value is None or isinstance(value, dict):
        return False
    return not isinstance(value, list) or level == MAX_ARRAY_LEVELS


def _names(value: dict[str, Any], mask: Mask, order: Mapping[Mask, tuple[str, ...]]) -> list[str]:
    if mask.other is not NONE or mask.exclude:
        return list(value)
    return [name for name in order.get(mask, mask.children) if name in value]
