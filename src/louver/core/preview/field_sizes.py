"""Where the bytes of a value lie: each field with its kinds, how often it is there, and what it weighs.

    {"total": 2, "items": [{"id": 1, "note": null}, {"id": 2, "note": "hello"}]}

    items         array of 2    45 bytes
    items.id      integer       in 2 of 2    12 bytes
    items.note    null, string  in 2 of 2    21 bytes
    total         integer       in 1 of 1     9 bytes

Elements of arrays are looked at together. Where names are so many that they are data (a map by id) they are one field,
`*`. A field's weight is that of its name and value in JSON without white space, with all that stands in it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from louver.core.json import compact, is_array, is_object
from louver.core.paths.path import FieldPath
from louver.limits import MAX_INFERRED_NAMES, MAX_WEIGHED_DEPTH

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from louver.core.json import Json
    from louver.core.paths.path import Step


@dataclass(frozen=True, slots=True)
class Weight:
    """One field.

    Args:
        path: Where it stands; elements of arrays are looked through.
        kinds: JSON types that were seen, sorted.
        seen: How many objects have it.
        of: How many could.
        bytes: What it weighs, all told.
        nulls: How often it is null.
        longest: The characters of its longest text; 0 if there is none.
        is_constant: Whether it has one value, and was seen more than once.
        is_leaf: Whether no field that stands in it is told, for there is none, or it lies too deep.
    """

    path: FieldPath
    kinds: tuple[str, ...]
    seen: int
    of: int
    bytes: int
    nulls: int
    longest: int
    is_constant: bool
    is_leaf: bool


def weigh(value: Json) -> list[Weight]:
    """The fields of a value, each before those that stand in it; none if it holds no objects.

    Args:
        value: The value. What lies deeper than `MAX_WEIGHED_DEPTH` names counts to what it stands in.
    """
    return [*_weights((), _objects([value]), MAX_WEIGHED_DEPTH)]


def size_of(value: Json) -> int:
    """The bytes of a value in JSON without white space."""
    return len(compact(value).encode("utf-8", "surrogatepass"))


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
    """The objects among values, and among the elements of arrays, however deep."""
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
    # In Python `True` is 1.
    return one == other and _kind(one) == _kind(other)


_KINDS: Final = {type(None): "null", bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}


def _kind(value: Json) -> str:
    return _KINDS.get(value.__class__, "object")
