"""Field sizes: the types, the presence and the bytes of each field of a value.

    {"total": 2, "items": [{"id": 1, "note": null}, {"id": 2, "note": "hello"}]}
    items         array of 2    45 bytes
    items.note    null, string  in 2 of 2    21 bytes

All elements of an array count together. So do all members of an object with very many names, a map: as the field `*`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from louver.core.json import compact_bytes, is_array, is_object
from louver.core.paths.path import FieldPath
from louver.limits import MAX_INFERRED_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from louver.core.json import Json
    from louver.core.paths.path import Step

MAX_WEIGHED_DEPTH = 6
"""Names deep that fields are measured, each again as a part of its parents."""


@dataclass(frozen=True, slots=True)
class Weight:
    path: FieldPath  # elements of arrays are looked through
    kinds: tuple[str, ...]  # JSON types, sorted
    seen: int  # objects that have it
    of: int  # objects that could
    bytes: int  # of names and values as compact JSON, everything below included
    nulls: int
    longest: int  # characters of the longest string, or 0
    is_constant: bool  # more than one value, all equal
    is_leaf: bool  # no field below it is listed: there is none, or it is too deep


def weigh(value: Json) -> list[Weight]:
    """The fields of a value, parents first; below `MAX_WEIGHED_DEPTH` names they only count as part of their parent."""
    return [*_weights((), _objects([value]), MAX_WEIGHED_DEPTH)]


def size_of(value: Json) -> int:
    return len(compact_bytes(value))


@dataclass(slots=True)
class _Field:
    values: list[Json] = field(default_factory=list[Any])
    bytes: int = 0


def _weights(above: tuple[Step, ...], objects: Sequence[dict[str, Json]], depth: int) -> Iterator[Weight]:
    found: dict[Step, _Field] = {}
    is_map = len({name for each in objects for name in each}) > MAX_INFERRED_NAMES
    for each in objects:
        for name, value in each.items():
            known = found.setdefault(None if is_map else name, _Field())
            known.values.append(value)
            known.bytes += size_of({name: value}) - 2
    for step, known in found.items():
        below = _objects(known.values)
        path = FieldPath((*above, step))
        yield _weight(path, known, len(known.values) if is_map else len(objects), is_leaf=depth == 1 or not any(below))
        if depth > 1:
            yield from _weights(path.steps, below, depth - 1)


def _weight(path: FieldPath, known: _Field, of: int, *, is_leaf: bool) -> Weight:
    values = known.values
    return Weight(
        path,
        tuple(sorted({_kind(value) for value in values})),
        seen=len(values),
        of=of,
        bytes=known.bytes,
        nulls=sum(value is None for value in values),
        longest=max((len(value) for value in values if isinstance(value, str)), default=0),
        is_constant=len(values) > 1 and all(_is_same(value, values[0]) for value in values),
        is_leaf=is_leaf,
    )


def _objects(values: Sequence[Json]) -> list[dict[str, Json]]:
    found: list[dict[str, Json]] = []
    todo = list(values)[::-1]
    while todo:
        value = todo.pop()
        if is_object(value):
            found.append(value)
        elif is_array(value):
            todo += value[::-1]
    return found


def _is_same(one: Json, other: Json) -> bool:
    # In Python `True == 1`.
    return one == other and _kind(one) == _kind(other)


_KINDS: Final = {type(None): "null", bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}


def _kind(value: Json) -> str:
    return _KINDS.get(value.__class__, "object")
