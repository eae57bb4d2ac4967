"""Answers as TOON: what is written so, what stays JSON, and that nothing is lost."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from toon_format import decode

from louver.core.json import compact
from louver.limits import MAX_TOON
from louver.steps.calls import toon as module
from louver.steps.calls.toon import MAX_TOON_LEVELS, MAX_TOON_SHARE, toon, with_toon

ROWS = {"rows": [{"id": number, "name": f"n{number}"} for number in range(5)], "total": 5}
IMAGE = {"type": "image", "data": "", "mimeType": "image/png"}


def texts(*found):
    return [{"type": "text", "text": each if isinstance(each, str) else json.dumps(each, indent=2)} for each in found]


def result(structured=None, *content, **more):
    return {"content": list(content), **({} if structured is None else {"structuredContent": structured}), **more}


BECOME = {
    "structured content": (result(ROWS), "structured"),
    "a summary beside it, which such a host does not show": (result(ROWS, *texts("5 rows")), "structured"),
    "other blocks": (result(ROWS, *texts(ROWS), IMAGE), "structured"),
    "its repetition in text": (result(ROWS, *texts(ROWS)), "text"),
    "its only member": (result({"people": ROWS["rows"]}, *texts(ROWS["rows"])), "text"),
    "a text an element": (result({"result": ROWS["rows"]}, *texts(*ROWS["rows"])), "text"),
    "text alone": (result(None, *texts(ROWS)), "text"),
    "text alone, in a structured host": (result(None, *texts(ROWS)), "structured"),
    "text alone, in a host that shows both": (result(None, *texts(ROWS)), "both"),
    "a receipt": (result(ROWS, _meta={"projection": {"applied": True}}), "structured"),
}


@pytest.mark.whole
@pytest.mark.parametrize(("answer", "shown"), BECOME.values(), ids=BECOME)
def test_arrays_of_alike_objects_become_toon(answer, shown):
    """VALUE.md: where the host shows it, and nowhere twice; all else stays."""
    output = answer.get("structuredContent", ROWS)
    sent = with_toon(answer, shown, is_data=True)
    (text, *others) = sent["content"]
    assert decode(text["text"]) == output
    assert others == [block for block in answer["content"] if block["type"] != "text"]
    assert ("structuredContent" in sent) is (shown == "text" and "structuredContent" in answer)
    assert {**sent, "content": 0, "structuredContent": 0} == {**answer, "content": 0, "structuredContent": 0}


NESTED = {"rows": [{"a": [{"b": [{"c": number}, {"d": {}}]}]} for number in range(5)]}
DEEP = {"rows": [{"a long name of a field": 1, "another one of that length": 2, "and one more": 3}] * 50}
for _ in range(MAX_TOON_LEVELS):
    DEEP = {"in": DEEP}
STAY = {
    "a file's content": (result({"content": json.dumps(ROWS)}, *texts(json.dumps(ROWS))), "structured"),
    "the text of a file, which no answers have shown to be data": (result(None, *texts(ROWS)), "structured", False),
    "a summary of it": (result(ROWS, *texts("5 rows")), "text"),
    "JSON beside it": (result(ROWS, *texts(ROWS, {"took": 1})), "text"),
    "a host that shows both": (result(ROWS, *texts(ROWS)), "both"),
    "two texts": (result(None, *texts(ROWS, ROWS)), "text"),
    "prose": (result(None, *texts("[see above]")), "text"),
    "one object": (result({"id": 1, "name": "Ann"}), "structured"),
    "nested objects, which are not shorter": (result(NESTED), "structured"),
    "an array of one object": (result({"rows": ROWS["rows"][:1]}), "structured"),
    "deep ones, each line of which has its indentation": (result(DEEP), "structured"),
    "half a surrogate pair": (result({"rows": [*ROWS["rows"], {"id": 6, "name": "\ud800"}]}), "structured"),
    "null": ({"content": texts("null"), "structuredContent": None}, "structured"),
}


@pytest.mark.whole
@pytest.mark.parametrize("case", STAY.values(), ids=STAY)
def test_any_other_answer_stays_as_it_is(case):
    """Ours."""
    answer, shown, *is_data = case
    assert with_toon(answer, shown, is_data=not is_data) is answer


def test_a_very_large_value_stays_json():
    """Ours: no model reads it, and writing it takes seconds."""
    row = {"identifier": 1, "name": "x"}
    assert toon([row] * 10) is not None
    assert toon([row] * (MAX_TOON // len(compact(row)) + 1)) is None


def test_what_does_not_read_back_stays_json(monkeypatch):
    """Ours: whatever the library has wrong."""
    monkeypatch.setattr(module, "decode", lambda _: {})
    assert toon(ROWS) is None


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
NAMES = st.text(max_size=8)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4))
ALIKE = st.lists(NAMES, min_size=1, max_size=4, unique=True).flatmap(
    lambda names: st.lists(st.fixed_dictionaries(dict.fromkeys(names, SCALARS)), min_size=2, max_size=6)
)


def same(one, other):
    """Equality of JSON values: a truth value is no number."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and one == other


@given(st.dictionaries(NAMES, ALIKE | VALUES, max_size=3), st.sampled_from(["structured", "text"]))
@example({"a": [{"x": True, "y": 1.0}, {"x": "true", "y": "1"}]}, "structured")
@example({"": [{"- a": "#", "b,c": "\n"}, {"- a": "[2]:", "b,c": "null"}]}, "text")
@example({"a": [{"x": 10**30, "y": 5e-324}, {"x": -0.0, "y": 2**53 + 1}]}, "text")
def test_what_is_sent_decodes_to_what_a_program_gets(value, shown):
    """VALUE.md: nothing is lost."""
    answer = result(value, *texts(value))
    sent = with_toon(answer, shown, is_data=False)
    if sent is not answer:
        (block,) = sent["content"]
        assert same(decode(block["text"]), value)
        assert len(block["text"]) <= MAX_TOON_SHARE * len(compact(value))
