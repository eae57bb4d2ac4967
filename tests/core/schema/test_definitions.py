"""Parts of a schema put together: in place where they are used once, else in `$defs`."""

from __future__ import annotations

from typing import Any

import pytest

from louver.core.paths.mask import ALL, include_mask
from louver.core.paths.path import FieldPath
from louver.core.schema.budget import OverBudget
from louver.core.schema.definitions import MAX_INLINE_DEPTH, Definitions
from louver.core.schema.derive import derive
from louver.limits import MAX_WRITTEN_DEPTH


def whole(schema: Any) -> Any:
    return derive(schema, ALL).schema


def beside(body: Any, **rest: Any) -> Any:
    """What becomes of a schema beside a reference that is used once."""
    schema = {"properties": {"a": {"$ref": "#/$defs/d", **rest}}, "$defs": {"d": body}}
    return whole(schema)["properties"]["a"]


def test_a_part_that_is_used_once_stands_in_place_and_unused_ones_are_gone():
    schema = {"properties": {"a": {"$ref": "#/$defs/d"}}, "$defs": {"d": {"type": "null"}, "unused": {"type": "null"}}}
    assert whole(schema) == {"properties": {"a": {"type": "null"}}}


def test_a_part_that_is_used_twice_is_named_in_the_order_in_which_it_is_met():
    one, two = {"$ref": "#/$defs/x"}, {"$ref": "#/$defs/y"}
    schema = {
        "$defs": {"y": {"type": "null"}, "x": {"type": "array"}, "z": True},
        "properties": {"a": one, "b": two, "c": two, "d": one, "e": {"$ref": "#/$defs/z"}, "f": {"$ref": "#/$defs/z"}},
    }
    first, second = {"$ref": "#/$defs/1"}, {"$ref": "#/$defs/2"}
    assert whole(schema) == {
        "$defs": {"1": {"type": "array"}, "2": {"type": "null"}},
        "properties": {"a": first, "b": second, "c": second, "d": first, "e": True, "f": True},
    }


@pytest.mark.parametrize(
    ("body", "rest", "expected"),
    [
        ({"type": "object"}, {"required": ["x"]}, {"type": "object", "required": ["x"]}),
        ({"properties": {"x": True}}, {"required": ["x"]}, {"properties": {"x": True}, "required": ["x"]}),
        ({"anyOf": [True]}, {"properties": {}}, {"anyOf": [True], "properties": {}}),
        ({"type": "null"}, {"type": "array"}, {"type": "array", "allOf": [{"type": "null"}]}),
        (False, {"type": "array"}, {"type": "array", "allOf": [False]}),
        (
            {"properties": {"x": True}},
            {"additionalProperties": False},
            {"additionalProperties": False, "allOf": [{"properties": {"x": True}}]},
        ),
        ({"if": True}, {"then": False}, {"then": False, "allOf": [{"if": True}]}),
        (
            {"contains": True},
            {"minContains": 0, "allOf": [{"type": "array"}]},
            {"minContains": 0, "allOf": [{"type": "array"}, {"contains": True}]},
        ),
        (
            {"unevaluatedProperties": False},
            {"allOf": [{"properties": {"x": True}}]},
            {"allOf": [{"properties": {"x": True}}, {"unevaluatedProperties": False}]},
        ),
    ],
)
def test_a_part_joins_what_stands_beside_it_only_where_that_means_the_same(body: Any, rest: Any, expected: Any):
    """Ours, found by reading: one keyword alone can still take notice of its neighbours."""
    assert beside(body, **rest) == expected


def test_parts_used_once_stand_in_place_only_to_a_depth():
    deep: dict[str, Any] = {f"d{number}": {"items": {"$ref": f"#/$defs/d{number + 1}"}} for number in range(60)}
    schema = whole({"$ref": "#/$defs/d0", "$defs": {**deep, "d60": {"type": "null"}}})
    assert list(schema["$defs"]) == ["1"]
    part, depth = schema, 0
    while "items" in part:
        part, depth = part["items"], depth + 1
    assert part == {"$ref": "#/$defs/1"}
    assert depth == MAX_INLINE_DEPTH + 1


def test_a_document_that_is_too_deep_or_too_large_is_not_written():
    deep: Any = 1
    for _ in range(MAX_WRITTEN_DEPTH + 1):
        deep = [deep]
    texts = {"x" * 10_000: "y" * 10_000}
    for schema, most in (({"const": deep}, None), ({"enum": ["x"] * 50}, 50), (texts, 150), ({**texts, "a": 1}, 150)):
        with pytest.raises(OverBudget):
            Definitions().finish(schema, most)
    assert Definitions().finish({"enum": ["x"] * 40}, 50) == {"enum": ["x"] * 40}


def test_a_large_constant_under_many_states_is_answered_with_the_shape():
    """Ours: a request of 256 paths must not make 256 copies of a constant of any size."""
    names = "abcdefgh"
    schema = {
        "properties": {
            **{name: {"$ref": "#"} for name in names},
            "z": {"enum": [str(number) for number in range(5000)]},
        }
    }
    paths = [FieldPath((*f"{number:08b}".translate({48: "a", 49: "b"}), "z")) for number in range(256)]
    assert derive(schema, include_mask(paths)).precision == "shape"
    assert derive(schema, include_mask(paths[:2])).precision == "exact"


def test_keys_stand_in_the_order_of_code_points_or_as_they_were_written():
    schema = {"type": "object", "properties": {"b": True, "a": True}}
    assert list(Definitions().finish(schema, None)) == ["properties", "type"]
    assert list(Definitions().finish(schema, None)["properties"]) == ["a", "b"]
    assert list(Definitions().finish(schema, None, sort=False)["properties"]) == ["b", "a"]
