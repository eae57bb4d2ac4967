"""Exact outputs of selecting for small schemas."""

from __future__ import annotations

from typing import Any

from louver.core.paths.path import FieldPath
from louver.core.shaping.options import Shaping
from louver.core.shaping.selected_schema import selected
from strategies import JUDGE

USER = {
    "type": "object",
    "required": ["email", "name"],
    "properties": {"email": {"type": "string", "minLength": 3}, "name": {"type": ["string", "null"]}},
}
MESSAGE: dict[str, Any] = {
    "type": "object",
    "required": ["created", "author", "content"],
    "properties": {
        "id": {"type": "string"},
        "created": {"type": "string", "format": "date-time"},
        "author": {"$ref": "#/$defs/user"},
        "editor": {"$ref": "#/$defs/user"},
        "content": {"type": "string"},
        "labels": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
    },
    "$defs": {"user": USER},
}
ANY = {"type": ["array", "null", "object"], "properties": {"b": True}, "additionalProperties": False}


def picked(schema: Any, members: Any, at: str = "*", *, wrapped: bool = False) -> Any:
    shaping = Shaping.read("v", {"select": members, "at": at})
    assert shaping.select is not None
    return selected(schema, shaping.select, wrapped=wrapped).schema


def member(schema: Any, path: str) -> Any:
    """What is said of a selected member, and whether it is required."""
    out = picked(schema, {"b": path})
    return out["properties"].get("b"), "required" in out


def test_the_schema_of_the_example_of_the_proposal_has_its_members_and_no_others():
    """001 pattern 4."""
    members = {
        "ts": {"path": "created", "format": "minute"},
        "from": {"path": "author.email", "format": "localpart"},
        "content": "content",
    }
    assert picked(MESSAGE, members) == {
        "type": "object",
        "properties": {
            "ts": {"type": "string"},
            "from": {"type": "string", "minLength": 1},
            "content": {"type": "string"},
        },
        "required": ["ts", "from", "content"],
        "additionalProperties": False,
    }


def test_a_member_is_required_if_the_whole_path_is():
    """001 pattern 4; null on the way is something that is found."""
    assert member(MESSAGE, "author.name") == ({"type": ["string", "null"]}, True)
    assert member(MESSAGE, "editor.email") == ({"type": "string", "minLength": 3}, False)
    nullable = {**MESSAGE, "properties": {"author": {"anyOf": [{"$ref": "#/$defs/user"}, {"type": "null"}]}}}
    assert member(nullable, "author.email") == ({"type": ["null", "string"], "minLength": 3}, True)
    scalar = {**MESSAGE, "properties": {"author": {"anyOf": [{"$ref": "#/$defs/user"}, {"type": "string"}]}}}
    assert member(scalar, "author.email") == ({"type": "string", "minLength": 3}, False)
    inherited = {"type": "object", "allOf": [{"$ref": "#/$defs/m"}], "$defs": {"m": MESSAGE, "user": USER}}
    assert member(inherited, "author.email") == ({"type": "string", "minLength": 3}, True)
    unknown = {"type": "object", "required": ["a"]}
    assert member(unknown, "a") == (True, True)
    assert member(unknown, "a.x") == (True, False)


def test_a_member_that_cannot_be_there_is_not_listed():
    closed = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}
    for path in ("nope", "a.x"):
        assert picked(closed, {"b": path}) == {"type": "object", "properties": {}, "additionalProperties": False}


def test_what_a_name_finds_in_an_array_is_an_array():
    """PROJECTION.md: arrays keep their lengths; an element without the member becomes null."""
    assert member(MESSAGE, "labels.name") == ({"type": "array", "items": {"type": ["null", "string"]}}, False)
    users = {"type": "object", "properties": {"to": {"type": "array", "minItems": 1, "maxItems": 9, "items": USER}}}
    assert member(users, "to.email")[0] == {
        "type": "array",
        "minItems": 1,
        "maxItems": 9,
        "items": {"type": "string", "minLength": 3},
    }
    positions = {"properties": {"to": {"type": "array", "prefixItems": [USER, {"type": "null"}], "items": False}}}
    assert member(positions, "to.email")[0] == {
        "type": "array",
        "prefixItems": [{"type": "string", "minLength": 3}, {"type": "null"}],
        "items": False,
    }
    assert member({"properties": {"to": {"type": "array"}}}, "to.email")[0] == {"type": "array"}
    either = {"properties": {"to": {**USER, "type": ["array", "object"], "items": USER}}}
    assert {"type": "array", "items": {"type": "string", "minLength": 3}} in member(either, "to.email")[0]["anyOf"]


def test_every_schema_that_applies_to_a_member_says_something_of_it():
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "patternProperties": {"^a": {"minLength": 1}},
        "allOf": [{"properties": {"a": {"maxLength": 9}}}],
        "anyOf": [{"properties": {"a": {"pattern": "x"}}}, {"properties": {"a": {"pattern": "y"}}}, {"type": "array"}],
    }
    assert member(schema, "a")[0] == {
        "allOf": [
            {"allOf": [{"type": "string"}, {"minLength": 1}]},
            {"maxLength": 9},
            {"anyOf": [{"pattern": "x"}, {"pattern": "y"}]},
        ]
    }
    assert member({"additionalProperties": {"type": "integer"}}, "a")[0] == {"type": "integer"}


def test_objects_that_are_elements_are_closed_even_if_nothing_is_said_of_them():
    anything = {**ANY, "items": {"$ref": "#/$defs/1"}}
    unknown = picked({"type": "array"}, {"b": "a"})
    assert unknown == {"type": "array", "items": {"$ref": "#/$defs/1"}, "$defs": {"1": anything}}
    items = {"type": ["object", "string"], "properties": {"a": {"type": "integer"}}, "additionalProperties": False}
    assert picked({"type": "array", "items": items}, {"b": "a"})["items"] == {
        "type": ["null", "object"],
        "properties": {"b": {"type": "integer"}},
        "additionalProperties": False,
    }
    assert picked({"type": "array", "items": False}, {"b": "a"})["items"] is False


def test_a_scalar_root_becomes_null():
    assert picked({"type": "string"}, {"b": "a"}) == {"type": "null"}
    assert picked(True, {"b": "a"}) == {"$defs": {"1": {**ANY, "items": {"$ref": "#/$defs/1"}}}, "$ref": "#/$defs/1"}


def test_above_the_place_all_stays():
    """DERIVATION.md: as for an exclude that leaves nothing out."""
    schema = {
        "type": "object",
        "required": ["messages", "total"],
        "minProperties": 2,
        "properties": {"messages": {"type": "array", "minItems": 1, "items": MESSAGE}, "total": {"type": "integer"}},
        "additionalProperties": False,
        "$defs": {"user": USER},
    }
    for at in ("messages", "messages.*"):
        assert picked(schema, {"b": "content"}, at) == {
            "type": "object",
            "required": ["messages", "total"],
            "minProperties": 2,
            "properties": {
                "messages": {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "type": "object",
                        "properties": {"b": {"type": "string"}},
                        "required": ["b"],
                        "additionalProperties": False,
                    },
                },
                "total": {"type": "integer"},
            },
            "additionalProperties": False,
        }


def test_a_member_at_the_place_that_can_be_a_scalar_is_not_required_any_more():
    schema = {
        "required": ["a", "b"],
        "minProperties": 2,
        "properties": {"a": {"type": ["object", "string"], "additionalProperties": False}},
    }
    out = picked(schema, {"b": "a"}, "a")
    assert (out["required"], out["minProperties"]) == (["b"], 1)
    assert "minProperties" not in picked(schema, {"b": "a"}, "a.*")["properties"]["a"]
    assert (
        "minProperties" not in picked({"properties": {"m": {"minProperties": 1}}}, {"b": "a"}, "m.*")["properties"]["m"]
    )


def test_constants_above_the_place_are_selected_from():
    schema = {"const": {"messages": [{"a": 1, "x": 2}, {"x": 3}, 7], "total": 3}}
    assert picked(schema, {"b": "a"}, "messages")["const"] == {"messages": [{"b": 1}, {}, None], "total": 3}


def test_a_wrapper_stays_and_the_place_is_in_what_it_holds():
    schema = {"type": "object", "properties": {"result": {"type": "array", "items": USER}}, "required": ["result"]}
    assert picked(schema, {"b": "email"}, wrapped=True) == {
        "type": "object",
        "properties": {
            "result": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"b": {"type": "string", "minLength": 3}},
                    "required": ["b"],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["result"],
    }


def test_recursive_schemas_end():
    value = {
        "anyOf": [{"type": "array", "items": {"$ref": "#"}}, {"type": "object", "additionalProperties": {"$ref": "#"}}]
    }
    out = picked(value, {"b": "a.x"})
    accepts = JUDGE(out, "2020-12")
    assert accepts is not None
    assert accepts([{"b": []}, {}, {"b": [{}, None, []]}])
    assert not accepts([{"c": []}])
    circle = {"allOf": [{"$ref": "#"}]}
    assert picked(circle, {"b": "a"})["$defs"]["1"] == {**ANY, "items": {"$ref": "#/$defs/1"}}
    within: dict[str, Any] = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/c"}},
        "$defs": {"c": {"allOf": [{"$ref": "#/$defs/c"}]}},
    }
    assert member({**within, "required": ["a"]}, "a.x") == (True, False)
    within["$defs"] = {"c": {"type": "object", "required": ["x"], "allOf": [{"$ref": "#/$defs/c"}]}}
    assert member({**within, "required": ["a"]}, "a.x") == (True, False)


def test_a_schema_that_cannot_be_read_or_is_too_much_is_answered_with_the_names():
    """DERIVATION.md: sound, and closed at the place."""
    names = Shaping.read("v", {"select": {"b": "a.x"}, "at": "in"}).select
    assert names is not None
    doubling: dict[str, Any] = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(22)}
    much = {"properties": {"in": {"$ref": "#/$defs/d0"}}, "$defs": {**doubling, "d22": {"type": "object"}}}
    for schema in (much, {"$schema": "https://example.com/mine"}):
        found = selected(schema, names)
        assert found.precision == "shape"
        accepts = JUDGE(found.schema, "2020-12")
        assert accepts is not None
        assert accepts({"in": {"b": 1}, "other": {"c": 1}})
        assert not accepts({"in": [{"c": 1}]})
    assert names.at == FieldPath(("in",))
