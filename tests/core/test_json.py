"""JSON values: the canonical form, and strict reading."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from louver.core import json as json_module
from louver.core.json import (
    UNSURE,
    NotJson,
    canonical,
    check_encodable,
    compact,
    digest,
    holds_more,
    is_array,
    is_deeper,
    is_object,
    levels,
    members,
    parse,
    parse_fast,
    unspaced,
)
from louver.limits import MAX_JSON_DEPTH, MAX_READ_FAST


def test_the_canonical_form_is_one_for_equal_values():
    assert canonical({"b": 1, "a": "é"}) == b'{"a":"\xc3\xa9","b":1}'
    assert canonical({"\ud800": [None, True, 1.5]}) == b'{"\xed\xa0\x80":[null,true,1.5]}'
    assert digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1})
    assert len(digest(None)) == 16
    assert compact({"b": 1, "a": ["é"]}) == '{"b":1,"a":["é"]}'
    assert is_object({})
    assert is_array([])
    assert not is_object([])
    assert not is_array({})
    assert members({"a": 1}) == {"a": 1}
    assert members([1]) == members(None) == {}


def test_json_is_read():
    assert parse(' {"a": [1, 2.5, "x\\"{", null]} ') == {"a": [1, 2.5, 'x"{', None]}
    assert parse("[" * MAX_JSON_DEPTH + "]" * MAX_JSON_DEPTH) is not None
    assert parse("[" + ",".join(['"[{"'] * MAX_JSON_DEPTH) + "]")[0] == "[{"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Expecting value"),
        ("{'a': 1}", "Expecting property name"),
        ("[1] 2", "Extra data"),
        ("[1, // one\n 2]", "a comment, which JSON does not have"),
        ('{"a": /* one */ 1}', "a comment, which JSON does not have"),
        ("[1, 2,\n ]", "a comma before the end of a list or an object, which JSON does not have"),
        ('{"a": 1,}', "a comma before the end of a list or an object, which JSON does not have"),
        ("[1, 2 3]", "Expecting ',' delimiter"),
        ("[1,, 2]", "Expecting value"),
        ("NaN", "no numbers of JSON"),
        ("[-Infinity]", "no numbers of JSON"),
        ("1e999", "too large"),
        ("1" * 5000, "too many digits"),
        ('{"a": 1, "b": 2, "a": 3}', "a key stands twice"),
        ("[" * 1000 + "]" * 1000, "nested deeper"),
        ('{"a":' * 201 + "1" + "}" * 201, "nested deeper"),
    ],
)
def test_what_is_not_strictly_json_is_refused(text: str, reason: str):
    """PRIVACY.md, "Hostile inputs": NaN, 1e999, a 5000-digit integer, depth 1000, duplicate keys."""
    with pytest.raises(NotJson) as refused:
        parse(text)
    assert reason in refused.value.reason


def test_a_refusal_says_where_or_which_key():
    with pytest.raises(NotJson) as refused:
        parse('{\n"a": x}')
    assert (refused.value.line, refused.value.offset) == (2, 7)
    with pytest.raises(NotJson) as refused:
        parse('{"b": {"a": 1, "a": 2}}')
    assert (refused.value.key, refused.value.offset) == ("a", None)


def test_a_depth_is_counted_outside_of_texts():
    values: Any = parse('["\\\\", "[[[", ' + "[" * 190 + "]" * 190 + ', "\\"[" ]')
    assert values[1] == "[[["


@pytest.mark.parametrize("closed", [b"]", b"}]", b"]}"])
def test_the_depth_of_a_text_that_closes_more_than_it_opens_is_soon_known(monkeypatch, closed):
    """GATEWAY.md: the event loop never stalls over 250 ms; all of four million brackets took 900."""
    looked_at = []

    class Steps(dict):
        def __getitem__(self, bracket):
            looked_at.append(bracket)
            return super().__getitem__(bracket)

    monkeypatch.setattr(json_module, "_STEPS", Steps(json_module._STEPS))
    raw = b"[{" * 40 + closed * (4 * 2**20 // len(closed))
    assert is_deeper(raw, 79)
    assert not is_deeper(raw, 80)
    assert len(looked_at) <= 2 * 2 * 80


_TEXTS = st.text(st.sampled_from('[]{},:"\\\\é😀\n'), max_size=5)
_VALUES = st.recursive(
    st.none() | st.integers() | _TEXTS,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(_TEXTS, below, max_size=3),
    max_leaves=20,
)


@given(_VALUES, st.booleans())
@example(["\\", '"[', [1]], False)
def test_what_a_text_is_made_of_is_counted_without_reading_it(value: Any, ascii_only: bool):
    """Ours: whatever the texts in it hold, and however they are escaped."""
    raw = json.dumps(value, ensure_ascii=ascii_only).encode()
    parts = [part for level in levels(value) for part in level if isinstance(part, list | dict)]
    commas = sum(len(part) - 1 for part in parts if part)
    for marks, count in ((b"[{", len(parts)), (b",", commas), (b"[{,", len(parts) + commas)):
        assert not holds_more(raw, marks, count)
        assert holds_more(raw, marks, count - 1)
    # The scalars of the last level are no level of nesting.
    nested = sum(1 for level in levels(value) if any(isinstance(part, list | dict) for part in level))
    assert not is_deeper(raw, nested)
    assert nested == 0 or is_deeper(raw, nested - 1)


@pytest.mark.parametrize("value", ["\ud800", {"a": ["é", 2**70, None, True, 1.5]}, [], '\x00"\\'])
def test_text_is_written_so_that_it_is_read_as_it_was(value):
    """Also what msgspec does not write."""
    assert json.loads(compact(value)) == value


def test_a_value_with_half_a_surrogate_pair_is_told_from_what_can_be_sent():
    """Ours: in a text or in a name, however deep; a whole pair is a letter like any other."""
    check_encodable({"a": ["é", "😀", None, 1.5]})
    for value in ("\ud83d", {"a": ["\ude00"]}, [{"\ud83d": 1}]):
        with pytest.raises(UnicodeEncodeError):
            check_encodable(value)


@pytest.mark.parametrize(
    ("text", "becomes"),
    [('{ "a" : [ 1.50, "é  \ud800" ] }\n', '{"a":[1.50,"é  \ud800"]}'), ("{ a", "{ a"), ("", "")],
)
def test_white_space_between_the_parts_of_a_text_goes(text: str, becomes: str):
    assert unspaced(text) == becomes


SPELLINGS = {
    "orjson": lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":")),
    "Python": json.dumps,
    "Go": lambda value: SPELLINGS["orjson"](value).replace("<", "\\u003c").replace("&", "\\u0026"),
    "PHP": lambda value: SPELLINGS["orjson"](value).replace("/", "\\/"),
    "colons": lambda value: json.dumps(value).replace(": ", ":").replace("a:b", "a\\u003ab"),
    "pretty": lambda value: json.dumps(value, indent=2),
}


@pytest.mark.parametrize("spelt", SPELLINGS)
def test_the_fast_reader_takes_every_correct_spelling(spelt):
    """SPEED.md, 1: what a Go, Python or PHP server writes."""
    value = {"a:b": ["<é>", "&", "/", "a:b", 10**17, -0.5, 1e300], "": {"a": None, "b": {"a": True}}}
    assert parse_fast(SPELLINGS[spelt](value).encode(), MAX_JSON_DEPTH) == value


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 1}',
        '[{"a":1,"\\u0061":1}]',
        '{"a":"\\u003a","b":1,"b":2}',
        '{"\\u003a":1,"a":"\\u003A","b":{"c":1,"c":":"}}',
        '{"a":"\\\\u003a","b":1,"b":":"}',
        "[12345678901234567890123]",
        "[-9223372036854775809 ]",
        "[18446744073709551616]",
        "NaN",
        "[1e400]",
        '["\\ud83d"]',
        "[" * 201 + "]" * 201,
        "[" * 1100 + "]" * 1100,
        "[" + "[]," * 200_000 + "1]",
        '["' + "a" * MAX_READ_FAST + '"]',
    ],
)
def test_the_fast_reader_leaves_what_may_be_read_differently(text):
    """Ours: the strict reader takes it, or says why not."""
    assert parse_fast(text.encode(), MAX_JSON_DEPTH) is UNSURE


@given(st.text(st.sampled_from('{}[]:,"\\ua0013 .e-A'), max_size=30) | st.text())
def test_the_fast_reader_reads_as_the_strict_one(text):
    """Ours: or leaves it."""
    raw = text.encode("utf-8", "replace")
    value = parse_fast(raw, MAX_JSON_DEPTH)
    if value is not UNSURE:
        assert_same(value, strictly(raw.decode()))


MEMBERS = st.sampled_from(['"a"', '"\\u0061"', '":"', '"\\u003a"', '"\\u003A"', '"\\\\u003a"', '"b"'])
VALUES = st.recursive(
    MEMBERS | st.sampled_from(["1", "-0", "1e2", "9223372036854775807", "92233720368547758070", "0.1e-5"]),
    lambda below: (
        st.lists(st.tuples(MEMBERS, below).map(":".join)).map(lambda each: "{" + " ,".join(each) + "}")
        | st.lists(below).map(lambda each: "[" + ",".join(each) + " ]")
    ),
)


@given(VALUES)
def test_the_fast_reader_takes_no_member_that_stands_twice(text):
    """Ours: however its name, or a colon somewhere else, is spelt."""
    value = parse_fast(text.encode(), MAX_JSON_DEPTH)
    if value is not UNSURE:
        assert_same(value, strictly(text))


def test_fractions_beside_what_the_fast_reader_leaves_are_read():
    """Ours: a long integer makes the strict reader read all of the text."""
    text = "[1.5, -2e-3, 12345678901234567890123]"
    assert parse_fast(text.encode(), MAX_JSON_DEPTH) is UNSURE
    assert_same(parse(text), [1.5, -0.002, 12345678901234567890123])


def assert_same(value, other):
    assert json.dumps(value) == json.dumps(other)


def strictly(text):
    def once(pairs):
        assert len(dict(pairs)) == len(pairs)
        return dict(pairs)

    return json.loads(text, object_pairs_hook=once)
