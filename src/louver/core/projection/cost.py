"""The cost of a plan, counted before it is made: what it reads of the schema, and the states of its field paths.

    184 kB, 2,900 schema objects    id, user.login    29,000
                                    **.x              75,000
                                    256 such paths    1,600,000

One is about a microsecond. A wildcard reads all of the schema, and so does a name at any depth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from louver.core.json import is_array, is_object, levels
from louver.core.paths.mask import MAX_ROW_STEPS, mask_steps
from louver.core.paths.rows import Pick
from louver.limits import MAX_MASK_STEPS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from louver.core.json import Schema
    from louver.core.paths.path import FieldPath
    from louver.core.projection.request import Projection
    from louver.core.projection.view import Views

MAX_COUNTED_STEPS = 2_000
"""Steps of a mask that are counted before it is made, in 1 ms; beyond that it counts as `MAX_MASK_STEPS`."""


# Measured on real and hostile schemas, in microseconds.
_COPIED, _WALKED = 8, 24  # a schema object, without and with wildcards
_STEP, _STEP_WITHOUT_SCHEMA = 20, 4
_ELEMENTS_AN_OBJECT = 8


def count_objects(schema: Schema | None) -> int:
    """The objects of a schema, its constants included; eight elements of a list, such as an `enum`, count as one."""
    if schema is None:
        return 0
    parts = [part for level in levels(schema) for part in level]
    return sum(map(is_object, parts)) + sum(map(len, filter(is_array, parts))) // _ELEMENTS_AN_OBJECT


def plan_cost(projection: Projection, views: Views, objects: int) -> int:
    """The cost of a plan for a schema of so many objects, none without a schema; at least 1, as for an unknown view."""
    if projection.mode != "view":
        include, exclude = (projection.fields, ()) if projection.mode == "include" else ((), projection.fields)
    elif (view := views.named.get(projection.name or "")) is not None:
        include, exclude = view.include, view.exclude
    else:
        return 1
    return _cost(objects, (*include, *views.always) if include else (), exclude)


def _cost(objects: int, include: Sequence[FieldPath], exclude: Sequence[FieldPath]) -> int:
    paths = (*include, *exclude)
    wildcards = sum(sum(not isinstance(step, str) for step in path.steps) + path.deep for path in paths)
    steps = wildcards + sum(len(path.steps) for path in paths)
    # The elements of an array are read for each set of steps that may select them.
    picks = {step for path in paths for step in path.steps if isinstance(step, Pick) and step.rows}
    reading = objects * ((_WALKED if wildcards else _COPIED) + wildcards + len(paths)) << min(len(picks), MAX_ROW_STEPS)
    return 1 + reading + steps * (_STEP if objects else _STEP_WITHOUT_SCHEMA) + _states(include, exclude, wildcards)


def _states(include: Sequence[FieldPath], exclude: Sequence[FieldPath], wildcards: int) -> int:
    """The steps of the masks. Only several wildcards make more states than there are steps."""
    if wildcards < 2:
        return 0
    counted = (
        mask_steps(include, MAX_COUNTED_STEPS, exclude=False),
        mask_steps(exclude, MAX_COUNTED_STEPS, exclude=True),
    )
    return sum(MAX_MASK_STEPS if steps is None else steps for steps in counted)
