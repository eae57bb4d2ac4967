"""The schema that a tool lists: what stays, and what is dropped."""

from __future__ import annotations

from typing import Any

import pytest

from louver.core.schema.relax import relax, relax_any


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (
            {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}},
            {"type": "object", "properties": {"id": {"type": "integer"}}},
        ),
        (
            {"type": "object", "properties": {"a": True}, "additionalProperties": False},
            {"type": "object", "properties": {"a": True}, "additionalProperties": False},
        ),
        ({"type": "object", "title": "T", "description": "d"}, {"type": "object", "title": "T", "description": "d"}),
        ({"type": "object", "default": {}, "examples": [{}]}, {"type": "object"}),
        ({"type": "object", "minProperties": 1, "maxProperties": 2}, {"type": "object", "maxProperties": 2}),
        ({"type": "object", "not": {"required": ["a"]}, "if": True, "then": False}, {"type": "object"}),
        (
            {"type": "object", "oneOf": [{"required": ["a"]}, {"maxProperties": 1}]},
            {"type": "object", "anyOf": [{}, {"maxProperties": 1}]},
        ),
        (
            {"type": "object", "propertyNames": {"pattern": "^a"}, "patternProperties": {"^a": {"const": []}}},
            {"type": "object", "propertyNames": {"pattern": "^a"}, "patternProperties": {"^a": {}}},
        ),
        ({"type": "array", "minItems": 1, "maxItems": 2}, {"type": "array", "maxItems": 2}),
        (
            {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
            {"type": "array", "items": {"type": ["null", "string"]}},
        ),
        (
            {"type": "array", "prefixItems": [{"type": "string"}], "items": False},
            {"type": "array", "items": {"type": ["null", "string"]}},
        ),
        ({"type": "array", "items": {"type": "object"}}, {"type": "array", "items": {"type": "object"}}),
        (
            {"type": "array", "items": {"enum": ["a"]}},
            {"type": "array", "items": {"anyOf": [{"enum": ["a"]}, {"type": "null"}]}},
        ),
        ({"type": "object", "properties": {"a": {"enum": ["x", {}]}}}, {"type": "object", "properties": {"a": {}}}),
        ({"type": "object", "properties": {"a": {"const": 1}}}, {"type": "object", "properties": {"a": {"const": 1}}}),
        ({"type": "string", "minLength": 1}, {"type": ["null", "string"], "minLength": 1}),
        (True, True),
        (False, False),
        ({"$schema": "https://example.com/own", "type": "object"}, {"type": "object"}),
        ({"$schema": "https://example.com/own"}, True),
        ({"$ref": "#"}, True),
    ],
)
def test_what_is_listed_for_a_schema(schema: Any, expected: Any):
    """DERIVATION.md, `relax`."""
    assert relax(schema) == expected


def test_references_stay_and_what_stands_beside_them_too():
    schema = {
        "type": "object",
        "properties": {
            "a": {"$ref": "#/$defs/d", "description": "x"},
            "b": {"$ref": "#/$defs/d"},
            "c": {"allOf": [{"$ref": "#/$defs/d"}, {"maxProperties": 1}], "anyOf": [True, False]},
        },
        "$defs": {"d": {"type": "object", "required": ["x"]}},
    }
    listed = relax(schema)
    assert isinstance(listed, dict)
    assert listed["$defs"] == {"1": {"type": "object"}}
    assert listed["properties"]["b"] == {"$ref": "#/$defs/1"}
    assert listed["properties"]["a"] == {"description": "x", "$ref": "#/$defs/1"}
    assert {"maxProperties": 1} in listed["properties"]["c"]["allOf"]


def test_a_recursive_schema_stays_recursive_and_members_in_their_order():
    listed = relax({"type": "object", "properties": {"b": {"$ref": "#"}, "a": True}, "required": ["a"]})
    assert isinstance(listed, dict)
    assert list(listed["properties"]) == ["b", "a"]
    assert "required" not in str(listed)


def test_the_wrapper_of_an_output_may_hold_null():
    """PROJECTION.md: the wrapper stays on the wire."""
    schema = {"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]}
    assert relax(schema) == {"type": "object", "properties": {"result": {"type": ["null", "string"]}}}


def test_a_schema_over_the_bounds_lists_only_that_its_root_is_an_object():
    deep: Any = True
    for _ in range(400):
        deep = {"type": "object", "properties": {"a": deep}}
    assert relax(deep) == {"type": "object"}


def test_the_schemas_of_several_kinds_of_answers_are_listed_as_one():
    """WIRE.md, "Listing": of a tool whose answers are shaped; the type stands at the root."""
    one = {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": NODE}}
    other = {"type": "object", "properties": {"b": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "string"}}}
    listed = relax_any([one, other])
    assert listed == {
        "type": "object",
        "anyOf": [
            {"type": "object", "properties": {"a": {"$ref": "#/$defs/1"}}},
            {"type": "object", "properties": {"b": {"type": "string"}}},
        ],
        "$defs": {"1": {"type": "object", "properties": {"next": {"$ref": "#/$defs/1"}}}},
    }
    assert relax_any([one]) == relax(one)
    assert relax_any([True, other]) is True
    assert relax_any([{"type": "array"}, other])["anyOf"][0] == {"type": "array"}
    assert relax_any([{"type": "object", "$schema": "https://example.com/mine"}, other]) == {"type": "object"}


NODE = {"type": "object", "properties": {"next": {"$ref": "#/$defs/n"}}}
