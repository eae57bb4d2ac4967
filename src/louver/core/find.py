"""What stands at a path of a value: what an include of the path keeps whole.

    items.id of {"items": [{"id": 1}, {"x": 2}, {"id": [3]}]}    is    1, [3]

Law: of what an include of the path keeps, the same is found (`tests/core/test_find.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from louver.core.json import is_array, is_object
from louver.limits import MAX_ARRAY_LEVELS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from louver.core.json import Json
    from louver.core.path import FieldPath


def at_path(value: Json, path: FieldPath) -> Iterator[Json]:
    """The parts of `value` that stand at `path`, in its order."""
    # A part, how many steps lead to it, and in how many arrays it stands.
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
    """The scalars of a value as texts: strings as they are, others as JSON spells them; in its order."""
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
