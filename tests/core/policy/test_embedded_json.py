"""JSON within strings, and text that is nearly JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fixtures.growth import superlinear
from louver.core.paths.path import FieldPath
from louver.core.policy import embedded_json
from louver.core.policy.embedded_json import TOO_MANY, WITHHELD, begins_like_json
from louver.core.policy.visibility import MASKED, Fields, Visibility

SECRET = "078-05-1120"
ANN: Any = {"id": 1, "ssn": SECRET}
OBJECT = f'{{"ssn": "{SECRET}"}}'


def seen(value: Any, **said: str) -> Any:
    """What is visible of a value by one rule."""
    paths = {
        key: tuple(FieldPath.parse(text, deep=key != "allow") for text in texts.split()) for key, texts in said.items()
    }
    return Visibility(Fields(**paths), None, b"k" * 32).of(value)


def text(value: Any, **more: Any) -> str:
    return json.dumps(value, **more)


@pytest.mark.parametrize(
    ("value", "left"),
    [
        ({"result": text(ANN), "id": 1}, {"result": '{"id":1}', "id": 1}),
        ({"Result": text(ANN)}, {"Result": '{"id":1}'}),
        ({"result": {"result": text(ANN)}}, {"result": {"result": '{"id":1}'}}),
        ({"data": [text([ANN, ANN], indent=2)]}, {"data": ['[{"id":1},{"id":1}]']}),
        ({"data": text(text(ANN))}, {"data": text('{"id":1}')}),
        (
            {"data": text({"data": text({"more": text(ANN)})})},
            {"data": text({"data": text({"more": '{"id":1}'}, separators=(",", ":"))}, separators=(",", ":"))},
        ),
        ({"data": f"\n\t {text(ANN)} "}, {"data": '{"id":1}'}),
        ({"data": text({**ANN, "name": "\ud83d"})}, {"data": '{"id":1,"name":"\\ud83d"}'}),
        ({"data": text({"result": ANN})}, {"data": '{"result":{"id":1}}'}),
        ({"data": text({"result": ANN, "ssn": 1})}, {"data": '{"result":{"id":1}}'}),
        ({"data": text({"SSN": 1, "s\u200bsn": 2, "\uff53sn": 3})}, {"data": "{}"}),
    ],
)
def test_a_denied_field_is_pruned_in_the_json_of_a_string(value: Any, left: Any):
    """TRUST.md, row 7: as an output of its own, at any depth."""
    for path in ("ssn", "**.ssn", "result.ssn"):
        assert seen(value, deny=path) == left


def test_a_path_leads_through_the_string_that_holds_the_json():
    """TRUST.md, row 7: as if there were no string."""
    value = {"contact": text({"phone": "555", "of": {"phone": 1}}), "note": text({"of": {"phone": "555"}})}
    assert seen(value, deny="contact.phone") == {"contact": '{"of":{"phone":1}}', "note": '{"of":{"phone":"555"}}'}
    assert seen({"a": text(ANN)}, mask="a.ssn") == {"a": text({"id": 1, "ssn": MASKED}, separators=(",", ":"))}
    assert seen({"a": text(ANN)}, hash="ssn")["a"] == text(seen(ANN, hash="ssn"), separators=(",", ":"))
    assert seen({"a": "[1, 2]", "b": "[1, 2]"}, deny="a.*") == {"a": "[]", "b": "[1,2]"}
    assert seen({"a": '"[1, 2]"'}, deny="a.*") == {"a": '"[]"'}


def test_what_was_denied_cannot_be_told_by_white_space():
    """PRIVACY.md, P8: a string is written alike whether it held the field or not."""
    assert seen({"a": text({"id": 1})}, deny="ssn") == seen({"a": text(ANN)}, deny="ssn")


def test_a_field_that_is_allowed_whole_is_sent_as_it_is_where_nothing_is_denied():
    """PRIVACY.md, "Not promised": what an allowed field holds is allowed."""
    value = {"note": f"```json\n{text(ANN)}\n```", "data": text(ANN)}
    assert seen(value, allow="note data") == value
    assert seen(value, allow="data.id note.id") == {}


NEARLY = {
    "NaN": '{"id": NaN, "ssn": "078-05-1120"}',
    "a doubled key": '{"id": 1, "id": 2, "ssn": "078-05-1120"}',
    "two values": f"{OBJECT}\n{OBJECT}",
    "two values, the first empty": f"[]{OBJECT}",
    "a list, then an object": f"[1, true] {OBJECT}",
    "too deep": f"{'[' * 2000}{OBJECT}{']' * 2000}",
    "a huge integer": f'{{"n": {"9" * 5000}, "ssn": "078-05-1120"}}',
    "a huge number": '{"n": 1e999, "ssn": "078-05-1120"}',
    "a trailing comma": '{"ssn": "078-05-1120",}',
    "a comment": '{/* it */ "ssn": "078-05-1120"}',
    "a comment in a list": f"[// it\n{OBJECT}]",
    "a comment before it": f"// it\n{OBJECT}",
    "several comments before it": f"/* it * is */ // so\r\n\t//\n/**/{OBJECT}",
    "an object that is a comment": f"// {OBJECT}",
    "a comment that does not end": f"/* {OBJECT}",
    "a number without a zero": f"[.5, {OBJECT}]",
    "single quotes": "{'ssn': '078-05-1120'}",
    "no quotes": "{ssn: '078-05-1120'}",
    "a byte order mark": f"\ufeff{OBJECT}",
    "invisible characters": f"\u200b\u2060\u3164{OBJECT}",
    "control characters": f"\x00\x1b{OBJECT}",
    "a no-break space": f"\xa0{OBJECT}",
    "a code fence": f"```json\n{OBJECT}\n```",
    "a code fence with a title": f"~~~ json title=x\n{OBJECT}\n~~~",
    "a code fence in a line": f"```{OBJECT}```",
    "a guard": f")]}}',\n{OBJECT}",
    "a quotation": f"> {OBJECT}",
    "prose after it": f"{OBJECT} is what there is",
    "cut off": OBJECT[:-2],
    "a string cut off": text(OBJECT)[:-2],
    "a string of escapes cut off": '"\\u007b\\u0022ssn\\u0022: \\u0022078-05-1120',
    "Python's own": "[None, {'ssn': '078-05-1120'}]",
    "Python's tuples": "[(1, {'ssn': '078-05-1120'})]",
    "a list of lists": f"[[1], {OBJECT},]",
}


@pytest.mark.parametrize("nearly", NEARLY.values(), ids=NEARLY)
def test_text_that_begins_like_json_and_is_not_is_withheld(nearly: str):
    """TRUST.md, row 4: also where `allow` names the member that holds it."""
    for said in ({"deny": "**.ssn"}, {"allow": "result a", "deny": "ssn"}, {"mask": "ssn"}, {"hash": "**.ssn"}):
        assert seen({"result": nearly}, **said) == {"result": WITHHELD}
        assert seen({"a": [nearly, text({"b": nearly})]}, **said) == {
            "a": [WITHHELD, text({"b": WITHHELD}, separators=(",", ":"))]
        }


@pytest.mark.parametrize(
    "prose",
    [
        "",
        "Ann",
        "[Bug] It fails",
        "[1] Smith et al.",
        "[ ] to do",
        "[x] done",
        "[a name](https://example.org)",
        "[[a page]]",
        "[2026-01-01 12:30:01] it has begun",
        "{name} is greeted",
        "- one\n- two",
        '"Hello", it says',
        '"Hello"',
        r'"\u0041nn"',
        "\\frac{1}{2}",
        "`code` is code",
        "\u65e5\u672c\u8a9e",
        "// to be done",
        "/* to be done */ or not",
        "It is {name}, {} or {a: 1}",
        "// it is [1, 2]",
        "[(1) one, (2) two]",
        "<ssn>1</ssn>",
        "ssn: 1",
        'paths:\n  /users/{id}:\n    "200": one',
        'switch (a) { case "b": c }',
        'GET {url}, "GET": it is said',
        f"Result: {OBJECT}",
        f"200 OK\n{OBJECT}",
        f"event: message\ndata: {OBJECT}\n\n",
        f"Here it is:\n```json\n{OBJECT}\n```\n",
    ],
)
def test_prose_of_an_allowed_field_stays(prose: str):
    """PRIVACY.md, "Not promised": secrets in the free text of an allowed field. It is not searched for JSON."""
    assert seen({"title": prose}, deny="**.ssn") == {"title": prose}


def test_texts_past_a_bound_are_withheld(monkeypatch: pytest.MonkeyPatch):
    """TRUST.md, row 24: 200,000 small texts took 7 s. Texts without JSON do not count."""
    monkeypatch.setattr(embedded_json, "MAX_JSON_TEXTS", 4)
    told = text(ANN)
    left = '{"id":1}'
    assert seen({"a": ["x", *[told] * 6]}, deny="ssn") == {"a": ["x", *[left] * 4, TOO_MANY, TOO_MANY]}


def test_the_cost_of_many_objects_is_linear_in_their_number():
    """TRUST.md, row 24: in one text, and in a text each."""
    for value_of in (str, str.splitlines):
        ratios = superlinear(
            lambda lines, a=value_of: seen({"a": a(lines)}, deny="**.ssn", mask="id"), [text(ANN) + "\n"]
        )
        assert ratios == {}


@pytest.mark.parametrize("start", ['"', "["])
def test_the_cost_of_a_text_is_linear_in_its_length(start: str):
    """TRUST.md, row 14: a beginning has one reading, and no part of it is searched again and again."""
    brackets = ["[", "[[1", "[1,", "[1]", "(", "{", "{a ", "{a}"]
    comments = ["/", "//\t", "// a", "// a\r", "/*", "/* a", "*/", "/* a */"]
    others = ["`", "```a", "~", '"', '\\"', ',"', ",'a", '\\n"a":', "a", "1.e-", ",", " ", "\n", "\r", "\u200b"]
    assert superlinear(begins_like_json, [*brackets, *comments, *others], start) == {}
