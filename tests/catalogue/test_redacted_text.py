"""Texts about a tool as they may be shown."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from louver.catalogue.redacted_text import plain, redact_input_schema, redact_text
from louver.core.policy.name_variants import key_of
from louver.core.policy.revealed_names import Names

SSN = Names(["ssn", "a. b"])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("one\ttwo\nthree", "one\ttwo\nthree"),
        ("a\x00b\x1b[31mc\x7f\x9bd\r", "ab[31mcd"),
        ("\u202eevil\u202c \u2066x\u2069 \u200fy\u061c", "evil x y"),
        ("a\U000e0068\U000e0069b", "ab"),
        (
            "d\u00e9j\u00e0 \u0434\u0430 \U0001f469\u200d\U0001f680",
            "d\u00e9j\u00e0 \u0434\u0430 \U0001f469\u200d\U0001f680",
        ),
    ],
)
def test_what_steers_a_text_is_taken_out(text: str, shown: str):
    """PRIVACY.md, P18: control and bidirectional characters."""
    assert plain(text) == shown


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Get a user. By id.", "Get a user. By id."),
        ("Get a user. The field ssn holds it. By id!", "Get a user. By id!"),
        ("The SSN of a user", ""),
        ("Args:\n  id: one\n  s\u200bsn: secret\n  name: two", "Args:   id: one   name: two"),
        ("s\x00sn here. Fine.", "Fine."),
        ("It tells a. b there", ""),
        ("ssn? Yes.", "Yes."),
        ("", ""),
    ],
)
def test_a_sentence_that_tells_a_denied_name_is_left_out(text: str, left: str):
    """PRIVACY.md, P7; whole sentences are ours."""
    assert redact_text(text, SSN) == left


def test_an_input_schema_keeps_all_that_names_nothing():
    """Ours: what it takes stays, but for the words that name what is denied."""
    schema: Any = {
        "type": "object",
        "title": "ssn",
        "description": "Ask. Not for ssn.",
        "$comment": "see ssn",
        "examples": [{"by": "ssn"}],
        "properties": {
            "by": {"enum": ["id", "ssn"], "description": "By \u202eid."},
            "title": {"type": "string", "title": "Kept", "examples": ["Dr."]},
            "examples": {"const": "ssn", "description": 7},
        },
        "anyOf": [{"description": "ssn"}, True],
    }
    assert redact_input_schema(schema, SSN) == {
        "type": "object",
        "description": "Ask.",
        "properties": {
            "by": {"enum": ["id"], "description": "By id."},
            "title": {"type": "string", "title": "Kept", "examples": ["Dr."]},
            "examples": {"description": 7},
        },
        "anyOf": [{}, True],
    }


@pytest.mark.parametrize(
    ("keyword", "argument"),
    [
        ("default", {"ssn": 1}),
        ("default", "ssn"),
        ("example", "ssn 1"),
        ("x-help", "By the ssn."),
        ("markdownDescription", "The **ssn**."),
        ("errorMessage", {"type": "no ssn"}),
        ("enumDescriptions", ["the ssn", "another"]),
        ("deprecated", "use ssn"),
        ("title", ["ssn"]),
    ],
)
def test_a_keyword_that_says_nothing_of_what_is_valid_is_left_out_where_it_tells_a_name(keyword: str, argument: Any):
    """PRIVACY.md, P7; a property of that name is none."""
    property_ = {keyword: {"type": "string"}}
    schema: Any = {"properties": property_, "items": {keyword: argument, "minLength": 1}, "x-other": ["fine"]}
    left = {"properties": property_, "items": {"minLength": 1}, "x-other": ["fine"]}
    assert redact_input_schema(schema, SSN) == left


@pytest.mark.parametrize(
    ("schema", "left"),
    [
        (
            {
                "properties": {"q": {"$ref": "#/$defs/UserSsn/items"}},
                "$defs": {"UserSsn": {"items": {"type": "string"}}},
            },
            {
                "properties": {"q": {"$ref": "#/$defs/definition1/items"}},
                "$defs": {"definition1": {"items": {"type": "string"}}},
            },
        ),
        (
            {"patternProperties": {"^ssn$": {}, "^x-": {"maxLength": 1}}, "additionalProperties": False},
            {"patternProperties": {"^x-": {"maxLength": 1}}},
        ),
        ({"patternProperties": {r"\bssn\b": {}}, "minProperties": 1}, {"minProperties": 1}),
        (
            {"$anchor": "ssn", "$ref": "#ssn", "format": "ssn", "pattern": r"^(id|\bssn\b)$", "maxLength": 9},
            {"maxLength": 9},
        ),
        ({"pattern": "[Ss][Ss][Nn]"}, {}),
        ({"pattern": r"\x73\u0073\u{6e}"}, {}),
        ({"enum": ["ssn", "userSsn", "ssns", 1, {"ssn": 1}]}, {"enum": [1]}),
        ({"enum": ["ssn"], "const": "ssn"}, {}),
        ({"not": {"enum": ["ssn", "id"]}, "minLength": 1}, {"minLength": 1}),
        ({"if": {"const": "ssn"}, "then": {"minLength": 1}, "else": False}, {}),
        ({"contains": {"const": "ssn"}, "minContains": 2, "items": {}}, {"items": {}}),
        (
            {"oneOf": [{"const": "id"}, {"const": "ssn"}], "allOf": [True]},
            {"allOf": [True, {"anyOf": [{"const": "id"}, {}]}]},
        ),
        ({"oneOf": [{"const": "id"}, {"const": "ssn"}]}, {"allOf": [{"anyOf": [{"const": "id"}, {}]}]}),
        ({"oneOf": [{"const": "id"}, {"const": "no"}]}, {"oneOf": [{"const": "id"}, {"const": "no"}]}),
    ],
)
def test_what_an_input_takes_names_nothing_that_is_denied(schema: Any, left: Any):
    """TRUST.md, row 8: enums, constants, patterns and definitions."""
    assert redact_input_schema(schema, SSN) == left


def test_an_argument_stays_usable():
    """TRUST.md, row 8: by its own name, and by the names that it has to have."""
    schema: Any = {
        "properties": {"user_ssn": {"x-mcp-header": "user_ssn"}},
        "required": ["user_ssn"],
        "dependentRequired": {"id": ["user_ssn"]},
        "dependencies": {"user_ssn": ["id"]},
    }
    assert redact_input_schema(schema, SSN) == schema
    assert redact_input_schema({"enum": ["user_ssn", "ssn"]}, Names(["ssn"], ["user_ssn"])) == {"enum": ["user_ssn"]}


# Letters of scripts with and without spaces between words, with and without cases.
ALPHABETS = (
    "abcxyz", "абвэюя", "αβγχψω", "אבגקרש", "ابتثجح", "अआइकखग", "กขคงจฉ", "ກຂຄງຈສ", "កខគឃងច", "ကခဂဃငစ",
    "社会保障番号", "あいうえおか", "アイウエオカ", "가나다라마바", "աբգդեզ", "აბგდევ", "AbCdEf",
)  # fmt: skip


@given(st.sampled_from(ALPHABETS).flatmap(lambda letters: st.text(letters, min_size=3, max_size=6)), st.data())
def test_nothing_that_is_listed_names_what_is_denied_in_any_script(name: str, data: st.DataObject):
    """TRUST.md, row 8: alone, within running text, in the plural, as a part of a longer name, or in a pattern."""
    around = "これは{}です" if not name.isascii() and unicodedata.category(name[0]) == "Lo" else "the {} of it"
    forms = ["{}", "{}s", "user_{}", "{}_id", "user {}2", r"\b{}\b", "^({}|id)$", "({})", around]
    form = data.draw(st.sampled_from(forms))
    word = form.format(data.draw(st.sampled_from([name, name.upper(), name.title()])))
    parts: list[Any] = [
        {"description": f"One. {word}. Two."},
        {"title": word},
        {"enum": ["id", word]},
        {"const": word},
        {"pattern": word},
        {"examples": [word]},
        {"default": {word: 1}},
        {"not": {"enum": [word]}},
        {"oneOf": [{"const": word}]},
        {"patternProperties": {word: {}}},
        {"$ref": f"#/$defs/{word}", "$defs": {word: {}}},
        {"x-other": [word]},
    ]
    part = data.draw(st.sampled_from(parts))
    schema = {"properties": {"q": part, "l": {"items": part, "anyOf": [part]}}}
    told = json.dumps(redact_input_schema(schema, Names([name])), ensure_ascii=False)
    assert key_of(name) not in key_of(told)
