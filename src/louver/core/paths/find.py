"""The parts of a value at a path: what an include of the path keeps whole.

    items.id of {"items": [{"id": 1}, {"x": 2}, {"id": [3]}]}    is    1, [3]

Law: the same parts are found in what an include of the path keeps (`tests/core/test_find.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from louver.core.json import is_array, is_object
from louver.core.paths.path import FieldPath
from louver.limits import MAX_ARRAY_LEVELS, MAX_AUDITED_FIELDS, MAX_SEGMENTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Set

    from louver.core.json import Json
    from louver.core.paths.path import Step


def at_path(value: Json, path: FieldPath) -> Iterator[Json]:
    # A part, how many steps lead to it, and the arrays directly around it.
    todo: list[tuple[Json, int, int]] = [(value, 0, 0)]
    while todo:
        part, done, level = todo.pop()
        if done == len(path.steps):
            yield part
        elif is_object(part):
            name = path.steps[done]
            found = part.values() if name is None else [part[name]] if name in part else []
            todo += [(below, done + 1, 0) for below in reversed([*found])]
        elif is_array(part) and level < MAX_ARRAY_LEVELS:
            is_used_up = path.steps[done] is None
            todo += [(below, done + is_used_up, level + 1) for below in reversed(part)]


def leaves(value: Json) -> Iterator[str]:
    """The scalars of a value as texts, in their order: strings unchanged, others as JSON."""
    todo = [value]
    while todo:
        part = todo.pop()
        if is_object(part):
            todo += reversed(part.values())
        elif is_array(part):
            todo += reversed(part)
        elif isinstance(part, str):
            yield part
        elif part is None or isinstance(part, bool):
            yield "null" if part is None else "true" if part else "false"
        else:
            yield str(part)


def fields_of(value: Json, names: Set[str]) -> tuple[str, ...]:
    """Paths of all scalars and empty members, sorted, at most `MAX_AUDITED_FIELDS`; a name not in `names` is `*`."""
    level: dict[tuple[Step, ...], list[Json]] = {(): [value]}
    found: set[tuple[Step, ...]] = set()
    # Level by level, all parts of one path together: a long list costs one step for each element.
    while level and len(found) <= MAX_AUDITED_FIELDS:
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
    return tuple(sorted(str(FieldPath(steps)) for steps in found))[:MAX_AUDITED_FIELDS]
