"""Input schemas without noise: what goes, what stays, and that nothing else becomes possible."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from louver.catalogue.lean_schema import lean

SAFE = 2**53 - 1
NULL = {"type": "null"}
OPTIONAL = {
    "a title that repeats the name": ({"title": "Max Bytes", "type": "integer"}, {"type": "integer"}),
    "a title beside a description": ({"title": "N", "description": "d"}, {"description": "d"}),
    "a title that names a constant": (
        {"oneOf": [{"const": 1, "title": "Low", "description": "d"}]},
        {"oneOf": [{"const": 1, "title": "Low", "description": "d"}]},
    ),
    "a title without letters": ({"title": "%"}, {"title": "%"}),
    "a title that says something": ({"title": "Repository owner"}, {"title": "Repository owner"}),
    "null by default": ({"anyOf": [{"type": "integer"}, NULL], "default": None}, {"type": "integer"}),
    "null among types": ({"type": ["string", "null"], "default": None}, {"type": "string"}),
    "null among several": (
        {"anyOf": [{}, {"type": "string"}, NULL], "default": None},
        {"anyOf": [{}, {"type": "string"}]},
    ),
    "null alone": ({"type": ["null"], "default": None}, {"type": ["null"]}),
    "null alone, spelled out": ({"anyOf": [NULL], "default": None}, {"anyOf": [NULL]}),
    "null or nothing": ({"anyOf": [False, NULL], "default": None}, {"anyOf": [False, NULL]}),
    "null that means something": ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
    "null that is not the default": ({"anyOf": [{}, NULL], "default": 5}, {"anyOf": [{}, NULL], "default": 5}),
    "a default": ({"type": "boolean", "default": False}, {"type": "boolean", "default": False}),
    "bounds of JavaScript": ({"minimum": -SAFE, "maximum": SAFE}, {}),
    "a bound of JavaScript that is another": ({"minimum": SAFE}, {"minimum": SAFE}),
    "bounds": ({"minimum": 0, "maximum": 100}, {"minimum": 0, "maximum": 100}),
    "data that looks like noise": ({"enum": [{"title": "x"}, None]}, {"enum": [{"title": "x"}, None]}),
    "an object": (
        {"type": "object", "properties": {"title": {"title": "Title"}}, "required": []},
        {"type": "object", "properties": {"title": {}}},
    ),
    "a description within": (
        {"anyOf": [{"type": "string", "description": "UTC"}, NULL], "description": "When", "default": None},
        {"anyOf": [{"type": "string", "description": "UTC"}, NULL], "description": "When"},
    ),
    "alternatives": (
        {"oneOf": [{"additionalProperties": False}, {}]},
        {"oneOf": [{"additionalProperties": False}, {}]},
    ),
    "a map": (
        {"additionalProperties": {"title": "Y", "description": "d"}},
        {"additionalProperties": {"description": "d"}},
    ),
    "items": ({"items": {"type": "string", "default": None}}, {"items": {"type": "string"}}),
}


def test_noise_goes_and_the_rest_stays():
    """VALUE.md."""
    root = {
        "additionalProperties": False,
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "fArguments",
        "type": "object",
    }
    for case, (given_schema, expected) in OPTIONAL.items():
        found = lean({**root, "properties": {"max_bytes": given_schema}})
        assert found == {"type": "object", "properties": {"max_bytes": expected}}, case


def test_a_required_argument_may_be_null():
    """Ours: there a model must write it."""
    schema = {"properties": {"a": {"type": ["string", "null"], "default": None}}, "required": ["a"]}
    assert lean(schema) == {"properties": {"a": {"type": ["string", "null"]}}, "required": ["a"]}
    for beside in (
        {"allOf": [{"required": ["a"]}]},
        {"dependentRequired": {"b": ["a"]}},
        {"then": {"required": ["a"]}},
    ):
        found = lean({"properties": schema["properties"], **beside})
        assert found["properties"] == {"a": {"type": ["string", "null"]}}, beside


def test_a_schema_in_the_words_of_another_draft_names_it():
    """Ours: a host that validates by the newest one would refuse it."""
    draft = {"$schema": "http://json-schema.org/draft-07/schema#"}
    for schema in ({"properties": {"a": {"items": [{}]}}}, {"properties": {"a": {}}, "dependencies": {"a": ["b"]}}):
        assert lean({**draft, **schema}) == {**draft, **schema}


def test_the_definitions_of_a_schema_are_lean_too():
    """Ours."""
    schema = {"properties": {"a": {"$ref": "#/$defs/Item"}}, "$defs": {"Item": {"title": "Item", "type": "object"}}}
    assert lean(schema) == {"properties": {"a": {"$ref": "#/$defs/Item"}}, "$defs": {"Item": {"type": "object"}}}


SCALARS = st.sampled_from([0, 1, 2**53 + 1, -1.5, "", "a", True, None])
PARTS = st.sampled_from(
    [{"type": kind} for kind in ("integer", "string", "boolean", "null")]
    + [{"type": ["string", "null"]}, {"type": "integer", "maximum": SAFE}, {"type": "integer", "maximum": 1}]
)
NOISE = st.dictionaries(st.sampled_from(["title", "description", "default"]), st.sampled_from([None, "A", "c"]))
PLACES = st.one_of(
    st.builds(lambda part, noise: {**part, **noise}, PARTS, NOISE),
    st.builds(lambda parts, noise: {"anyOf": parts, **noise}, st.lists(PARTS, min_size=1, max_size=3), NOISE),
)
SCHEMAS = st.builds(
    lambda properties, required, closed: {
        "type": "object",
        "properties": properties,
        "required": sorted(required),
        **({"additionalProperties": False} if closed else {}),
    },
    st.dictionaries(st.sampled_from("abc"), PLACES),
    st.sets(st.sampled_from("abc")),
    st.booleans(),
)


@given(SCHEMAS, st.dictionaries(st.sampled_from("abc"), SCALARS))
def test_what_a_model_writes_by_it_is_taken(schema, arguments):
    """Law: of declared arguments, and of numbers that JavaScript holds, it takes nothing that the schema refuses."""
    arguments = {
        name: value for name, value in arguments.items() if name in schema["properties"] and value != 2**53 + 1
    }
    if Draft202012Validator(lean(schema)).is_valid(arguments):
        assert Draft202012Validator(schema).is_valid(arguments)


@given(SCHEMAS)
def test_it_is_lean_at_once(schema):
    """Law."""
    assert lean(lean(schema)) == lean(schema)
