"""Selecting members, of values alone."""

from __future__ import annotations

from typing import Any

import pytest

from louver.core.json import levels
from louver.core.paths.path import FieldPath
from louver.core.shaping.options import Shaping
from louver.core.shaping.select import MemberSource, Select, place_mask, select
from louver.limits import MAX_ARRAY_LEVELS


def picked(value: Any, members: dict[str, Any], at: str = "*") -> Any:
    shaping = Shaping.read("v", {"select": members, "at": at})
    assert shaping.select is not None
    return select(value, place_mask(shaping.select.at), dict(shaping.select.members))


def test_the_example_of_the_proposal_comes_out():
    """001 pattern 4: `ts`, `from` and `content`, in this order."""
    value = {
        "id": "abc123",
        "created": "2025-01-05T14:32:05.882Z",
        "author": {"id": "u789", "email": "jdoe@example.com", "displayName": "Doe, John", "avatar": "..."},
        "content": "Hello",
        "metadata": {},
    }
    members = {
        "ts": {"path": "created", "format": "minute"},
        "from": {"path": "author.email", "format": "localpart"},
        "content": "content",
    }
    left = picked(value, members)
    assert list(left.items()) == [("ts", "2025-01-05T14:32"), ("from", "jdoe"), ("content", "Hello")]


def test_members_change_names_with_each_other():
    assert picked({"a": 1, "b": 2}, {"a": "b", "b": "a"}) == {"a": 2, "b": 1}


def test_a_member_that_is_not_there_is_left_out_and_null_on_the_way_stays_null():
    """PROJECTION.md, "What include keeps": as if the path were asked for."""
    members = {"from": "author.email"}
    for value, expected in (
        ({"author": {"email": "a"}}, {"from": "a"}),
        ({"author": {"email": None}}, {"from": None}),
        ({"author": None}, {"from": None}),
        ({"author": {}}, {}),
        ({"author": "Ann"}, {}),
        ({}, {}),
    ):
        assert picked(value, members) == expected


def test_a_name_looks_through_arrays_and_keeps_their_positions():
    """PROJECTION.md, "What include keeps": arrays are transparent."""
    value = {"labels": [{"name": "bug"}, {}, None, 7, [{"name": "p1"}]]}
    assert picked(value, {"labels": "labels.name"}) == {"labels": ["bug", None, None, None, ["p1"]]}


def test_each_element_of_an_array_at_the_place_becomes_one():
    assert picked([{"a": 1}, None, 7, [{"a": 2}]], {"b": "a"}) == [{"b": 1}, None, None, [{"b": 2}]]
    assert picked(7, {"b": "a"}) is None
    assert picked(None, {"b": "a"}) is None


@pytest.mark.parametrize("at", ["messages", "messages.*", "messages[*]"])
def test_what_is_not_at_the_place_is_not_touched(at: str):
    value = {"messages": [{"a": 1, "c": 2}, 7, None], "total": {"a": 1}}
    assert picked(value, {"b": "a"}, at) == {"messages": [{"b": 1}, None, None], "total": {"a": 1}}


def test_a_scalar_member_at_the_place_is_dropped():
    """PROJECTION.md, "What include keeps": nothing passes that was not asked for."""
    assert picked({"messages": "secret", "total": 1}, {"b": "a"}, "messages") == {"total": 1}
    assert picked({"page": [{"messages": "secret"}, 7]}, {"b": "a"}, "page.messages") == {"page": [{}, 7]}


def test_a_wildcard_of_the_place_stands_for_members_too():
    value = {"by_id": {"x": {"a": 1, "c": 2}, "y": None, "z": 3}}
    assert picked(value, {"b": "a"}, "by_id.*") == {"by_id": {"x": {"b": 1}, "y": None}}


def test_a_format_writes_the_texts_that_are_found():
    value = {"to": [{"email": "a@x"}, {"email": 7}, {}]}
    assert picked(value, {"to": {"path": "to.email", "format": "localpart"}}) == {"to": ["a", 7, None]}


def test_arrays_too_deep_in_arrays_are_missing():
    """Ours: bounded as in projection, where names look through so many."""

    def nested(levels: int, value: Any) -> Any:
        for _ in range(levels):
            value = [value]
        return value

    deep = {"a": nested(MAX_ARRAY_LEVELS + 1, {"b": 1})}
    assert picked(deep, {"b": "a.b"}) == {"b": nested(MAX_ARRAY_LEVELS, None)}
    assert picked({"a": nested(MAX_ARRAY_LEVELS, {"b": 1})}, {"b": "a.b"}) == {"b": nested(MAX_ARRAY_LEVELS, 1)}
    assert picked(nested(MAX_ARRAY_LEVELS + 1, {"b": 1}), {"c": "b"}) == nested(MAX_ARRAY_LEVELS, None)


def test_a_value_of_any_depth_is_passed_through():
    value: Any = 1
    for _ in range(20_000):
        value = [value]
    *_, last = levels(picked({"deep": value, "arrays": value}, {"b": "a"}, "arrays.x"))
    assert last == [1, 1]


def test_a_path_beyond_the_place_is_replaced():
    names = Select((("b", MemberSource(FieldPath(("a",)))),), FieldPath(("messages", None)))
    for path, expected in (("messages.a", True), ("messages.*.a", True), ("messages", False), ("total", False)):
        assert names.replaces(FieldPath.parse(path)) is expected
