"""Where the bytes of a value lie."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from louver.core.paths.path import FieldPath
from louver.core.preview.field_sizes import MAX_WEIGHED_DEPTH, size_of, weigh
from louver.limits import MAX_INFERRED_NAMES

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text("ab")
values = st.recursive(
    scalars, lambda below: st.lists(below) | st.dictionaries(st.sampled_from("abc"), below), max_leaves=12
)

VALUE = {"total": 2, "items": [{"id": 1, "note": None}, {"id": 2, "note": "hello"}, {"id": 3}]}


def by_path(value):
    return {str(weight.path): weight for weight in weigh(value)}


def test_every_field_has_its_bytes():
    """GATEWAY.md: size a field; those of elements are added up."""
    found = by_path(VALUE)
    assert list(found) == ["total", "items", "items.id", "items.note"]
    assert found["items.id"].bytes == 3 * len('"id":1')
    assert found["items.note"].bytes == len('"note":null"note":"hello"')
    assert found["items"].bytes == len(json.dumps(VALUE["items"], separators=(",", ":"))) + len('"items":')


def test_a_field_tells_how_often_it_is_there_and_what_it_is():
    """GATEWAY.md: merged over array elements."""
    note = by_path(VALUE)["items.note"]
    assert (note.seen, note.of, note.nulls, note.longest) == (2, 3, 1, 5)
    assert note.kinds == ("null", "string")
    assert note.is_leaf
    assert not by_path(VALUE)["items"].is_leaf


def test_constants_are_seen_more_than_once():
    """Ours: in Python `True` is 1."""
    found = by_path([{"a": 1, "b": 1, "c": True}, {"a": 1, "b": True, "c": True}])
    assert [name for name, weight in found.items() if weight.is_constant] == ["a", "c"]
    assert not by_path({"a": 1})["a"].is_constant


def test_names_that_are_data_are_one_field():
    """Ours."""
    users = {f"user-{number}": {"id": number} for number in range(MAX_INFERRED_NAMES + 1)}
    found = by_path({"users": users})
    assert list(found) == ["users", "users.*", "users.*.id"]
    assert found["users.*"].seen == found["users.*"].of == len(users)


def test_what_is_no_object_has_no_fields():
    """Ours."""
    assert weigh([1, [2], "x"]) == weigh(None) == []


def test_below_the_bound_nothing_is_told():
    """Ours: it counts to what it stands in."""
    deep = {}
    for _ in range(MAX_WEIGHED_DEPTH + 5):
        deep = {"a": deep}
    assert len(weigh(deep)) == MAX_WEIGHED_DEPTH


@given(values)
def test_the_members_of_an_object_weigh_what_it_does(value):
    """Ours: but for its brackets and commas."""
    if isinstance(value, dict):
        top = [weight for weight in weigh(value) if len(weight.path.steps) == 1]
        assert sum(weight.bytes for weight in top) == size_of(value) - 2 - max(0, len(value) - 1)


@given(values)
def test_every_path_can_be_asked_for(value):
    """PROJECTION.md: what is told is a field path."""
    for weight in weigh(value):
        assert FieldPath.parse(str(weight.path)) == weight.path
