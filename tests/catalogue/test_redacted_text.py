"""Texts about a tool as they may be shown."""

from __future__ import annotations

from typing import Any

import pytest

from louver.catalogue.redacted_text import plain, redact_input_schema, redact_text
from louver.core.policy.redacted_schema import Names

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


def test_an_input_schema_keeps_all_that_is_valid():
    """Ours: what it takes is its own, and tells what it tells."""
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
            "by": {"enum": ["id", "ssn"], "description": "By id."},
            "title": {"type": "string", "title": "Kept", "examples": ["Dr."]},
            "examples": {"const": "ssn", "description": 7},
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
    "schema",
    [
        {"properties": {"q": {"$ref": "#/$defs/ssn"}}, "$defs": {"ssn": {"type": "string"}}},
        {"definitions": {"ssn": {}}, "patternProperties": {"^ssn$": {}}, "dependencies": {"id": ["ssn"]}},
        {"$anchor": "ssn", "format": "ssn", "pattern": "ssn", "x-mcp-header": "ssn"},
        {"required": ["ssn"], "dependentRequired": {"id": ["ssn"]}, "enum": ["ssn"], "const": "ssn"},
    ],
)
def test_what_an_input_takes_tells_what_it_tells(schema: Any):
    """Ours."""
    assert redact_input_schema(schema, SSN) == schema
