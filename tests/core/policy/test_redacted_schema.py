"""Schemas that say nothing of some names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz.schemas import NAMES
from louver.core.paths.mask import exclude_mask
from louver.core.paths.path import FieldPath
from louver.core.policy.redacted_schema import redact_schema
from louver.core.policy.revealed_names import Names
from louver.core.schema.derive import derive
from strategies import JUDGE, Triple, randoms, triples

if TYPE_CHECKING:
    from collections.abc import Iterator

SSN = Names(["ssn"])


@pytest.mark.parametrize(
    "text",
    [
        "ssn",
        "the ssn.",
        "user.ssn",
        "user_ssn",
        "SSN!",
        "\uff33\uff33\uff2e",
        "s\u200bsn",
        "(ssn)",
        "^(id|ssn)$",
        " ssn ",
        "id\nssn",
        "id\x00ssn",
        "s\x00sn",
        "ssns",
        "SSNs",
        "ssn1",
        "userSsn",
        "userSSNs2",
        "SSNField",
        r"\bssn\b",
        r"^\x73\u0073n$",
        "[sS][sS][nN]",
        "\u3053\u308c\u306fssn\u3067\u3059",
    ],
)
def test_a_text_tells_a_name_however_it_is_written(text: str):
    """PRIVACY.md, P6 and P13."""
    assert SSN.are_in_text(text)


@pytest.mark.parametrize("text", ["", "assn", "lessn", "ssnx", "s s n", "id"])
def test_another_word_tells_nothing(text: str):
    """Ours: a name is a word, or a part of a compound, in the singular or the plural."""
    assert not SSN.are_in_text(text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("\u793e\u4f1a\u756a\u53f7", "\u3053\u308c\u306f\u793e\u4f1a\u756a\u53f7\u3067\u3059"),
        (
            "\u0e2d\u0e35\u0e40\u0e21\u0e25",
            "\u0e17\u0e35\u0e48\u0e2d\u0e22\u0e39\u0e48\u0e2d\u0e35\u0e40\u0e21\u0e25\u0e02\u0e2d\u0e07",
        ),
        ("\uc8fc\ubbfc\ubc88\ud638", "\uc8fc\ubbfc\ubc88\ud638\ub97c"),
        ("\u0631\u0642\u0645", "\u0627\u0644\u0631\u0642\u0645"),
        ("\u043d\u043e\u043c\u0435\u0440", "\u0434\u0432\u0430 \u043d\u043e\u043c\u0435\u0440\u0430"),
        ("socialNumber", "the social numbers"),
        ("social_number", "SocialNumber"),
        ("addresses", "one address"),
        ("city", "all cities"),
        ("cities", "a city"),
        ("emails", "an email"),
        ("$", "a $ b"),
    ],
)
def test_a_name_is_told_in_every_script_and_number(name: str, text: str):
    """TRUST.md, row 8."""
    assert Names([name]).are_in_text(text)


def test_a_name_that_is_shown_tells_nothing_of_another():
    """Ours: the field `user_ssn` is seen, so it may be named."""
    assert not Names(["ssn"], ["user_ssn"]).are_in_text("user_ssn")
    assert Names(["ssn"], ["user_ssn"]).are_in_text("the user_ssn")


def test_no_names_are_never_told():
    assert not Names([]).are_in_text("")
    assert not Names(["", "\u200b"]).are_in_text("\u200b anything")


def test_the_longest_name_is_told_as_well_as_the_shorter_one():
    names = Names(["tax", "tax id", "a.b"])
    assert names.are_in_text("tax")
    assert names.are_in_text("the tax id")
    assert names.are_in_text("[a.b]")
    assert names.are_in_text("a-b")
    assert not names.are_in_text("a c b")


def test_names_are_looked_for_in_texts_and_in_keys():
    assert SSN.are_in([1, {"a": [None, "ssn"]}])
    assert SSN.are_in({"a": {"ssn": 1}})
    assert not SSN.are_in({"a": [1, "id", {"b": None}]})


ID = {"id": {"type": "integer"}}


@pytest.mark.parametrize(
    ("schema", "left"),
    [
        (True, True),
        ({"properties": ID}, {"properties": ID}),
        ({"enum": ["ssn", 1], "type": "string"}, {"type": "string"}),
        ({"const": {"a": "ssn"}}, {}),
        ({"required": ["id", "ssn"]}, {}),
        ({"pattern": "ssn|id", "minLength": 2}, {"minLength": 2}),
        ({"propertyNames": {"pattern": "^(id|ssn)$"}, "minProperties": 1}, {"minProperties": 1}),
        ({"properties": {"id": {"const": "ssn"}}}, {"properties": {"id": {}}}),
        (
            {"allOf": [{"const": "ssn"}, True], "$defs": {"1": {"const": "ssn"}}},
            {"allOf": [{}, True], "$defs": {"1": {}}},
        ),
        (
            {"items": {"anyOf": [{"const": "ssn"}]}, "prefixItems": [False]},
            {"items": {"anyOf": [{}]}, "prefixItems": [False]},
        ),
        ({"additionalProperties": {"enum": ["ssn"]}}, {"additionalProperties": {}}),
        ({"dependentSchemas": {"id": {"const": "ssn"}}}, {"dependentSchemas": {"id": {}}}),
        ({"not": {"const": "id"}, "if": True, "then": {"const": "ssn"}}, {}),
        ({"oneOf": [{"const": 1}, {"const": "ssn"}]}, {}),
        ({"contains": {"const": "ssn"}, "maxContains": 1, "minItems": 1}, {"minItems": 1}),
        (
            {"patternProperties": {"^ssn$": {}, "^x-": {"const": "ssn"}}, "additionalProperties": False},
            {"patternProperties": {"^x-": {}}},
        ),
        ({"patternProperties": {"^ssn$": {}}, "additionalProperties": False}, {}),
        (
            {"patternProperties": {"^x-": {"const": "ssn"}}, "additionalProperties": False},
            {"patternProperties": {"^x-": {}}, "additionalProperties": False},
        ),
        ({"dependentSchemas": "ssn"}, {}),
    ],
)
def test_what_tells_a_name_is_left_out(schema: Any, left: Any):
    """PRIVACY.md, P6: patterns, enums, constants and the rest."""
    assert redact_schema(schema, SSN) == left


def said(schema: Any) -> Iterator[str]:
    """The texts of a schema, without its keywords and the names of properties that are seen."""
    if isinstance(schema, str):
        yield schema
    elif isinstance(schema, list):
        for each in schema:
            yield from said(each)
    elif isinstance(schema, dict):
        for keyword, argument in schema.items():
            if keyword == "patternProperties":
                yield from argument
            if keyword not in ("type", "format", "$ref"):
                yield from said([*argument.values()] if keyword in ("properties", "$defs") else argument)


@st.composite
def left_out(draw: st.DrawFn) -> tuple[Triple, tuple[str, ...]]:
    triple, rng = draw(triples()), draw(randoms())
    return triple, tuple(rng.sample([name for name in NAMES if name], rng.choice((1, 1, 2))))


@given(left_out())
def test_what_was_valid_stays_valid_and_no_name_is_told(case: tuple[Triple, tuple[str, ...]]):
    """The law: it admits all that it did."""
    triple, names = case
    denied = tuple(FieldPath((name,), deep=True) for name in names)
    schema = derive(triple.schema, exclude_mask(denied), silent=True).schema
    looser = redact_schema(schema, Names(names))
    before, after = JUDGE(schema, "2020-12"), JUDGE(looser, "2020-12")
    assert before is not None
    assert after is not None
    assert after(triple.value) or not before(triple.value), looser
    assert not any(Names(names).are_in_text(text) for text in said(looser)), looser
