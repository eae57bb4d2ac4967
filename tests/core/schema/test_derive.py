"""Exact outputs of derivation for small schemas.

Tightness cannot see a forgotten assertion: what must survive is written down here.
"""

from __future__ import annotations

from typing import Any

import pytest

from louver.core.json import canonical
from louver.core.paths.mask import Mask, exclude_mask, include_mask
from louver.core.paths.path import FieldPath
from louver.core.schema.derive import Derived, derive

DRAFT_7 = "http://json-schema.org/draft-07/schema#"
SHAPE = {"type": ["array", "null", "object"], "additionalProperties": False}


def include(*texts: str) -> Mask:
    return include_mask([FieldPath.parse(text) for text in texts])


def exclude(*texts: str) -> Mask:
    return exclude_mask([FieldPath.parse(text, deep=True) for text in texts])


def derived(schema: Any, mask: Mask) -> Any:
    return derive(schema, mask).schema


def at_a(schema: Any, *texts: str) -> Any:
    """What an include of paths below `a` makes of the schema of `a`."""
    whole = {"type": "object", "properties": {"a": schema}}
    return derived(whole, include(*(f"a.{text}" for text in texts)))["properties"]["a"]


PERSON: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": "https://example.com/person",
    "title": "Person",
    "description": "Has a secret email.",
    "type": "object",
    "required": ["id", "email", "address", "tags"],
    "properties": {
        "id": {"type": "integer", "minimum": 1, "examples": [7]},
        "email": {"type": "string", "format": "email", "default": "a@b.c"},
        "address": {
            "type": "object",
            "required": ["city", "zip"],
            "properties": {"city": {"type": "string"}, "zip": {"type": "string"}},
        },
        "tags": {"type": "array", "minItems": 1, "uniqueItems": True, "items": {"type": "string"}},
    },
}


def test_an_include_lists_the_kept_members_and_closes():
    """The example at the top of `derive.py`; annotations are dropped, they can name what was left out."""
    assert derived(PERSON, include("id", "address.city", "tags")) == {
        "type": "object",
        "required": ["id", "address", "tags"],
        "properties": {
            "id": {"type": "integer", "minimum": 1},
            "address": {
                "type": "object",
                "required": ["city"],
                "properties": {"city": {"type": "string"}},
                "additionalProperties": False,
            },
            "tags": {"type": "array", "minItems": 1, "uniqueItems": True, "items": {"type": "string"}},
        },
        "additionalProperties": False,
    }


def test_an_exclude_refuses_the_left_out_name_and_keeps_the_rest():
    assert derived(PERSON, exclude("email", "address.zip", "tags[*]")) == {
        "type": "object",
        "required": ["id", "address", "tags"],
        "properties": {
            "id": {"type": "integer", "minimum": 1},
            "email": False,
            "address": {
                "type": "object",
                "required": ["city"],
                "properties": {"city": {"type": "string"}, "zip": False},
            },
            "tags": {"type": "array", "maxItems": 0},
        },
    }


def test_a_left_out_name_is_not_mentioned_where_the_object_is_closed_anyway():
    """DERIVATION.md: a left-out name, absent in a closed object, else `false`."""
    schema = {"type": "object", "properties": {"a": True, "b": True}, "additionalProperties": False}
    assert derived(schema, exclude("a")) == {**schema, "properties": {"b": True}}
    by_pattern = {"patternProperties": {"^a": True}, "additionalProperties": False}
    assert derived(by_pattern, exclude("a"))["properties"] == {"a": False}
    assert "properties" not in derived(by_pattern, exclude("b"))


def test_everything_keeps_every_assertion():
    without = {key: PERSON[key] for key in ("type", "required", "properties")}
    schema = derived(PERSON, include("*"))
    assert schema["required"] == without["required"]
    assert schema["properties"]["email"] == {"type": "string", "format": "email"}


def test_a_required_member_stays_required_if_it_surely_survives():
    """DERIVATION.md, `required`: a leaf, or types within {null, object, array}."""
    required = ["leaf", "object", "array", "maybe", "open", "gone"]
    schema = {
        "required": required,
        "properties": {
            "object": {"type": "object"},
            "array": {"type": ["array", "null"], "items": {"type": "string"}},
            "maybe": {"type": ["object", "string"]},
        },
    }
    paths = ("leaf", "object.x", "array.x", "maybe.x", "open.x")
    assert derived(schema, include(*paths))["required"] == ["leaf", "object", "array"]
    assert derived(schema, exclude("gone", "object.x", "maybe.x"))["required"] == required[:5]
    pattern = {"required": ["ab"], "patternProperties": {"^a": {"type": "object"}}}
    assert derived(pattern, include("ab.x"))["required"] == ["ab"]
    undecided = {"required": ["ab"], "patternProperties": {"(?=a)": {"type": "object"}}}
    assert "required" not in derived(undecided, include("ab.x"))
    additional = {"required": ["ab"], "additionalProperties": {"type": "object"}}
    assert derived(additional, include("ab.x"))["required"] == ["ab"]


def test_what_a_member_requires_stays_required_with_it():
    """DERIVATION.md: drop absent antecedents, filter consequents by survival."""
    schema = {
        "dependentRequired": {"a": ["b", "c"], "x": ["a"]},
        "dependentSchemas": {"a": {"required": ["b"]}, "x": {"required": ["a"]}},
    }
    out = derived(schema, include("a", "b"))
    assert out["dependentRequired"] == {"a": ["b"]}
    assert out["dependentSchemas"] == {"a": {"required": ["b"]}}
    assert "dependentRequired" not in derived(schema, include("b"))
    assert "dependentSchemas" not in derived(schema, include("b"))
    assert derived(schema, exclude("c"))["dependentRequired"] == {"a": ["b"], "x": ["a"]}


def test_the_number_of_members_is_bounded_from_above_and_less_from_below():
    schema = {"minProperties": 3, "maxProperties": 5}
    assert derived(schema, exclude("a"))["minProperties"] == 2
    assert derived(schema, exclude("a"))["maxProperties"] == 5
    assert "minProperties" not in derived(schema, exclude("a", "b", "c"))
    assert "minProperties" not in derived({"properties": {"a": schema}}, exclude("a.*"))["properties"]["a"]
    assert "minProperties" not in derived(schema, include("a"))
    assert derived(schema, include("a"))["maxProperties"] == 5


def test_the_names_of_members_stay_bounded_where_they_are_not_listed():
    schema = {"propertyNames": {"pattern": "^a"}}
    assert derived(schema, include("*.x"))["propertyNames"] == {"pattern": "^a"}
    assert derived(schema, exclude("a"))["propertyNames"] == {"pattern": "^a"}
    assert "propertyNames" not in derived(schema, include("a"))


def test_lengths_of_arrays_stay():
    schema = {"type": "array", "minItems": 1, "maxItems": 3, "items": {"type": "object"}}
    for mask in (include("a"), exclude("a")):
        out = derived(schema, mask)
        assert (out["minItems"], out["maxItems"]) == (1, 3)


def test_an_element_that_is_missing_is_null():
    """PROJECTION.md: arrays keep their lengths and positions."""
    assert derived({"type": "array", "items": {"type": "string"}}, include("a"))["items"] == {"type": "null"}
    either = derived({"type": "array", "items": {"type": ["string", "object"]}}, include("a"))["items"]
    assert either["type"] == ["null", "object"]
    assert derived({"type": "array", "items": {"type": "string"}}, exclude("a"))["items"] == {"type": "string"}
    positions = derived({"prefixItems": [{"type": "string"}, {"type": "object"}], "items": False}, include("a"))
    assert [part["type"] for part in positions["prefixItems"]] == ["null", "object"]
    assert positions["items"] is False


def test_an_element_that_was_contained_still_is_but_more_may_be():
    """DERIVATION.md: keep minContains, drop maxContains."""
    schema = {"contains": {"required": ["a"]}, "minContains": 2, "maxContains": 2}
    out = derived(schema, exclude("b"))
    assert (out["contains"], out["minContains"]) == ({"required": ["a"]}, 2)
    assert "maxContains" not in out
    assert {"type": "null"} in derived(schema, include("a"))["contains"]["anyOf"]
    assert not derived({"properties": {"a": schema}}, exclude("a[*]"))["properties"]["a"].keys() & set(schema)


def test_different_elements_stay_different_only_where_they_are_whole():
    schema = {"properties": {"a": {"uniqueItems": True}}}
    assert derived(schema, include("a[*]"))["properties"]["a"]["uniqueItems"] is True
    assert "uniqueItems" not in derived(schema, include("a.x"))["properties"]["a"]
    assert "uniqueItems" not in derived(schema, exclude("a.x"))["properties"]["a"]


def test_constants_are_projected_and_those_that_became_equal_are_one():
    schema = {"enum": [{"a": 1, "b": 1}, {"a": 1, "b": 2}, {"a": True}, "x", None]}
    assert at_a(schema, "a")["enum"] == [{"a": 1}, {"a": True}, None]
    assert derived({"const": {"a": 1, "b": 2}}, exclude("b"))["const"] == {"a": 1}
    assert at_a({"allOf": [{"enum": ["x", []]}]}, "b")["enum"] == [[]]


def test_no_constant_can_be_left():
    assert derived({"type": ["object", "string"], "enum": ["x"]}, include("a")) == {"type": "null"}
    assert derived({"allOf": [{"anyOf": [{"const": 1}, {"const": 2}]}]}, include("a")) == {"type": "null"}


def test_a_member_that_can_only_be_missing_is_not_listed():
    out = derived({"type": "object", "properties": {"a": {"type": "string"}}}, include("a.b"))
    assert out == {"type": "object", "additionalProperties": False}


def test_combinators_are_mapped_and_one_of_becomes_any_of():
    """DERIVATION.md: two branches may match after projection."""
    branches = [{"required": ["a"]}, {"required": ["b"]}]
    object_of_c = {"type": "object", "properties": {"c": True}}
    without_c = {"type": "object", "properties": {"c": False}}
    assert derived({**object_of_c, "anyOf": branches}, exclude("c")) == {**without_c, "anyOf": branches}
    assert derived({**object_of_c, "oneOf": branches}, exclude("c")) == {**without_c, "anyOf": branches}
    assert derived({**object_of_c, "allOf": branches}, exclude("c")) == {**without_c, "allOf": branches}
    assert derived({**object_of_c, "oneOf": [*branches, True]}, exclude("c")) == without_c
    closing = derived({"oneOf": [{"type": "object", **branch} for branch in branches]}, exclude("c"))
    assert closing == {"anyOf": [{**without_c, **branch} for branch in branches]}
    assert derived({"allOf": [{"type": "object"}, False]}, include("a")) is False
    assert derived({"anyOf": [False, False]}, include("a")) is False


def test_not_is_dropped_and_a_condition_becomes_a_choice():
    out = derived({"type": "object", "not": {"required": ["a"]}, "properties": {"b": True}}, exclude("c"))
    assert out == {"type": "object", "properties": {"b": True, "c": False}}
    schema = {"properties": {}, "if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"required": ["d"]}}
    out = derived(schema, exclude("c"))
    assert out["anyOf"] == [{"allOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"required": ["d"]}]
    assert "anyOf" not in derived({"if": {"required": ["a"]}, "then": {"required": ["b"]}}, exclude("c"))


def test_a_condition_of_which_nothing_can_be_left_leaves_nothing():
    schema = {"if": {"type": "string"}, "then": True, "else": {"type": "number"}}
    assert derived(schema, include("a")) == {"type": "null"}


def test_assertions_of_scalars_stay_in_an_exclude_and_go_in_an_include():
    schema = {"minLength": 1, "pattern": "^a", "minimum": 2, "format": "date"}
    assert {**derived(schema, exclude("x")), **schema} == derived(schema, exclude("x"))
    assert derived({"type": "string", **schema}, exclude("x")) == {"type": "string", **schema}
    assert not at_a(schema, "x").keys() & schema.keys()


def test_patterns_are_shielded_from_names_that_the_mask_knows():
    """DERIVATION.md: a pattern that can match an inner name is shielded."""
    schema = {"patternProperties": {"^a": {"type": "object"}, "^b": True}, "additionalProperties": {"const": 1}}
    out = derived(schema, exclude("ab.x", "bc"))
    assert out["patternProperties"] == {
        r"^(?!(?:ab)(?![\s\S]))[\s\S]*?(?:^a)": {"type": "object"},
        "^b": True,
    }
    assert out["properties"] == {"ab": {"type": "object", "properties": {"x": False}}, "bc": False}
    assert out["additionalProperties"] == {"const": 1}


def test_a_wildcard_closes_what_the_schema_does_not_name():
    out = derived({"type": "object", "properties": {"a": {"type": "object"}}}, include("*.x"))
    assert out["properties"] == {"a": {"type": "object", "properties": {"x": True}, "additionalProperties": False}}
    assert out["additionalProperties"] == {"$ref": "#/$defs/1"}
    assert out["$defs"] == {"1": {**SHAPE, "items": {"$ref": "#/$defs/1"}, "properties": {"x": True}}}


def test_recursion_ends_in_definitions():
    node = {"type": "object", "properties": {"id": True, "next": {"$ref": "#"}}, "additionalProperties": False}
    closed = {"type": "object", "properties": {"next": {"$ref": "#/$defs/1"}}, "additionalProperties": False}
    assert derived(node, exclude("**.id")) == {**closed, "$defs": {"1": closed}}
    second = derived(node, include("next.next.id"))["properties"]["next"]["properties"]["next"]
    assert second == {"type": "object", "properties": {"id": True}, "additionalProperties": False}


def test_what_stands_beside_a_reference_holds_too_but_not_in_draft_7():
    schema = {
        "properties": {"a": {"$ref": "#/$defs/d", "required": ["y"]}},
        "$defs": {"d": {"type": "object", "required": ["x"]}},
    }
    without_z = {"type": "object", "properties": {"z": False}}
    out = derived(schema, exclude("a.z"))["properties"]["a"]
    assert out == {"allOf": [{"required": ["y"]}, {**without_z, "required": ["x"]}]}
    out = derived({"$schema": DRAFT_7, **schema}, exclude("a.z"))["properties"]["a"]
    assert out == {**without_z, "required": ["x"]}


def test_a_reference_that_leads_nowhere_or_is_dynamic_says_nothing():
    for schema in ({"$ref": "other.json"}, {"$dynamicRef": "#node"}, {"$recursiveRef": "#"}):
        assert derived({"properties": {"a": schema}}, include("a"))["properties"] == {"a": True}
        assert at_a(schema, "b")["additionalProperties"] is False


def test_a_circle_of_references_is_answered_with_the_shape():
    """DERIVATION.md: a cycle in place, shape only; it has no meaning, but must not hang."""
    shape = {**SHAPE, "items": {"$ref": "#/$defs/1"}, "properties": {"a": True}}
    for schema in ({"$ref": "#"}, {"allOf": [{"$ref": "#"}], "type": "object"}):
        out = derived(schema, include("a"))
        assert out["$defs"] == {"1": shape}
        beside = {"type": "object", "properties": {"a": schema, "b": {"allOf": [{"$ref": "#/properties/a"}]}}}
        assert derived(beside, include("a"))["properties"].keys() == {"a"}


def test_a_custom_metaschema_is_answered_with_the_shape():
    result = derive({"$schema": "https://example.com/own", "type": "object"}, include("a"))
    assert result.precision == "shape"
    assert result.schema == derived(True, include("a"))
    assert derive({"$schema": "https://example.com/own"}, include("*")) == Derived(True, "shape")


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "object"}, {"type": "object", "maxItems": 0, "maxProperties": 0}),
        ({"type": "string"}, {"type": "null", "maxItems": 0, "maxProperties": 0}),
        ({"type": ["array", "integer"]}, {"type": ["array", "null"], "maxItems": 0, "maxProperties": 0}),
        (False, False),
    ],
)
def test_where_everything_is_left_out_only_the_empty_value_is_left(schema: Any, expected: Any):
    """PROJECTION.md: `{}`, `[]` or, for a scalar root, null. Ours: an impossible root stays impossible."""
    assert derived(schema, exclude("*")) == expected


def test_what_a_branch_says_of_positions_does_not_mix_with_what_is_said_here():
    """Ours, found by the fuzzer: `prefixItems` of a branch beside our `items` would free the first elements."""
    out = derived({"allOf": [{"prefixItems": [True]}], "items": {"type": "object"}}, include("a"))
    both = out["anyOf"][0]["allOf"]
    assert both[0]["items"]["properties"] == {"a": True}
    assert both[1] == {"prefixItems": [True]}


def test_the_boolean_schemas():
    shape = {**SHAPE, "items": {"$ref": "#/$defs/1"}, "properties": {"a": True}}
    assert derived(True, include("a")) == {"$ref": "#/$defs/1", "$defs": {"1": shape}}
    assert derived(False, include("a")) is False
    assert derived(True, exclude("a"))["$defs"]["1"]["properties"] == {"a": False}


def test_the_wrapper_of_an_output_that_is_no_object_stays():
    """PROJECTION.md: the wrapper stays on the wire."""
    schema = {"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]}
    wrapper = {"type": "object", "required": ["result"]}
    for mask in (include("result.x"), exclude("result"), exclude("*")):
        held = derive(schema, mask, wrapped=True).schema["properties"]["result"]
        assert held["type"] == "null"
    assert derive(schema, include("*"), wrapped=True).schema == {
        **wrapper,
        "properties": {"result": {"type": "string"}},
    }
    unknown = derive({**schema, "$schema": "https://example.com/own"}, exclude("*"), wrapped=True)
    assert unknown.precision == "shape"
    assert unknown.schema["properties"]["result"]["maxItems"] == 0


def test_equal_requests_have_equal_bytes():
    masks = [include("id", "address.city", "tags"), include("tags", "address.city", "id")]
    first, second = (canonical(derived(PERSON, mask)) for mask in masks)
    assert first == second
