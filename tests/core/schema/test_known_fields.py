"""What a schema knows of paths, what was probably meant, and the order of members."""

from __future__ import annotations

from typing import Any

import pytest

from louver.core.paths.mask import include_mask
from louver.core.paths.path import FieldPath
from louver.core.schema.known_fields import order, unmatched

OWN = "https://example.com/own"
PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": True,
        "user": {"type": "object", "properties": {"login": {"type": "string"}, "e-mail": True}},
        "items": {"type": "array", "items": {"type": "object", "properties": {"id": True, "tags": {"items": True}}}},
        "names": {"type": "array", "items": {"type": "string"}},
        "free": {"type": "object"},
        "open": {"type": "object", "properties": {"a": True}, "additionalProperties": {"type": "object"}},
        "shut": {"type": "object", "properties": {"a": True}, "additionalProperties": False},
        "matched": {"type": "object", "patternProperties": {"^x-": {"properties": {"y": True}}, "(?=z)": True}},
        "either": {"anyOf": [{"properties": {"a": True}}, {"properties": {"b": False}}, {"type": "null"}]},
        "referred": {"allOf": [{"$ref": "#/$defs/node"}, {"$ref": "#/$defs/node"}]},
        "grid": {"items": {"items": {"properties": {"v": True}}}},
        "none": False,
        "anything": True,
    },
    "$defs": {"node": {"properties": {"next": {"$ref": "#/$defs/node"}, "value": True}}},
}


def unknown(schema: Any, *texts: str, exclude: bool = False) -> dict[str, str | None]:
    paths = [FieldPath.parse(text, deep=exclude) for text in texts]
    found = unmatched(schema, () if exclude else paths, paths if exclude else ())
    return {str(path): None if meant is None else str(meant) for path, meant in found.items()}


KNOWN = (
    *("*", "id", "user.login", "items.id", "items.*.id", "items[*].tags", "items.tags[*]", "names", "names[*]"),
    *("free.whatever", "open.a", "open.b", "open.b.c", "shut.a", "matched.x-1", "matched.x-1.y", "matched.z"),
    *("either.a", "referred.next.next.value", "grid.v", "grid[*].v", "grid[*][*].v", "anything.x.y", "user.*"),
)


def test_a_path_is_known():
    """PROJECTION.md: named on some branch, or additionalProperties is written and not false."""
    for text in KNOWN:
        assert unknown(PERSON, text) == {}, text


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("zzzz", None),
        ("user.lgoin", "user.login"),
        ("user.LOGIN", "user.login"),
        ("User.LOGIN", "user.login"),
        ("user.email", "user.e-mail"),
        ("user.login.x", "user.login"),
        ("items.0", "items.*"),
        ("items.0.id", "items.*.id"),
        ("names.x", "names"),
        ("shut.b", None),
        ("either.b", None),
        ("none", None),
        ("id,user", None),
        ("user.login.*", None),
        ("referred.nxet.value", "referred.next.value"),
    ],
)
def test_a_path_is_not_known_and_another_was_probably_meant(text: str, meant: str | None):
    """PROJECTION.md: `unmatched`, with `suggestions`."""
    assert unknown(PERSON, text) == {str(FieldPath.parse(text)): meant}


def test_a_name_at_any_depth_is_known_if_some_object_has_it():
    assert unknown(PERSON, "**.login", exclude=True) == {}
    closed = {"properties": {"a": {"properties": {"login": {"type": "string"}}}}}
    assert unknown(closed, "**.lgoin", "**.zzz", exclude=True) == {
        "**.lgoin": "**.login",
        "**.zzz": None,
    }
    node = {
        "properties": {"next": {"$ref": "#"}, "xs": {"type": "array", "items": {"$ref": "#"}}},
        "additionalProperties": False,
    }
    assert unknown(node, "**.x", exclude=True) == {"**.x": "**.xs"}


def test_a_wildcard_of_an_exclude_is_read_more_widely():
    """PROJECTION.md: it also takes no step, and an array does not use it up."""
    users = {"type": "array", "items": {"properties": {"al": {"properties": {"pw": True}}}}}
    schema = {"properties": {"users": users}}
    assert unknown(schema, "users.*.pw", exclude=True) == {}
    assert unknown(schema, "users.*.pw") == {"users.*.pw": None}
    assert unknown(schema, "users.*.al", exclude=True) == {}


def test_a_schema_that_cannot_be_read_knows_every_path():
    assert unknown({"$schema": OWN, "properties": {}}, "a") == {}
    assert unknown({"properties": {}, "anyOf": [{"const": number} for number in range(50_001)]}, "a") == {}
    assert order({"$schema": OWN}, include_mask([FieldPath(("a",))])) == {}
    # A part that is met on the way is a document of its own.
    own = {"$id": "https://example.com/part", "$schema": OWN, "type": "object"}
    assert unknown({"type": "object", "properties": {"a": own}}, "a.c") == {}
    assert unknown({"properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": own}}, "a.c", exclude=True) == {}


def test_members_stand_in_the_order_of_the_schema_then_of_code_points():
    """PROJECTION.md: the plan's canonical order; the kept deviation: canonical `fields` follow it too."""
    mask = include_mask(
        [FieldPath.parse(text) for text in ("b", "a", "z", "y", "user.b", "user.a", "xs[*].d", "xs[*].c")]
    )
    schema = {
        "properties": {
            "z": True,
            "user": {"allOf": [{"properties": {"b": True}}, {"properties": {"a": True}}]},
            "b": True,
            "xs": {"items": {"properties": {"d": True, "c": True}}},
        }
    }
    found = order(schema, mask)
    assert found[mask] == ("z", "user", "b", "xs", "a", "y")
    assert found[mask.child("user")] == ("b", "a")
    assert found[mask.child("xs").elem] == ("d", "c")


def test_the_order_of_members_below_a_wildcard_is_that_of_any_of_them():
    mask = include_mask([FieldPath.parse(text) for text in ("*.a", "*.b")])
    found = order({"additionalProperties": {"properties": {"b": True, "a": True}}}, mask)
    assert found[mask.other] == ("b", "a")


def test_of_many_names_only_some_are_compared():
    """Ours: comparing names costs, and a schema can have any number."""
    schema = {"properties": {f"name{number}": True for number in range(3000)}}
    assert unknown(schema, "nmae1") == {"nmae1": "name1"}
    assert unknown(schema, "nmae2999") != {"nmae2999": "name2999"}
    long = {"properties": {"ab" * 100 + str(number): True for number in range(1000)}}
    assert unknown(long, "ba" * 100) == {"ba" * 100: None}
