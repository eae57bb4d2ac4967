"""The rows of a kept result, the elements of its longest array: sorted by a field, or the values of a field counted.

sort_by -comments    numbers, then texts, then booleans, each descending; then the rows without such a value
count_by state       [{"value": "open", "count": 9}, {"value": null, "count": 1}]

A field is named within a row, or from the root, as previews name it: `issues.comments`. Rows are sorted before fields
are left out, so also by those: what is kept is what its caller may see.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from functools import reduce
from operator import getitem, itemgetter
from typing import TYPE_CHECKING, Any, Final

from louver.core.json import is_array, is_object
from louver.core.nearest import instead
from louver.core.paths.find import Found, at_path, longest, with_items
from louver.core.paths.mask import include_mask
from louver.core.paths.path import FieldPath
from louver.core.preview.field_sizes import weigh
from louver.core.project import project
from louver.errors import InvalidArguments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from louver.core.json import Json
    from louver.core.paths.path import Step
    from louver.core.projection.plan import Plan
    from louver.wire.results import RowQuery

_ORDER: Final[dict[type, int]] = {int: 0, float: 0, str: 1, bool: 2}
_NO_SCALAR: Final = "holds objects or arrays"


def queried(query: RowQuery, value: Json, rows: Found | None, whole: Json, plan: Plan) -> tuple[Json, Found, int]:
    """The value with the queried rows, or the counts instead; these as an array; and how many it had before a limit.

    `value` is what `plan` keeps of `whole`, and `rows` its longest array. `InvalidArguments`: there is no answer.
    """
    if rows is None:
        raise _no_rows(query, whole)
    if query.count_by is not None:
        value = counted(rows, query.count_by)
        rows = Found((), value)
    elif query.sort_by is not None:
        if "select" in (plan.shaped or {}):
            raise InvalidArguments("'sort_by' goes with fields, or with a view that renames none", argument="sort_by")
        in_order = sorted_rows(_rows_at(whole, rows.names), query.sort_by)
        value = plan(with_items(whole, rows.names, in_order))
        rows = _rows_at(value, rows.names)
    first, count = rows.items[: query.limit], len(rows.items)
    if len(first) < count:
        value = with_items(value, rows.names, first)
    return value, Found(rows.names, first), count


def sorted_rows(rows: Found, sort_by: str) -> list[Json]:
    """The rows in the order of a field, those with equal values as they were; `InvalidArguments` if it gives none."""
    text = sort_by.removeprefix("-")
    by_type: list[list[tuple[Any, Json]]] = [[], [], [], []]
    for row, values in zip(rows.items, _values(rows, text, "sort_by"), strict=True):
        if len(values) > 1:
            raise _wrong(rows, text, "sort_by", "has several values in an element")
        value = values[0] if values else None
        by_type[_ORDER.get(value.__class__, -1)].append((value, row))
    *comparable, others = by_type
    if not any(comparable) and any(value is not None for value, _ in others):
        raise _wrong(rows, text, "sort_by", _NO_SCALAR)
    for each in comparable:
        each.sort(key=itemgetter(0), reverse=sort_by != text)
    return [row for each in by_type for _, row in each]


def counted(rows: Found, count_by: str) -> list[Json]:
    """How often a field has each value, most frequent first; `InvalidArguments` if some value is no scalar.

    A row without the field counts as null, and one that has several values, in an array, with each.
    """
    values = [each for several in _values(rows, count_by, "count_by") for each in several or [None]]
    if any(is_object(each) or is_array(each) for each in values):
        raise _wrong(rows, count_by, "count_by", _NO_SCALAR)
    # In Python `True == 1`.
    counts = Counter((isinstance(each, bool), each) for each in values)
    return [{"value": value, "count": count} for (_, value), count in counts.most_common()]


def counted_field(value: Json, count_by: str) -> Json:
    """A value that was counted, with the counted field alone."""
    rows = longest(value, within_arrays=False)
    assert rows is not None
    return project(value, include_mask([FieldPath((*rows.names, *_within_row(rows, count_by).steps))]))


def _rows_at(value: Json, names: tuple[str, ...]) -> Found:
    return Found(names, reduce(getitem, names, value))


def _no_rows(query: RowQuery, whole: Json) -> InvalidArguments:
    argument = next(name for name, value in asdict(query).items() if value is not None)
    found = longest(whole, within_arrays=False)
    right = "leave it out" if found is None else f"name fields of {str(found.path)!r}"
    message = f"{argument!r} is about the elements of an array, and this part has none: {right}"
    return InvalidArguments(message, argument=argument)


def _within_row(rows: Found, text: str) -> FieldPath:
    """The path of a field within a row. It is written from the root if no row has a field of that name."""
    path, above = FieldPath.parse(text), rows.names
    if not above or path.steps[: len(above)] != above or any(is_object(row) and above[0] in row for row in rows.items):
        return path
    steps = path.steps[len(above) :]
    return FieldPath(steps[1:] if steps[:1] == (None,) else steps)


def _values(rows: Found, text: str, argument: str) -> list[list[Json]]:
    """The values of a field in each row; several where its path leads through an array."""
    path = _within_row(rows, text)
    found = [[*at_path(row, path)] for row in rows.items]
    if rows.items and not any(found):
        raise _wrong(rows, text, argument, "is in no element")
    return found


def _wrong(rows: Found, text: str, argument: str, problem: str) -> InvalidArguments:
    fields = [*_fields(rows.items, is_sorting=argument == "sort_by")]
    below = [each for each in fields if each.startswith(f"{text}.")]
    return InvalidArguments(
        f"{argument!r}: the field {text[:80]!r} {problem}: {instead(text, below or fields)}", argument=argument
    )


def _fields(rows: list[Json], *, is_sorting: bool) -> Iterator[str]:
    """Paths within a row that lead to scalars; of those that can be sorted by, none leads through an array."""
    if any(type(row) in _ORDER for row in rows):
        yield "*"
    arrays: set[tuple[Step, ...]] = set()
    for weight in weigh(rows):
        steps, is_array_here = weight.path.steps, "array" in weight.kinds
        is_in_array = steps[:-1] in arrays
        if is_in_array or is_array_here:
            arrays.add(steps)
        if is_sorting and is_in_array:
            continue
        if not {"array", "object", "null"}.issuperset(weight.kinds):
            yield str(weight.path)
        if is_array_here and weight.is_leaf and not is_sorting:
            yield f"{weight.path}.*"
