"""The parts of a value at a path: what an include of the path keeps whole; and the longest array, with a page of it.

    items.id of {"items": [{"id": 1}, {"x": 2}, {"id": [3]}]}    is    1, [3]

Law: the same parts are found in what an include of the path keeps (`tests/core/paths/test_find.py`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Final

from louver.core.json import is_array, is_object
from louver.core.paths.path import FieldPath
from louver.limits import MAX_ARRAY_LEVELS, MAX_INFERRED_NAMES, MAX_SEGMENTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Set

    from louver.core.json import Json
    from louver.core.paths.path import Step


MAX_AUDITED_FIELDS = 256
"""Fields of one answer that an audit record names. A value can have a name for each row."""


FIELD_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
"""Names of fields that no schema declares. Others may be data, for example the keys of a map by address."""


def at_path(value: Json, path: FieldPath) -> Iterator[Json]:
    """Those of a path of names and wildcards."""
    # A part, how many steps lead to it, and the arrays directly around it.
    todo: list[tuple[Json, int, int]] = [(value, 0, 0)]
    names = path.names
    while todo:
        part, done, level = todo.pop()
        if done == len(names):
            yield part
        elif is_object(part):
            name = names[done]
            found = part.values() if name is None else [part[name]] if name in part else []
            todo += [(below, done + 1, 0) for below in reversed([*found])]
        elif is_array(part) and level < MAX_ARRAY_LEVELS:
            is_used_up = names[done] is None
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


def fields_of(value: Json, names: Set[str] | None) -> tuple[str, ...]:
    """Paths of all scalars and empty members, sorted, at most `MAX_AUDITED_FIELDS`.

    A name not in `names` is `*`; without `names` one that may be data, by itself or as one of so many in one place.
    """
    level: dict[tuple[Step, ...], list[Json]] = {(): [value]}
    found: set[tuple[Step, ...]] = set()
    # Level by level, all parts of one path together.
    while level and len(found) <= MAX_AUDITED_FIELDS:
        below: dict[tuple[Step, ...], list[Json]] = {}
        for steps, values in level.items():
            kinds = set(map(type, values))
            if kinds <= _SCALARS or len(steps) == MAX_SEGMENTS:
                found.add(steps)
                continue
            objects = [each for each in values if is_object(each) and each]
            arrays = [] if kinds == {dict} else [each for each in values if is_array(each) and each]
            if len(objects) + len(arrays) < len(values):
                found.add(steps)
            known = _undeclared_names(objects) if names is None else names
            if shared := _shared_names(objects, known):
                for name, members in _columns(objects, shared):
                    below.setdefault((*steps, name), []).extend(members)
            else:
                for each in objects:
                    for name, member in each.items():
                        path = (*steps, name if name in known else None)
                        if type(member) in _SCALARS:
                            found.add(path)
                        else:
                            below.setdefault(path, []).append(member)
            if arrays:
                below.setdefault((*steps, None), []).extend(chain.from_iterable(arrays))
        level = below
    # An empty object, or an empty array, has no fields.
    return tuple(sorted(map(_text, found if value not in ({}, []) else ())))[:MAX_AUDITED_FIELDS]


_SCALARS: Final = frozenset({str, int, float, bool, type(None)})


def _undeclared_names(objects: list[dict[str, Json]]) -> Set[str]:
    """The names in one place that are no data, as far as can be told without a schema."""
    found = set[str]().union(*objects)
    return frozenset() if len(found) > MAX_INFERRED_NAMES else frozenset(filter(FIELD_NAME.fullmatch, found))


def _shared_names(objects: list[dict[str, Json]], names: Set[str]) -> Set[str]:
    """The names that the objects have, by which to go through all at once; none if they share few, or are one."""
    if len(objects) < 2:
        return frozenset()
    known = names & set[str]().union(*objects)
    return known if len(known) * len(objects) <= 2 * sum(map(len, objects)) else frozenset()


def _columns(objects: list[dict[str, Json]], names: Set[str]) -> Iterator[tuple[Step, list[Json]]]:
    """The members of all objects, by name; those of other names together."""
    left = sum(map(len, objects))
    for name in names:
        members = [each[name] for each in objects if name in each]
        left -= len(members)
        yield name, members
    if left:
        yield None, [member for each in objects for name, member in each.items() if name not in names]


@lru_cache(maxsize=4096)
def _text(steps: tuple[Step, ...]) -> str:
    return str(FieldPath(steps))


@dataclass(frozen=True, slots=True)
class Found:
    """An array, and the names that lead to it; arrays on the way are looked through."""

    names: tuple[str, ...]
    items: list[Json]

    @property
    def path(self) -> FieldPath:
        return FieldPath(self.names)


def longest(value: Json, *, within_arrays: bool) -> Found | None:
    """The longest array of a value, the first of several; `None` if there is none."""
    found: Found | None = None
    todo: list[tuple[tuple[str, ...], Json]] = [((), value)]
    while todo:
        steps, part = todo.pop()
        if is_object(part):
            todo += [
                ((*steps, name), below) for name, below in reversed(part.items()) if isinstance(below, dict | list)
            ]
        elif is_array(part):
            if found is None or len(part) > len(found.items):
                found = Found(steps, part)
            if within_arrays:
                todo += [(steps, below) for below in reversed(part) if isinstance(below, dict | list)]
    return found


def with_items(value: Json, names: tuple[str, ...], items: list[Json]) -> Json:
    """A copy of `value` with other elements in the array that `names` lead to."""
    if not names:
        return items
    return {**value, names[0]: with_items(value[names[0]], names[1:], items)}
