"""What may be seen of a tool's output, and what becomes of its fields."""

from __future__ import annotations

import re
from typing import Any

import pytest

from louver.core.paths.path import FieldPath
from louver.core.policy.visibility import MASKED, Fields, Visibility

KEY = b"k" * 32
EVERYTHING = Fields()
PERSON: Any = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "ssn": {"type": "string"},
        "contact": {"type": "object", "properties": {"email": {"type": "string"}, "phone": {"type": "string"}}},
    },
    "required": ["id", "ssn"],
    "additionalProperties": False,
}
ANN: Any = {"id": 1, "ssn": "078", "contact": {"email": "ann@example.org", "phone": "555"}}
WRAPPED: Any = {"type": "object", "properties": {"result": {"type": "array", "items": PERSON}}, "required": ["result"]}


def paths(*texts: str) -> tuple[FieldPath, ...]:
    return tuple(FieldPath.parse(text, deep=True) for text in texts)


def rule(**said: str) -> Fields:
    return Fields(**{key: paths(*texts.split()) for key, texts in said.items()})


def visible(fields: Fields = EVERYTHING, *, schema: Any = PERSON, **more: Any) -> Visibility:
    return Visibility(fields, schema, KEY, **more)


def test_a_rule_lets_through_what_it_allows_and_does_not_deny():
    """PRIVACY.md, "Policy file"."""
    seen = visible(rule(allow="id contact", deny="contact.phone", mask="contact.email"))
    assert seen.of(ANN) == {"id": 1, "contact": {"email": MASKED}}
    assert seen.schema == {
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "contact": {
                "type": "object",
                "properties": {"email": {"const": MASKED}},
            },
        },
        "required": ["id"],
        "additionalProperties": False,
    }


def test_without_rules_everything_is_seen():
    assert visible().is_whole
    assert visible(rule(allow="*")).is_whole
    assert visible(Fields()).of(ANN) is ANN
    assert not visible(rule(deny="ssn")).is_whole


def test_a_pseudonym_is_one_for_a_value_and_another_for_another():
    """PRIVACY.md, "Policy file": keyed, so that nobody can try values out."""
    hashing = rule(hash="ssn contact")
    seen = visible(hashing).of(ANN)
    assert re.fullmatch(r"p:[A-Za-z0-9_-]{22}", seen["ssn"])
    assert seen["contact"] != seen["ssn"]
    assert visible(hashing).of({**ANN, "id": 2})["ssn"] == seen["ssn"]
    assert visible(hashing).of({**ANN, "ssn": "079"})["ssn"] != seen["ssn"]
    assert Visibility(hashing, PERSON, b"other" * 8).of(ANN)["ssn"] != seen["ssn"]


def test_what_is_hidden_need_not_be_allowed():
    """Ours: to say that a field stands there as something else is to allow just that."""
    assert visible(rule(allow="id", mask="ssn")).of(ANN) == {"id": 1, "ssn": MASKED}


def test_what_is_masked_has_no_pseudonym_and_what_is_denied_neither():
    seen = visible(rule(deny="contact.phone", mask="ssn contact.phone", hash="ssn contact.phone"))
    assert seen.of(ANN) == {"id": 1, "ssn": MASKED, "contact": {"email": "ann@example.org"}}


def test_a_deny_is_a_deny_of_every_twin_and_an_allow_just_of_itself():
    """PRIVACY.md, P13."""
    value = {"SSN": 1, "s\u200bsn": 2, "\uff53\uff53\uff4e": 3, "ssn": 4, "id": 5}
    for said in ("deny", "mask", "hash"):
        seen = visible(rule(**{said: "ssn"}), schema=None).of(value)
        assert not {1, 2, 3, 4} & set(seen.values())
    assert visible(rule(allow="ssn"), schema=None).of(value) == {"ssn": 4}


def test_a_name_denied_in_one_branch_of_a_union_is_denied():
    """PRIVACY.md, P14."""
    union = {
        "oneOf": [
            PERSON,
            {"type": "object", "properties": {"key": {"type": "string"}, "ssn": True}},
            {"type": "string"},
        ]
    }
    seen = visible(rule(deny="ssn"), schema=union)
    assert seen.of({"key": "k", "ssn": 1}) == {"key": "k"}
    assert "ssn" not in str(seen.schema)


def test_members_beside_what_is_wrapped_are_denied_as_well():
    """Ours: a path is read with the wrapper and without it."""
    value = {"result": [ANN], "ssn": "x", "extra": {"SSN": "y", "id": 2}}
    seen = visible(rule(deny="ssn *.ssn contact"), schema=WRAPPED)
    assert seen.of(value) == {"result": [{"id": 1}], "extra": {"id": 2}}
    assert visible(rule(allow="id ssn extra"), schema=WRAPPED).of(value) == {"result": [{"id": 1, "ssn": "078"}]}
    assert visible(rule(deny="result"), schema=WRAPPED).of(value) == {"result": [], "ssn": "x", "extra": value["extra"]}
    assert visible(rule(deny="*"), schema=WRAPPED).of(value) == {"result": []}


@pytest.mark.parametrize("path", ["ssn", "result.ssn", "result.*.ssn", "*.ssn", "**.ssn"])
@pytest.mark.parametrize("said", ["deny", "mask", "hash"])
def test_json_text_is_denied_with_the_wrapper_and_without_it(path: str, said: str):
    """Ours: the text of a wrapped output is what the wrapper holds, but it need not be."""
    for value in ([{"ssn": "078"}], {"ssn": "078"}, {"result": [{"ssn": "078"}]}):
        assert "078" not in str(visible(rule(**{said: path}), schema=None, wrapper="result").of(value))


def test_text_that_begins_with_the_wrapper_is_denied_in_it_and_beside():
    """TRUST.md, row 13: a denied path is read from the text's root too; an allowed one means what it says."""
    value = {"content": {"id": 1, "ssn": "078"}, "id": 2, "ssn": "079"}
    schema = {"type": "object", "properties": {"content": PERSON, "id": True, "ssn": True}}
    for said in ("deny", "mask", "hash"):
        seen = visible(rule(**{said: "content.ssn"}), schema=schema, wrapper="content").of(value)
        assert seen["content"].get("ssn") != "078"
        assert seen.get("ssn") != "079"
    assert visible(rule(deny="ssn"), schema=schema, wrapper="content").of(value)["content"] == value["content"]
    allowing = rule(allow="content.id ssn", deny="content.ssn")
    assert visible(allowing, schema=schema, wrapper="content").of(value) == {"content": {"id": 1}}


def test_a_schema_tells_nothing_that_is_denied():
    """PRIVACY.md, P6: properties, required, dependent*, definitions, enum, const, patterns."""
    schema = {
        "type": "object",
        "title": "of ssn",
        "description": "The ssn.",
        "examples": [{"ssn": "078"}],
        "default": {"ssn": "078"},
        "properties": {"id": {"$ref": "#/$defs/ssn"}, "ssn": {"$ref": "#/$defs/ssn"}, "kind": {"enum": ["ssn", "id"]}},
        "patternProperties": {"^(ssn|x)$": {"type": "string"}},
        "propertyNames": {"pattern": "^(id|ssn|kind)$"},
        "required": ["id", "ssn"],
        "dependentRequired": {"id": ["ssn"], "ssn": ["id"]},
        "dependentSchemas": {"ssn": {"required": ["id"]}, "id": {"properties": {"ssn": {"const": 1}}}},
        "not": {"required": ["ssn"]},
        "const": {"id": 1, "ssn": 2, "kind": "ssn"},
        "$defs": {"ssn": {"type": "integer", "description": "an ssn"}},
    }
    for said in (rule(deny="ssn"), rule(allow="id kind"), rule(deny="**.ssn")):
        told = str(visible(said, schema=schema).schema)
        assert "ssn" not in told
        assert "integer" in told
    known = {"type": "object", "properties": {"id": True}}
    impossible = {**known, "properties": {"id": True, "contact": False}}
    assert visible(rule(deny="contact.phone"), schema=impossible).schema == known


def test_paths_that_a_schema_cannot_have_are_found():
    """PRIVACY.md, "Policy file": strict."""
    said = rule(allow="id nickname", deny="contact.fax", mask="ssn", hash="contact.email.domain")
    assert list(map(str, said.unknown(PERSON))) == ["nickname", "contact.fax", "contact.email.domain"]
    assert rule(deny="ssn", allow="*.id").unknown(WRAPPED) == {}
    assert rule(deny="anything").unknown({"type": "object"}) == {}


@pytest.mark.parametrize(
    ("path", "fate"),
    [
        ("id", "seen"),
        ("ssn", "dropped"),
        ("SSN", "dropped"),
        ("contact", "seen"),
        ("contact.email", "hashed"),
        ("contact.email.domain", "hashed"),
        ("contact.phone", "masked"),
        ("contact.*", "seen"),
        ("nickname", "dropped"),
    ],
)
def test_what_becomes_of_a_field_is_told(path: str, fate: str):
    said = rule(allow="id ssn contact", deny="ssn", hash="contact.email", mask="contact.phone")
    [field] = paths(path)
    assert visible(said).fate(field) == fate


@pytest.mark.parametrize(
    ("path", "hidden"),
    [("id", False), ("ssn", True), ("SSN", True), ("nickname.ssn", True), ("contact.phone", True), ("nickname", False)],
)
def test_a_path_that_tells_a_denied_name_is_not_told(path: str, hidden: bool):
    """PRIVACY.md, P7: views name fields too."""
    [field] = paths(path)
    assert visible(rule(deny="ssn contact.phone")).hides(field) is hidden


def test_names_for_the_audit_are_those_of_the_schema_and_of_rules():
    """PRIVACY.md, "Audit": matched paths by schema name."""
    assert visible(rule(deny="a.*.b")).names == {"id", "ssn", "contact", "email", "phone", "a", "b"}


def test_names_that_the_input_tells_anyway_are_no_secret():
    """Ours: `search_users(ssn=...)` tells it itself."""
    seen = visible(rule(deny="ssn contact.phone"))
    assert seen.unseen.are_in_text("ssn")
    besides = seen.unseen_besides({"properties": {"ssn": {}}})
    assert not besides.are_in_text("ssn")
    assert besides.are_in_text("the phone")


def test_a_member_is_allowed_by_its_name_not_because_nothing_denies_it():
    """Ours: and only where all of it is seen as it is, or just members of it are denied."""

    def allowed(**said: str) -> set[str]:
        seen = visible(rule(**said))
        return {name for name in ("id", "ssn", "contact", "nickname") if seen.allows(name)}

    assert allowed(allow="id contact") == {"id", "contact"}
    assert allowed(allow="id contact.email") == {"id"}
    assert allowed(allow="id contact", deny="id contact.email") == {"contact"}
    assert allowed(allow="id contact", mask="id", hash="ssn") == {"contact"}
    assert allowed(deny="ssn") == allowed(allow="*") == allowed() == set()
