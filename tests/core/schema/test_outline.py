"""What a schema says of members, for readers."""

from __future__ import annotations

import pytest
from hypothesis import given

from fuzz.schemas import random_schema
from louver.core.schema.outline import MAX_OUTLINE_MEMBERS, MAX_OUTLINE_VALUES, examples_of_required, outline
from strategies import randoms


def lines(schema, depth=3):
    return [(str(each.path), each.type, each.required, each.description) for each in outline(schema, depth)]


def test_members_have_types_and_descriptions_and_say_whether_they_are_required():
    """GATEWAY.md: parameters with types and required."""
    schema = {
        "type": "object",
        "required": ["a"],
        "properties": {"a": {"type": "number", "description": "First."}, "b": {"type": ["string", "null"]}},
    }
    assert lines(schema) == [("a", "number", True, "First."), ("b", "string | null", False, "")]


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (True, "any"),
        ({}, "any"),
        ({"const": "x"}, '"x"'),
        ({"enum": ["open", 1, None]}, '"open" | 1 | null'),
        ({"enum": [*range(MAX_OUTLINE_VALUES + 1)]}, " | ".join([*map(str, range(MAX_OUTLINE_VALUES)), "..."])),
        ({"type": "object", "additionalProperties": {"type": ["string", "null"]}}, "object of (string | null)"),
        ({"type": ["strange", "string"]}, "string"),
        ({"type": "array", "items": {"type": "string"}}, "array of string"),
        ({"type": "array", "items": {"type": ["string", "null"]}}, "array of (string | null)"),
        ({"type": "array"}, "array"),
        ({"items": {"type": "object"}}, "array of object"),
        ({"type": "array", "prefixItems": [{"type": "integer"}], "items": {"type": "string"}}, "array"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}, {"type": "integer"}]}, "integer | null"),
        ({"oneOf": [{"$ref": "#/$defs/x"}, {"type": "string"}]}, "boolean | string"),
        ({"allOf": [{"minLength": 1}, {"type": "string"}]}, "string"),
        ({"$ref": "#/$defs/x"}, "boolean"),
        ({"$ref": "#/$defs/none"}, "any"),
        ({"$ref": "https://example.com/x"}, "any"),
        ({"$ref": "#/$defs/loop"}, "any"),
        ({"properties": {}}, "object"),
        ({"type": []}, "any"),
        ({"enum": []}, "any"),
    ],
)
def test_types_are_told_as_readers_say_them(schema, said):
    """Ours."""
    whole = {"properties": {"m": schema}, "$defs": {"x": {"type": "boolean"}, "loop": {"$ref": "#/$defs/loop"}}}
    assert lines(whole, 1) == [("m", said, False, "")]


def test_what_a_reference_leads_to_is_looked_into():
    """GATEWAY.md: through `$ref`."""
    schema = {
        "$ref": "#/$defs/query",
        "$defs": {
            "query": {"type": "object", "required": ["filter"], "properties": {"filter": {"$ref": "#/$defs/filter"}}},
            "filter": {"description": "What for.", "required": ["by"], "properties": {"by": {"type": "string"}}},
        },
    }
    assert lines(schema) == [("filter", "object", True, "What for."), ("filter.by", "string", True, "")]


def test_of_alternatives_only_what_all_of_them_require_is_required():
    """GATEWAY.md: through `anyOf`."""
    ways = [
        {"required": ["id"], "properties": {"id": {"type": "integer"}, "kind": {"const": "a"}}},
        {"required": ["id", "name"], "properties": {"id": {"type": "string"}, "name": {"type": "string"}}},
        {"type": "null"},
    ]
    assert [(name, required) for name, _, required, _ in lines({"anyOf": ways})] == [
        ("id", True),
        ("kind", False),
        ("name", False),
    ]


def test_what_holds_too_adds_to_what_is_required():
    """Ours."""
    schema = {"allOf": [{"properties": {"a": {}}}, {"required": ["a"], "properties": {"a": {"type": "string"}}}]}
    assert lines(schema) == [("a", "any", True, "")]
    assert lines({**schema, "required": ["a"]})[0][2] is True


def test_elements_of_arrays_are_looked_through():
    """PROJECTION.md."""
    schema = {"properties": {"rows": {"type": "array", "items": {"properties": {"id": {"type": "integer"}}}}}}
    assert [name for name, *_ in lines(schema)] == ["rows", "rows.id"]


def test_a_name_with_a_dot_is_quoted():
    """PROJECTION.md."""
    assert lines({"properties": {"a.b": {}}})[0][0] == "`a.b`"


def test_a_schema_that_refers_to_itself_comes_to_an_end():
    """Ours."""
    tree = {"properties": {"child": {"$ref": "#"}, "children": {"items": {"$ref": "#"}}}}
    assert len(lines(tree)) == 2 + 4 + 8
    assert lines({"$ref": "#"}) == []


def test_a_schema_of_many_ways_costs_little():
    """Ours: 2^22 ways in 600 bytes."""
    defs = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}"}]} for n in range(22)}
    schema = {"properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": {**defs, "d22": {"type": "string"}}}
    assert lines(schema) == [("x", "any", False, "")]


@pytest.mark.parametrize("through", ["$ref", "allOf", "anyOf", "items"])
def test_what_stands_far_behind_references_is_any(through):
    """Ours: the depth of a walk is bounded, and what comes after is told all the same."""

    def to(number):
        there = {"$ref": f"#/$defs/d{number}"}
        return there if through == "$ref" else {through: there if through == "items" else [there]}

    defs = {f"d{number}": to(number + 1) for number in range(900)} | {"d900": {"properties": {"q": {}}}}
    schema = {"properties": {"p": to(0), "x": {"type": "string"}}, "required": ["p"], "$defs": defs}
    assert [(name, required) for name, _, required, _ in lines(schema)] == [("p", True), ("x", False)]
    assert lines({**to(0), "$defs": defs}) == []
    near = {"properties": {"p": to(890)}, "$defs": defs}
    assert [name for name, *_ in lines(near)] == ["p", "p.q"]


def test_no_more_is_told_than_the_bound():
    """Ours."""
    many = {"properties": {f"m{number}": {} for number in range(2 * MAX_OUTLINE_MEMBERS)}}
    assert len(outline(many)) == MAX_OUTLINE_MEMBERS


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": 3, "required": 4, "anyOf": 5, "type": 6},
        {"$schema": "https://example.com/unknown", "properties": {"a": {}}},
        {"properties": {"a": {"type": [1], "enum": {}, "items": 7, "description": 8}}},
    ],
)
def test_what_is_no_schema_does_no_harm(schema):
    """Ours."""
    assert all(isinstance(each.type, str) for each in outline(schema))


def test_required_members_have_the_values_that_a_schema_gives():
    """Ours: what is certain goes first."""
    properties = {
        "a": {"const": 1, "enum": [2]},
        "b": {"examples": [3, 4], "default": 5},
        "c": {"examples": [], "default": None},
        "d": {"enum": [6]},
        "e": {"enum": 7},
        "f": {"default": 8},
    }
    schema = {"properties": properties, "required": ["a", "b", "c", "d", "e", "g"]}
    assert examples_of_required(schema) == {"a": [1], "b": [3, 4], "c": [None], "d": [6], "e": [], "g": []}


@given(randoms())
def test_any_schema_can_be_told(rng):
    """Ours: whatever the generator of schemas comes up with."""
    schema = random_schema(rng, rng.choice(("2020-12", "2019-09", "7")))
    assert all(each.type for each in outline(schema))
