"""Which fields a value has, by the names that a schema speaks of: what may be written down of it.

::

    names   {"orders", "total", "by_day"}
    value   {"orders": [{"total": 3}, {"total": 5}], "by_day": {"2026-01-01": 7}}
    fields  by_day.*, orders.*.total

A name that no schema speaks of may be data, so it is told as `*`. Source: PRIVACY.md, "Audit" and P15.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from louver.core.json import is_array, is_object
from louver.core.path import FieldPath
from louver.limits import MAX_SEGMENTS, MAX_TOLD_FIELDS

if TYPE_CHECKING:
    from collections.abc import Set

    from louver.core.json import Json
    from louver.core.path import Step


def fields_of(value: Json, names: Set[str]) -> tuple[str, ...]:
    """The paths of all scalars, and of members that are empty, in their order; `MAX_TOLD_FIELDS` at most.

    Args:
        value: Any JSON value.
        names: Those that may be told.
    """
    level: dict[tuple[Step, ...], list[Json]] = {(): [value]}
    found: set[tuple[Step, ...]] = set()
    # Level by level, and all that has one path together: a long list costs one step for each element, and no more.
    while level and len(found) <= MAX_TOLD_FIELDS:
        below: dict[tuple[Step, ...], list[Json]] = {}
        for steps, values in level.items():
            for each in values:
                if is_object(each) and each and len(steps) < MAX_SEGMENTS:
                    for name, member in each.items():
                        below.setdefault((*steps, name if name in names else None), []).append(member)
                elif is_array(each) and each and len(steps) < MAX_SEGMENTS:
                    below.setdefault((*steps, None), []).extend(each)
                elif steps or not (is_object(each) or is_array(each)):
                    found.add(steps)
        level = below
    return tuple(sorted(str(FieldPath(steps)) for steps in found))[:MAX_TOLD_FIELDS]
