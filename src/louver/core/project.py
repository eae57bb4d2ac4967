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
from louver.core.mask import ALL, NONE, Mask

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
        return {} if isinstance(value, dict) else [] if isinstance(value, list) else None
    if _is_missing(value, mask):
        return None
    order = order or {}
    root: list[Any] = [None]
    # A place to fill, and what fills it. An explicit stack: values may be of any depth.
    todo: list[tuple[Any, Any, Json, Mask]] = [(root, 0, value, mask)]
    while todo:
        into, key, value, mask = todo.pop()
        if mask is ALL or not (is_object(value) or is_array(value)):
            into[key] = value
        elif is_object(value):
            kept: dict[str, Any] = {}
            for name in _names(value, mask, order):
                below = mask.child(name)
                if below is not NONE and not _is_missing(value[name], below):
                    kept[name] = None
                    todo.append((kept, name, value[name], below))
            into[key] = kept
        elif mask.elem is NONE:
            into[key] = []
        else:
            elements: list[Any] = [None] * len(value)
            for position, element in enumerate(value):
                if not _is_missing(element, mask.elem):
                    todo.append((elements, position, element, mask.elem))
            into[key] = elements
    return root[0]


def _is_missing(value: Json, mask: Mask) -> bool:
    """Whether a field of `value` is asked for, and `value` is a scalar that has none."""
    return mask.is_inner() and not mask.exclude and value is not None and not isinstance(value, dict | list)


def _names(value: dict[str, Any], mask: Mask, order: Mapping[Mask, tuple[str, ...]]) -> list[str]:
    """The members to look at, in the order in which they are written."""
    if mask.other is not NONE or mask.exclude:
        return list(value)
    return [name for name in order.get(mask, mask.children) if name in value]
