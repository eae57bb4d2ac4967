"""Which fields a value has."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from louver.core.paths.find import MAX_AUDITED_FIELDS, fields_of
from louver.core.paths.path import FieldPath
from louver.limits import MAX_INFERRED_NAMES, MAX_SEGMENTS

NAMES = {"orders", "total", "by_day", "a.b"}
FIELDS_OF_ROWS = ("*.*", "*.`a.b`", "*.by_day", "*.orders", "*.total")


@pytest.mark.parametrize(
    ("value", "fields"),
    [
        ({"orders": [{"total": 3}, {"total": 5}], "by_day": {"2026-01-01": 7}}, ("by_day.*", "orders.*.total")),
        ({"orders": [], "total": {}}, ("orders", "total")),
        ({"a.b": 1}, ("`a.b`",)),
        ({"jane@example.com": {"total": 1}}, ("*.total",)),
        (7, ("*",)),
        ([[1, None]], ("*.*",)),
        ([{"orders": 1}, {"total": 2}, {"by_day": 3}, {"a.b": 4, "x": 5}], FIELDS_OF_ROWS),
    ],
)
def test_paths_are_told_by_names_that_a_schema_speaks_of(value: Any, fields: tuple[str, ...]):
    """PRIVACY.md, P15: any other name may be data."""
    assert fields_of(value, NAMES) == fields


def test_without_a_schema_what_looks_like_a_name_is_one():
    """Ours: a name with other letters, and each of very many in one place, may be data."""
    rows = [{"id": 1, "e-mail": "a"}, {"id": 2, "jane@example.com": {"seen": 1}}]
    assert fields_of({"rows": rows, "2026-01-01": 7}, None) == ("*", "rows.*.*.seen", "rows.*.e-mail", "rows.*.id")
    for more, fields in ((0, MAX_INFERRED_NAMES), (1, 1)):
        many = {f"n{number}": {"id": number} for number in range(MAX_INFERRED_NAMES + more)}
        assert len(fields_of({"by_name": many}, None)) == fields


def test_no_more_are_told_than_can_be_read():
    """Ours."""
    names = {f"n{number:04d}" for number in range(2 * MAX_AUDITED_FIELDS)}
    assert len(fields_of(dict.fromkeys(names, 1), names)) == MAX_AUDITED_FIELDS


def test_what_lies_deeper_than_a_path_leads_is_one_field():
    """Ours."""
    value: Any = 1
    for _ in range(2 * MAX_SEGMENTS):
        value = {"total": value}
    assert fields_of(value, NAMES) == (".".join(["total"] * MAX_SEGMENTS),)


@pytest.mark.parametrize("nothing", [{}, []])
def test_nothing_has_no_field(nothing: Any):
    """Ours."""
    assert fields_of(nothing, NAMES) == ()


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("xy"),
    lambda below: st.lists(below) | st.dictionaries(st.sampled_from(["total", "orders", "x", "y"]), below),
    max_leaves=20,
)


def walked(part: Any, steps: tuple[Any, ...] = ()):
    """The fields, looked at part by part."""
    if isinstance(part, dict) and part:
        for name, below in part.items():
            yield from walked(below, (*steps, name if name in NAMES else None))
    elif isinstance(part, list) and part:
        for below in part:
            yield from walked(below, (*steps, None))
    else:
        yield str(FieldPath(steps))


@given(values.filter(bool))
@example([{"total": 1, "x": 2}, {"total": 3, "y": [4]}])
def test_all_parts_of_a_path_have_its_fields(value: Any):
    """Ours: rows that have other members, empty ones, and scalars among them."""
    assert fields_of(value, NAMES) == tuple(sorted(set(walked(value))))
