"""Exact outputs of shortening for small schemas: one case for each keyword that has a rule."""

from __future__ import annotations

from typing import Any

import pytest

from louver.core.json import canonical
from louver.core.shaping.shorten import FORMATS, Shortening
from louver.core.shaping.shortened_schema import shortened


def short(schema: Any, items: int | None = None, texts: int | None = None, *, nulls: bool = False) -> Any:
    return shortened(schema, Shortening.to_size(items, texts, drops_nulls=nulls)).schema


def without_nulls(schema: Any) -> Any:
    return short(schema, nulls=True)


def test_a_text_that_can_be_cut_keeps_some_of_its_length_and_gains_a_bound():
    """001 pattern 4: pattern, format and the like may hold no more."""
    text = {"type": "string", "minLength": 9, "maxLength": 90, "pattern": "x$", "format": "date", "title": "T"}
    assert short(text, texts=5) == {"type": "string", "minLength": 5, "maxLength": 5}
    assert short({"type": "string", "minLength": 2}, texts=5) == {"type": "string", "minLength": 2, "maxLength": 5}


def test_a_text_that_is_never_too_long_keeps_all_that_is_said_of_it():
    text = {"type": "string", "minLength": 2, "maxLength": 5, "pattern": "x$", "format": "date"}
    assert short(text, texts=5) == text
    assert short(text, items=1) == text


def test_listed_values_become_what_they_are_shortened_to():
    """Ours: short values stay, and values that became equal are one."""
    assert short({"enum": ["ab", "abcd", "abce", 7, None]}, texts=3)["enum"] == ["ab", "ab…", 7, None]
    assert short({"const": {"a": None, "b": [1, 2, 3]}}, items=2, nulls=True)["const"] == {"b": [1, 2]}
    assert without_nulls({"properties": {"a": {"enum": ["x", None]}}}) == {"properties": {"a": {"enum": ["x"]}}}


def test_what_cannot_change_is_carried_over_whole():
    number = {"type": ["integer", "null"], "oneOf": [{"minimum": 3}, {"multipleOf": 2}], "not": {"const": 4}}
    assert short(number, items=1, texts=1) == number
    assert short({"type": "boolean"}, items=1, texts=1, nulls=True) == {"type": "boolean"}
    assert short(False, items=1) is False


def test_numbers_keep_their_bounds_where_other_kinds_can_stand():
    either = {"minimum": 1, "maximum": 2, "exclusiveMinimum": 0, "exclusiveMaximum": 3, "multipleOf": 1}
    assert short({"type": ["string", "number"], **either}, texts=4) == {
        "type": ["string", "number"],
        "maxLength": 4,
        **either,
    }


def test_an_array_is_cut_and_keeps_what_holds_of_its_positions():
    schema = {"type": "array", "minItems": 3, "maxItems": 90, "prefixItems": [{"const": 1}], "items": {"const": 2}}
    assert short(schema, items=2) == {**schema, "minItems": 2, "maxItems": 2}
    assert short({"type": "array", "minItems": 1}, items=2) == {"type": "array", "minItems": 1, "maxItems": 2}
    assert short({"type": "array", "minItems": 3}, texts=2) == {"type": "array", "minItems": 3}
    assert short({"type": "array", "maxItems": 1}, items=2) == {"type": "array", "maxItems": 1}


def test_what_an_array_contains_may_be_cut_away():
    contains = {"type": "array", "contains": {"const": "abc"}, "minContains": 1, "maxContains": 2}
    assert short(contains, items=2) == {"type": "array", "maxItems": 2}
    kept = {"type": "array", "contains": {"const": "a…"}, "minContains": 1}
    assert short(contains, texts=2) == kept
    assert short({**contains, "maxItems": 2}, items=2, texts=2) == {**kept, "maxItems": 2}


def test_elements_stay_different_if_they_cannot_change():
    unique = {"type": "array", "uniqueItems": True}
    numbers = {**unique, "items": {"type": "number"}}
    texts = {**unique, "items": {"type": "string"}}
    assert short(numbers, 2, 2, nulls=True)["uniqueItems"] is True
    assert short(texts, items=2)["uniqueItems"] is True
    assert "uniqueItems" not in short(texts, texts=2)
    assert "uniqueItems" not in short({**unique, "items": unique}, items=2)
    assert "uniqueItems" not in short(unique, items=2)
    assert "uniqueItems" not in short({**numbers, "prefixItems": [{"type": "object"}]}, nulls=True)


def test_a_member_that_can_be_null_is_not_required_any_more_and_is_not_null():
    """001 pattern 4."""
    schema = {
        "type": "object",
        "required": ["a", "b", "c", "d", "e"],
        "properties": {
            "a": {"type": "string"},
            "b": {"type": ["string", "null"]},
            "c": {"anyOf": [{"$ref": "#/$defs/c"}, {"type": "null"}]},
            "d": {"type": "null"},
        },
        "patternProperties": {"^e": {"type": "array", "items": {"type": "null"}}},
        "additionalProperties": {"type": ["null", "number"]},
        "$defs": {"c": {"type": "object", "required": ["x"], "properties": {"x": {"type": "integer"}}}},
    }
    assert without_nulls(schema) == {
        "type": "object",
        "required": ["a", "e"],
        "properties": {
            "a": {"type": "string"},
            "b": {"type": "string"},
            "c": schema["$defs"]["c"],
            "d": False,
        },
        "patternProperties": {"^e": {"type": "array", "items": {"type": "null"}}},
        "additionalProperties": {"type": "number"},
    }


def test_a_member_that_could_only_be_null_is_not_listed_in_a_closed_object():
    schema = {"type": "object", "properties": {"a": {"type": "null"}}, "additionalProperties": False}
    assert without_nulls(schema) == {"type": "object", "properties": {}, "additionalProperties": False}


def test_the_root_and_elements_stay_null():
    schema = {"type": ["array", "null"], "items": {"type": ["null", "string"]}}
    assert without_nulls(schema) == schema


def test_what_a_member_requires_may_be_left_out():
    numbers = {name: {"type": "number"} for name in "ab"}
    schema = {
        "properties": numbers,
        "dependentRequired": {"a": ["b", "c"], "b": ["c"]},
        "dependentSchemas": {"a": {"required": ["b", "c"], "properties": numbers}},
    }
    assert without_nulls(schema) == {
        "properties": numbers,
        "dependentRequired": {"a": ["b"]},
        "dependentSchemas": {"a": {"required": ["b"], "properties": numbers}},
    }
    assert short(schema, items=9)["dependentRequired"] == schema["dependentRequired"]


def test_members_become_fewer_and_keep_their_names():
    schema = {"type": "object", "minProperties": 1, "maxProperties": 3, "propertyNames": {"pattern": "^a"}}
    assert without_nulls(schema) == {"type": "object", "maxProperties": 3, "propertyNames": {"pattern": "^a"}}
    assert short(schema, texts=9) == schema


def test_branches_are_mapped_and_one_of_becomes_any_of():
    """DERIVATION.md: several can be satisfied then."""
    branches = [{"type": "string", "minLength": 9}, {"type": "string", "pattern": "^a"}, {"type": "null"}]
    bounded = [{"type": "string", "minLength": 5, "maxLength": 5}, {"type": "string", "maxLength": 5}, {"type": "null"}]
    assert short({"anyOf": branches}, texts=5) == {"anyOf": bounded}
    assert short({"oneOf": branches}, texts=5) == {"anyOf": bounded}
    both = short({"allOf": [{"type": "string"}, {"minLength": 9}]}, texts=5)
    assert both == {"allOf": [{"type": "string", "maxLength": 5}, {"minLength": 5}]}
    assert short({"type": "string", "allOf": [False]}, texts=5) is False


def test_not_is_dropped_and_a_condition_becomes_a_choice():
    schema = {"type": "string", "not": {"maxLength": 3}}
    assert short(schema, texts=3) == {"type": "string", "maxLength": 3}
    chosen = {"if": {"minLength": 9}, "then": {"pattern": "a"}, "else": {"maxLength": 1}}
    assert short({"type": "string", **chosen}, texts=3) == {
        "type": "string",
        "maxLength": 3,
        "anyOf": [{"minLength": 3}, {"maxLength": 1}],
    }
    assert short({"type": "string", "if": {"minLength": 9}, "then": False}, texts=3) == {
        "type": "string",
        "maxLength": 3,
    }
    assert short({"type": "string", "if": False, "else": False}, texts=3) is False
    assert short({"type": "string", "unevaluatedItems": False}, texts=3) == {"type": "string", "maxLength": 3}


def test_a_recursive_schema_becomes_one():
    node = {"type": "object", "properties": {"name": {"type": "string"}, "below": {"$ref": "#"}}}
    assert short(node, texts=5) == {
        "$defs": {
            "1": {
                "type": "object",
                "properties": {"name": {"type": "string", "maxLength": 5}, "below": {"$ref": "#/$defs/1"}},
            }
        },
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 5}, "below": {"$ref": "#/$defs/1"}},
    }


def test_the_bounds_stand_at_the_target_of_a_reference_and_once():
    schema = {"$ref": "#/$defs/s", "$defs": {"s": {"type": "string"}}}
    assert short(schema, texts=5) == {"type": "string", "maxLength": 5}
    assert short({"type": "string", "$ref": "elsewhere.json"}, texts=5) == {"type": "string", "maxLength": 5}
    circle = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/a"}},
        "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}},
    }
    assert short(circle, texts=5) == {"type": "object", "properties": {"a": {"maxLength": 5}}}


def test_a_place_of_which_nothing_is_known_has_the_bounds():
    assert short(True, 3, 5) == {"maxLength": 5, "maxItems": 3}
    assert short({}, 3, 5) == {"maxLength": 5, "maxItems": 3}
    assert short(True, nulls=True) is True
    assert short({"type": 7}, texts=5) == {"maxLength": 5}


@pytest.mark.parametrize(("name", "least"), [("minute", 16), ("date", 10), ("localpart", 1)])
def test_a_format_says_no_more_than_that_a_text_does_not_grow(name: str, least: int):
    """Ours: a text of another form stays as it is."""
    by = Shortening.to_format(FORMATS[name])
    text = {"type": "string", "format": "date-time", "pattern": "Z$", "minLength": 20, "maxLength": 30}
    assert shortened(text, by).schema == {"type": "string", "minLength": least, "maxLength": 30}
    texts = {"type": "array", "minItems": 1, "items": {"enum": ["a@b.c"]}}
    assert shortened({**texts, "uniqueItems": True}, by).schema["minItems"] == 1
    objects = {"type": ["object", "string"], "required": ["a"], "properties": {"a": text}, "additionalProperties": text}
    assert shortened(objects, by).schema == objects


def test_a_wrapper_stays():
    schema = {"type": "object", "required": ["result"], "properties": {"result": {"type": ["string", "null"]}}}
    out = shortened(schema, Shortening.to_size(None, 5, drops_nulls=True), wrapped=True).schema
    held = {"type": ["string", "null"], "maxLength": 5}
    assert out == {"type": "object", "required": ["result"], "properties": {"result": held}}


def test_a_schema_that_cannot_be_read_or_is_too_much_is_answered_with_the_bounds():
    """DERIVATION.md: sound, whatever it is."""
    by = Shortening.to_size(3, None, drops_nulls=False)
    deep: Any = {"type": "string"}
    for _ in range(200):
        deep = {"items": deep}
    for schema in (deep, {"$schema": "https://example.com/mine", "type": "string"}):
        assert shortened(schema, by).precision == "shape"
        assert shortened(schema, by).schema == {"maxItems": 3}


def test_older_dialects_are_read():
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "items": [{"type": "string"}],
        "additionalItems": False,
        "dependencies": {"a": ["b"]},
    }
    out = short(schema, texts=5)
    assert out["prefixItems"] == [{"type": "string", "maxLength": 5}]
    assert out["items"] is False
    assert out["dependentRequired"] == {"a": ["b"]}
    assert canonical(out)
