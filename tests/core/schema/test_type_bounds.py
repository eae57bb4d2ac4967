"""Which kinds of value a schema can admit: a bound from above."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from louver.core.schema.budget import StepBudget
from louver.core.schema.references import document
from louver.core.schema.type_bounds import (
    ANY,
    ARRAY,
    BOOLEAN,
    NULL,
    NUMBER,
    OBJECT,
    STRING,
    Kinds,
    kind_of,
    named_kinds,
)
from strategies import Triple, triples


def kinds(schema: Any) -> int:
    return Kinds(StepBudget()).of(document(schema))


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (True, ANY),
        (False, 0),
        ({}, ANY),
        ({"type": "integer"}, NUMBER),
        ({"type": ["string", "null"]}, STRING | NULL),
        ({"type": "string", "enum": ["a", 1, None]}, STRING),
        ({"const": True}, BOOLEAN),
        ({"const": []}, ARRAY),
        ({"enum": [{}, 1.5]}, OBJECT | NUMBER),
        ({"allOf": [{"type": ["array", "null"]}, {"type": ["null", "string"]}]}, NULL),
        ({"anyOf": [{"type": "array"}, {"type": "null"}]}, ARRAY | NULL),
        ({"type": "object", "oneOf": [{"type": "array"}, {"type": "null"}]}, 0),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}}, OBJECT),
        ({"$ref": "#/$defs/none"}, ANY),
        ({"not": {"type": "object"}, "if": True, "then": {"type": "null"}}, ANY),
        ({"type": "unknown"}, 0),
        ({"type": 7, "enum": "no", "anyOf": []}, ANY),
        ({"type": [[], "null"]}, NULL),
    ],
)
def test_the_kinds_of_a_schema(schema: Any, expected: int):
    assert kinds(schema) == expected


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}]},
        {"anyOf": [{"not": {"$ref": "#"}}]},
        {"dependentSchemas": {"a": {"$ref": "#"}}},
        {"$ref": "#/$defs/a", "$defs": {"a": {"if": {"$ref": "#/$defs/b"}}, "b": {"oneOf": [{"$ref": "#/$defs/a"}]}}},
    ],
)
def test_in_place_references_that_run_in_a_circle_are_seen(schema: Any):
    """DERIVATION.md: a cycle in place, shape only."""
    assert Kinds(StepBudget()).leads_back(document(schema))


@pytest.mark.parametrize("schema", [True, {"properties": {"a": {"$ref": "#"}}}, {"items": {"$ref": "#"}}])
def test_recursion_through_members_or_elements_is_no_circle(schema: Any):
    assert not Kinds(StepBudget()).leads_back(document(schema))


def test_the_kind_of_each_value():
    values = (None, True, 1, 1.5, "a", [], {})
    assert [kind_of(value) for value in values] == [NULL, BOOLEAN, NUMBER, NUMBER, STRING, ARRAY, OBJECT]
    assert named_kinds(None) == ANY


@given(triples())
def test_a_kind_that_is_not_in_the_bound_cannot_occur(triple: Triple):
    """The promise of the module."""
    if not isinstance(triple.schema, bool):
        assert kinds(triple.schema) & kind_of(triple.value)
