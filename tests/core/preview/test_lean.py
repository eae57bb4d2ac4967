"""What a lean view keeps."""

from __future__ import annotations

import pytest
from hypothesis import given

from core.preview.test_field_sizes import values
from louver.core.preview.field_sizes import MAX_WEIGHED_DEPTH, weigh
from louver.core.preview.preview import HEAVY_CHARACTERS, lean, reason
from louver.core.projection.plan import compile_projection
from louver.core.projection.request import Projection
from louver.limits import MAX_PATHS

LONG = (HEAVY_CHARACTERS + 1) * "x"


def kept(value):
    found = lean(weigh(value))
    return None if found is None else [str(path) for path in found]


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ([{"a": LONG}, {"a": "short"}], "long text"),
        ([{"a": LONG[1:]}, {"a": "short"}], None),
        ([{"a": None}, {"a": None}], "always null"),
        ([{"a": None}], "always null"),
        ([{"a": None}, {"a": 1}], None),
        ([{"a": 1}, {"a": 1}], "constant"),
        ([{"a": 1}, {"a": True}], None),
        ([{"a": 1}], None),
        ([{"a": []}, {"a": []}], "constant"),
    ],
)
def test_a_field_is_left_out_for_one_reason(members, why):
    """GATEWAY.md, "The five tools": a suggested view. The rule is ours."""
    (weight,) = weigh(members)
    assert reason(weight) == why


def test_what_is_short_and_differs_is_kept_by_its_leaves():
    """Ours: what a leaf stands in is kept with it."""
    items = [{"id": number, "text": LONG, "of": {"kind": "x", "name": f"n{number}"}} for number in range(3)]
    assert kept({"items": items, "next": None, "total": 3}) == ["items.id", "items.of.name", "total"]


@pytest.mark.parametrize("value", [{"a": 1, "b": 2}, {"a": LONG}, {}, []])
def test_a_view_that_leaves_out_nothing_or_all_is_none(value):
    """Ours."""
    assert kept(value) is None


def test_what_lies_too_deep_to_be_weighed_is_kept_with_what_it_stands_in():
    """Ours: else a view would lose it without a word."""
    deep = {"end": 1}
    for _ in range(MAX_WEIGHED_DEPTH + 2):
        deep = {"a": deep}
    assert kept({**deep, "b": LONG}) == [".".join("a" * MAX_WEIGHED_DEPTH)]


@given(values)
def test_what_a_lean_view_names_stays_as_it_was(value):
    """Ours."""
    found = lean(weigh(value))
    if found is not None and len(found) <= MAX_PATHS:
        left = compile_projection(Projection(include=[*map(str, found)]))(value)
        after = {weight.path: weight for weight in weigh(left)}
        for weight in weigh(value):
            if weight.path in found:
                assert after[weight.path].bytes == weight.bytes
