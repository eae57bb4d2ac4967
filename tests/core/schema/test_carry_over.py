"""Schemas carried over whole: what a kept leaf still satisfies."""

from __future__ import annotations

from typing import Any

import pytest

from louver.core.paths.mask import ALL
from louver.core.schema.derive import derive

DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"
DATE = {"format": "date"}


def whole(schema: Any) -> Any:
    return derive(schema, ALL).schema


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "required": ["a"], "properties": {"a": {"const": {"title": "x"}}}},
        {"prefixItems": [True, {"type": "null"}], "items": False, "contains": {"const": 1}, "maxContains": 1},
        {"not": {"required": ["a"]}, "oneOf": [{"required": ["b"]}, {"required": ["c"]}]},
        {"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"required": ["c"]}},
        {"allOf": [{"properties": {"a": True}}], "unevaluatedProperties": False},
        {"dependentSchemas": {"a": {"required": ["b"]}}, "dependentRequired": {"a": ["b"]}},
        {"patternProperties": {"^a": {"minLength": 1}}, "additionalProperties": {"maximum": 2}},
        {"propertyNames": {"pattern": "^a"}, "minProperties": 1, "maxProperties": 2},
        {"format": "date", "contentMediaType": "text/plain"},
        {"enum": [{"$ref": "#/nowhere"}, [{"$defs": 1}]]},
    ],
)
def test_every_assertion_is_carried_over(schema: Any):
    assert whole(schema) == schema


def test_annotations_and_what_is_not_known_are_not():
    """DERIVATION.md: they can name or hold what was left out."""
    noisy = {
        "title": "secret",
        "description": "secret",
        "default": "secret",
        "examples": ["secret"],
        "$comment": "secret",
        "deprecated": True,
        "readOnly": True,
        "x-secret": "secret",
        "contentSchema": {"const": "secret"},
        "$defs": {"secret": True},
        "$id": "https://secret.example",
        "$anchor": "secret",
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "string",
    }
    assert whole(noisy) == {"type": "string"}
    assert whole({"title": "x"}) is True
    assert whole(False) is False


def test_older_dialects_are_written_in_the_words_of_2020_12():
    schema = {
        "$schema": DRAFT_7,
        "items": [True],
        "additionalItems": False,
        "dependencies": {"a": ["b"], "c": {"required": ["d"]}},
    }
    assert whole(schema) == {
        "prefixItems": [True],
        "items": False,
        "dependentRequired": {"a": ["b"]},
        "dependentSchemas": {"c": {"required": ["d"]}},
    }


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"not": DATE}, True),
        ({"not": {"items": [DATE]}, "type": "array"}, {"type": "array"}),
        ({"oneOf": [DATE, {"type": "null"}]}, {"allOf": [{"anyOf": [DATE, {"type": "null"}]}]}),
        ({"if": DATE, "then": {"minLength": 1}}, True),
        (
            {"if": DATE, "then": {"minLength": 1}, "else": {"maxLength": 2}},
            {"allOf": [{"anyOf": [{"allOf": [DATE, {"minLength": 1}]}, {"maxLength": 2}]}]},
        ),
        ({"if": DATE, "else": {"maxLength": 2}}, {"allOf": [{"anyOf": [{"allOf": [DATE]}, {"maxLength": 2}]}]}),
        ({"contains": DATE}, {"contains": DATE}),
        ({"not": {"$ref": "#/definitions/d"}, "definitions": {"d": DATE}}, True),
        ({"not": {"$ref": "elsewhere"}}, True),
        (
            {"allOf": [True], "oneOf": [DATE]},
            {"allOf": [True, {"anyOf": [DATE]}]},
        ),
    ],
)
def test_what_validators_read_differently_is_not_asserted_where_looser_would_be_stricter(schema: Any, expected: Any):
    """DERIVATION.md: `format` under `oneOf`, `not`, `if`, `maxContains`; asserted for draft 7 and not for 2020-12."""
    assert whole({"$schema": DRAFT_7, **schema}) == expected


def test_the_same_for_what_only_some_validators_know():
    """Ours: `dependencies` after draft 7, dynamic references, contained elements in 2019-09."""
    assert whole({"not": {"dependencies": {"a": ["b"]}}}) is True
    assert whole({"not": {"$dynamicRef": "#x"}}) is True
    assert whole({"contains": DATE, "maxContains": 1, "minContains": 0}) == {"contains": DATE, "minContains": 0}
    unevaluated = {"not": {"contains": {"const": 1}, "unevaluatedItems": False}}
    assert whole(unevaluated) == unevaluated
    assert whole({"$schema": DRAFT_2019, **unevaluated}) is True
    assert whole({"unevaluatedProperties": False, "allOf": [{"$ref": "elsewhere"}]}) == {"allOf": [True]}


def test_a_circle_of_references_says_nothing():
    assert whole({"properties": {"a": {"$ref": "#/$defs/d"}}, "$defs": {"d": {"$ref": "#/$defs/d"}}}) == {
        "properties": {"a": True}
    }


def test_what_was_found_to_be_exact_is_not_looked_at_again():
    """Each switched keyword asks for exactness of all below it: remembered, so this is linear."""
    schema: Any = {"type": "null"}
    for _ in range(60):
        schema = {"oneOf": [schema]}
    assert derive(schema, ALL).precision == "exact"
    shared = {"$defs": {"d": {"not": {"const": 1}}}, "not": {"$ref": "#/$defs/d"}, "oneOf": [{"$ref": "#/$defs/d"}]}
    assert whole(shared)["oneOf"] == whole(shared)["oneOf"]
    inexact = {"$defs": {"d": {"not": DATE}}, "not": {"$ref": "#/$defs/d"}, "allOf": [{"not": {"$ref": "#/$defs/d"}}]}
    assert whole(inexact) == {"allOf": [True]}
