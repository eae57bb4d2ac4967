"""Places: `$ref`, `$id`, `$anchor` and the dialects."""

from __future__ import annotations

from typing import Any

import pytest

from louver.core.schema.references import Place, UnknownDialect, document

DRAFT_6 = "http://json-schema.org/draft-06/schema#"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"


def target(schema: Any, reference: Any) -> Any:
    place = document(schema).resolve(reference)
    return None if place is None else place.schema


def test_a_pointer_leads_to_the_schema_that_it_names():
    schema = {"$defs": {"a/b": {"type": "null"}, "c~d": {"allOf": [True, {"const": 1}]}, "é": {"const": 2}}}
    assert target(schema, "#") is schema
    assert target(schema, "") is schema
    assert target(schema, "#/$defs/a~1b") == {"type": "null"}
    assert target(schema, "#/$defs/c~0d/allOf/1") == {"const": 1}
    assert target(schema, "#/$defs/c~0d/allOf/0") is True
    assert target(schema, "#/$defs/%C3%A9") == {"const": 2}


@pytest.mark.parametrize(
    "reference",
    [
        "#/$defs/b",
        "#/$defs/a/allOf/1",
        "#/$defs/a/allOf/²",
        "#/$defs/a/allOf/" + "9" * 5000,
        "#/$defs/a/allOf/-1",
        "#/$defs/a/allOf/01",
        "#/$defs/a/title/x",
        "#/$defs/a/title",
        "#nowhere",
        "other.json",
        "https://elsewhere.example/schema",
        "http://[broken",
        "http://[broken#x",
        7,
        None,
        ["#"],
    ],
)
def test_a_reference_that_leads_nowhere_has_no_place(reference: object):
    """Nothing is ever fetched; ours: nothing that a schema writes here raises."""
    assert target({"$defs": {"a": {"allOf": [True], "title": "x"}}}, reference) is None


def test_an_anchor_is_found_wherever_a_schema_can_stand():
    """JSON Schema 2020-12 core, 8.2.2."""
    here = {"$anchor": "here"}
    places: tuple[Any, ...] = (
        {"properties": {"a": here}},
        {"anyOf": [True, here]},
        {"items": here},
        {"$defs": {"a": {"not": here}}},
        {"dependentSchemas": {"a": here}},
        {"definitions": {"a": here}},
        {"$defs": {"a": {"$dynamicAnchor": "here"}}},
    )
    for schema in places:
        assert target(schema, "#here") in (here, {"$dynamicAnchor": "here"})
    assert target({"const": here, "enum": [here], "x-unknown": here}, "#here") is None


def test_of_two_anchors_of_one_name_the_first_counts():
    assert target({"$defs": {"a": {"$anchor": "x", "const": 1}, "b": {"$anchor": "x"}}}, "#x")["const"] == 1


def test_an_embedded_resource_is_found_by_its_identifier_and_starts_its_own_references():
    """JSON Schema 2020-12 core, 8.2.1 and 9.2."""
    inner = {"$id": "item", "$ref": "#/$defs/x", "$defs": {"x": {"const": 1}}, "properties": {"r": {"$ref": "root"}}}
    schema = {"$id": "https://h.example/root", "$defs": {"item": inner, "x": {"const": 2}}}
    root = document(schema)
    for reference in ("item", "https://h.example/item", "#/$defs/item"):
        place = root.resolve(reference)
        assert place is not None
        assert place.schema is inner
        found = place.resolve("#/$defs/x")
        assert found is not None
        assert found.schema == {"const": 1}
        back = place.resolve("root")
        assert back is not None
        assert back == root
        assert hash(back) == hash(root)
    through = root.resolve("#/$defs/item/properties/r")
    assert through is not None
    assert through.resolve("#") == root.resolve("item")


def test_resources_that_refer_to_each_other_are_one_place_each():
    """Ours: each way around once made new places, without end."""
    schema = {
        "$id": "http://h.example/root",
        "$defs": {
            "a": {"$id": "a", "properties": {"b": {"$ref": "b"}}},
            "b": {"$id": "b", "properties": {"a": {"$ref": "a"}}},
        },
    }
    place: Place | None = document(schema).resolve("a")
    seen = set[Place]()
    for name in ("b", "a") * 4:
        assert place is not None
        seen.add(place)
        place = place.below("properties")[0].resolve(name)
    assert len(seen) == 2


def test_a_property_called_id_opens_no_resource():
    schema = {"properties": {"$id": {"properties": {"x": {"const": 1}}}}}
    assert target(schema, "#/properties/$id/properties/x") == {"const": 1}


def test_an_identifier_that_is_no_uri_or_no_text_is_passed_over():
    assert target({"$id": 7, "$defs": {"a": {"$id": [], "$anchor": "x"}}}, "#x") == {"$id": [], "$anchor": "x"}
    assert target({"$id": "http://[x", "$defs": {"a": {"$anchor": "x"}}}, "#x") == {"$anchor": "x"}


def test_what_is_not_well_formed_is_passed_over():
    """Ours: the schema of an upstream is nobody's promise."""
    schema: Any = {
        "properties": 5,
        "allOf": {"x": 1},
        "items": "no",
        "$defs": {"a": 7, "b": {"$anchor": 3}, "c": {"$anchor": "x", "anyOf": [None]}},
        "definitions": [],
        "anyOf": 1,
    }
    place = document(schema)
    assert place.below("properties") == place.below("allOf") == place.below("anyOf") == []
    assert place.named("properties") == {}
    assert place.member("properties", "a") is None
    assert [below.schema for below in place.below("items")] == [True]
    assert target(schema, "#x")["$anchor"] == "x"
    assert document(True).words == {}
    assert target(True, "#x") is None
    assert target(True, "#") is True


def test_draft_7_names_an_anchor_by_its_identifier_and_ignores_what_stands_beside_a_reference():
    """JSON Schema draft 7 core, 8.2.3 and 8.3."""
    schema = {
        "$schema": DRAFT_7,
        "definitions": {
            "a": {"$id": "#here", "const": 1},
            "b": {"$ref": "#here", "$id": "other", "type": "null"},
            "c": {"$ref": "#/definitions/a", "$id": "#there"},
        },
        "dependencies": {"x": {"const": 2}, "y": ["x"]},
    }
    root = document(schema)
    assert target(schema, "#here") == {"$id": "#here", "const": 1}
    assert target(schema, "#there") is None
    beside = root.resolve("#/definitions/b")
    assert beside is not None
    assert beside.words == {"$ref": "#here"}
    assert beside.resolve("#here") == root.resolve("#here")


def test_older_dialects_are_read_in_the_words_of_2020_12():
    """DERIVATION.md: the target's dialect decides its keywords."""
    old = {
        "items": [True],
        "additionalItems": False,
        "dependencies": {"a": ["b"], "c": {"const": 1}},
        "prefixItems": [False],
        "minContains": 2,
        "if": True,
        "unevaluatedItems": False,
        "dependentRequired": {"x": ["y"]},
    }
    seven = document({"$schema": DRAFT_7, **old}).words
    assert {name: seven[name] for name in seven if name != "$schema"} == {
        "prefixItems": [True],
        "items": False,
        "dependentRequired": {"a": ["b"]},
        "dependentSchemas": {"c": {"const": 1}},
        "if": True,
    }
    assert "if" not in document({"$schema": DRAFT_6, **old}).words
    nineteen = document({"$schema": DRAFT_2019, **old}).words
    assert nineteen["prefixItems"] == [True]
    assert nineteen["unevaluatedItems"] is False
    assert nineteen["dependentRequired"] == {"x": ["y"]}
    assert nineteen["dependencies"] == old["dependencies"]
    assert document({"$schema": DRAFT_7, "additionalItems": False, "items": True}).words["items"] is True
    assert "items" not in document({"$schema": DRAFT_7, "items": [True]}).words


def test_a_dialect_that_is_not_known_is_said():
    """DERIVATION.md: a custom metaschema, refuse to derive."""
    for dialect in ("https://example.com/own", "http://json-schema.org/draft-04/schema#", 7):
        with pytest.raises(UnknownDialect):
            document({"$schema": dialect})


def test_an_embedded_resource_can_be_in_another_dialect():
    schema = {
        "$defs": {
            "old": {"$schema": DRAFT_7, "$id": "old", "items": [True]},
            "odd": {"$schema": "https://example.com/own", "$id": "odd", "$anchor": "x"},
        }
    }
    place = document(schema).resolve("old")
    assert place is not None
    assert place.words["prefixItems"] == [True]
    assert target(schema, "#x") is None
    assert target(schema, "odd") is None
    with pytest.raises(UnknownDialect):
        document(schema).resolve("#/$defs/odd")
