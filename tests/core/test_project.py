"""What is left of a value: the case table of PROJECTION.md, at the level of the core."""

from __future__ import annotations

from typing import Any

import pytest

from louver.core.paths.mask import exclude_mask, include_mask
from louver.core.paths.path import FieldPath
from louver.core.project import project
from louver.limits import MAX_ARRAY_LEVELS

D: dict[str, Any] = {
    "id": 1,
    "name": "Ann",
    "email": "e",
    "address": {"city": "c", "zip": "z", "geo": {"lat": 1, "lon": 2}},
    "manager": None,
    "tags": ["a", "b"],
    "items": [
        {"id": 1, "n": {"x": 1, "y": 2}, "email": "e"},
        {"id": 2, "n": None},
        {"n": {"x": [1, 2]}},
        7,
        None,
    ],
    "a.b": 3,
    "a/b": 4,
    "John Smith": 5,
    "*": 6,
    "$x": 7,
    "héllo": 8,
    "we`ird": 11,
    "nextCursor": "n",
    "errors": [{"code": 1}],
    "matrix": [[{"v": 1, "w": 2}], [{"v": 3, "w": 4}]],
}


def kept(value: Any, *texts: str) -> Any:
    return project(value, include_mask([FieldPath.parse(text) for text in texts]))


def left(value: Any, *texts: str) -> Any:
    return project(value, exclude_mask([FieldPath.parse(text, deep=True) for text in texts]))


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["name"], {"name": "Ann"}),
        (["address.city"], {"address": {"city": "c"}}),
        (["address", "address.city"], {"address": D["address"]}),
        *(
            ([text], {"items": [{"id": 1}, {"id": 2}, {}, None, None]})
            for text in ("items.id", "items[*].id", "items.*.id", "$.items[*].id")
        ),
        (["items.n.x"], {"items": [{"n": {"x": 1}}, {"n": None}, {"n": {"x": [1, 2]}}, None, None]}),
        (["manager.name"], {"manager": None}),
        (["name.first"], {}),
        (["nope"], {}),
        (["address.*"], {"address": D["address"]}),
        (["*"], D),
        (["`a.b`"], {"a.b": 3}),
        (["['a.b']"], {"a.b": 3}),
        (["/a~1b"], {"a/b": 4}),
        (["/*"], {"*": 6}),
        (["$x"], {"$x": 7}),
        (["`we``ird`"], {"we`ird": 11}),
        (["matrix.v"], {"matrix": [[{"v": 1}], [{"v": 3}]]}),
        (["tags"], {"tags": ["a", "b"]}),
        (["tags[*]"], {"tags": ["a", "b"]}),
        (["tags.x"], {"tags": [None, None]}),
        (["héllo"], {"héllo": 8}),
        (["John Smith"], {"John Smith": 5}),
        (["errors.code.x"], {"errors": [{}]}),
    ],
)
def test_an_include_keeps_what_the_case_table_says(texts: list[str], expected: Any):
    """PROJECTION.md, "Cases"."""
    assert kept(D, *texts) == expected


def test_a_root_that_is_no_object():
    """PROJECTION.md, "Cases": each element projected; a scalar root is null."""
    assert kept([{"id": 1, "x": 2}, 7], "id") == [{"id": 1}, None]
    assert kept("x", "id") is None
    assert kept(None, "id") is None
    assert left("x", "id") == "x"


def test_an_exclude_removes_what_the_case_table_says():
    """PROJECTION.md, "Cases": gone at every depth; scalars and null stay, so does an emptied object."""
    without = left(D, "**.email", "address.geo")
    assert without["address"] == {"city": "c", "zip": "z"}
    assert without["items"] == [{"id": 1, "n": {"x": 1, "y": 2}}, *D["items"][1:]]
    assert "email" not in without
    items = left(D, "items.n.x", "items.id")["items"]
    assert items == [{"n": {"y": 2}, "email": "e"}, {"n": None}, {"n": {}}, 7, None]


def test_an_exclude_fails_closed():
    """PROJECTION.md, "What exclude keeps"."""
    assert left({"users": {"password": 1, "x": 2}}, "users[*].password") == {"users": {"x": 2}}
    assert left({"users": [{"al": {"password": 1}}]}, "users.*.password") == {"users": [{"al": {}}]}
    assert left({"xs": [1, 2]}, "xs[*]") == {"xs": []}


def test_everything_left_out_is_empty():
    """PROJECTION.md: exclude of `*` leaves `{}` or `[]`."""
    assert left(D, "*") == {}
    assert left([1], "*") == []
    assert left("x", "*") is None


def test_an_include_writes_members_in_the_order_of_the_plan_else_of_code_points():
    """PROJECTION.md: equal requests give equal bytes; below a wildcard and in an exclude the value's order."""
    value = {"c": 1, "b": {"y": 1, "x": 2}, "a": 3}
    mask = include_mask([FieldPath.parse(text) for text in ("a", "c", "b.x", "b.y")])
    assert list(project(value, mask)) == ["a", "b", "c"]
    ordered = project(value, mask, {mask: ("c", "a", "b")})
    assert list(ordered) == ["c", "a", "b"]
    assert list(ordered["b"]) == ["x", "y"]
    assert list(kept(value, "*.x", "c")) == ["c", "b"]
    assert list(left(value, "a")) == ["c", "b"]


def test_the_value_is_not_changed_and_whole_parts_are_shared():
    value = {"a": {"b": [1]}, "c": [{"d": 1}]}
    part = kept(value, "a", "c.x")
    assert part == {"a": {"b": [1]}, "c": [{}]}
    assert part["a"] is value["a"]
    assert value == {"a": {"b": [1]}, "c": [{"d": 1}]}


def test_a_value_of_any_depth_is_projected_without_recursion():
    """PROJECTION.md: values may be of any depth."""
    deep: Any = {"x": 1, "y": 2}
    for _ in range(100_000):
        deep = {"a": deep, "x": 1}
    part = left(deep, "**.x")
    depth = 0
    while "a" in part:
        assert part.keys() == {"a"}
        part, depth = part["a"], depth + 1
    assert (part, depth) == ({"y": 2}, 100_000)


def test_an_array_too_deep_in_arrays_is_missing():
    """PROJECTION.md: arrays nested deeper than 64 are missing; an exclude reaches into any depth."""

    def nested(levels: int) -> Any:
        value: Any = {"x": 1, "y": 2}
        for _ in range(levels):
            value = [value]
        return value

    def inside(value: Any) -> Any:
        while isinstance(value, list):
            (value,) = value
        return value

    assert inside(kept(nested(MAX_ARRAY_LEVELS), "x")) == {"x": 1}
    assert inside(kept(nested(MAX_ARRAY_LEVELS + 1), "x")) is None
    assert inside(kept(nested(100_000), "x")) is None
    assert inside(left(nested(100_000), "x")) == {"y": 2}
