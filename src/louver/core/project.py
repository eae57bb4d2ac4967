"""What is left of a value under a mask: the interpreter.

Plain on purpose: it is the oracle that every faster form is held against.
It keeps structure and renames nothing::

    include items.id of {"items": [{"id": 1, "x": 2}, 7, null]}
                  is    {"items": [{"id": 1}, null, null]}

Laws (`tests/core/test_laws.py`): projecting twice is projecting once; the order
of paths does not matter; what an include keeps and an exclude of the same
leaves keeps are together every scalar of the value, each once.
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
    """The kept part of `value`.

    Args:
        value: Any JSON value, nested to any depth; not changed.
        mask: What is kept.
        order: The order of members, where it is not that of code points.

    Returns:
        A value of the same structure. Parts that are kept whole are shared with
        `value`, not copied. A scalar root of which a field was asked is `None`;
        a root that is left out is `{}`, `[]` or `None`.
    """
    if mask is NONE:
        return emptied(value)
    if is_missing(value, mask):
        return None
    order = order or {}
    root: list[Any] = [None]
    # A place to fill, what fills it, and in how many arrays it stands. An explicit stack: values may be of any depth.
    todo: list[tuple[Any, Any, Json, Mask, int]] = [(root, 0, value, mask, 0)]
    while todo:
        into, key, value, mask, level = todo.pop()
        if mask is ALL or not (is_object(value) or is_array(value)):
            into[key] = value
        elif is_object(value):
            kept: dict[str, Any] = {}
            for name in _names(value, mask, order):
                below = mask.child(name)
                if below is not NONE and not is_missing(value[name], below):
                    kept[name] = None
                    todo.append((kept, name, value[name], below, 0))
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
    """What is left of a value of which everything is left out."""
    return {} if isinstance(value, dict) else [] if isinstance(value, list) else None


def is_missing(value: Json, mask: Mask, level: int = 0) -> bool:
    """Whether a field of `value` is asked for, and `value` is a scalar, or an array too deep in arrays."""
    if not mask.is_inner() or mask.exclude or value is None or isinstance(value, dict):
        return False
    return not isinstance(value, list) or level == MAX_ARRAY_LEVELS


def _names(value: dict[str, Any], mask: Mask, order: Mapping[Mask, tuple[str, ...]]) -> list[str]:
    """The members to look at, in the order in which they are written."""
    if mask.other is not NONE or mask.exclude:
        return list(value)
    return [name for name in order.get(mask, mask.children) if name in value]
