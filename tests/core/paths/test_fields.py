"""Which fields a value has."""

from __future__ import annotations

from typing import Any

import pytest

from louver.core.paths.find import fields_of
from louver.limits import MAX_AUDITED_FIELDS, MAX_SEGMENTS

NAMES = {"orders", "total", "by_day", "a.b"}


@pytest.mark.parametrize(
    ("value", "fields"),
    [
        ({"orders": [{"total": 3}, {"total": 5}], "by_day": {"2026-01-01": 7}}, ("by_day.*", "orders.*.total")),
        ({"orders": [], "total": {}}, ("orders", "total")),
        ({"a.b": 1}, ("`a.b`",)),
        ({"jane@example.com": {"total": 1}}, ("*.total",)),
        (7, ("*",)),
        ([[1, None]], ("*.*",)),
    ],
)
def test_paths_are_told_by_names_that_a_schema_speaks_of(value: Any, fields: tuple[str, ...]):
    """PRIVACY.md, P15: any other name may be data."""
    assert fields_of(value, NAMES) == fields


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
