"""Rules of guidance: what they say, when they fire, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from louver.catalogue.guidance import Guidance, GuidanceRule
from louver.core.paths.mask import exclude_mask
from louver.core.paths.path import FieldPath
from louver.core.project import project
from louver.errors import InvalidGuidance

ANSWER = {
    "orders": [{"id": 1, "status": "paid", "code": 200}, {"id": 2, "status": "disputed", "code": 503, "note": None}],
    "total": 2,
}


def rule(note="n", **when):
    return GuidanceRule.read({"when": when, "note": note})


FIRES = {
    "something stands there": {"path": "orders.status"},
    "a falsy thing stands there": {"path": "flag"},
    "a text is found": {"path": "orders.status", "matches": "^disp"},
    "a number is found": {"path": "orders.code", "matches": r"^5\d\d$"},
    "a text of what stands there is found": {"path": "orders", "matches": "disputed"},
    "a text is found anywhere": {"matches": "disputed"},
    "more elements": {"path": "orders", "overItems": 1},
    "more bytes": {"overBytes": 100},
    "more bytes of what stands there": {"path": "orders", "overBytes": 80},
    "all of it": {"path": "orders", "matches": "paid", "overItems": 1, "overBytes": 10},
}
FAILS = {
    "nothing stands there": {"path": "orders.email"},
    "null stands there": {"path": "orders.note"},
    "no text is found": {"path": "orders.status", "matches": "^puted"},
    "names are no texts": {"matches": "status"},
    "not more elements": {"path": "orders", "overItems": 2},
    "no array": {"path": "total", "overItems": 0},
    "not more bytes": {"path": "total", "overBytes": 1},
    "one of two": {"path": "orders", "matches": "paid", "overItems": 2},
}


@pytest.mark.parametrize("when", FIRES.values(), ids=FIRES)
def test_a_rule_fires(when):
    """GATEWAY.md: path, matches, size."""
    assert rule(**when).fires({**ANSWER, "flag": False})


@pytest.mark.parametrize("when", FAILS.values(), ids=FAILS)
def test_a_rule_has_nothing_to_say(when):
    """001: no tokens where it does not apply."""
    assert not rule(**when).fires(ANSWER)


def test_what_wraps_an_output_is_left_out_of_a_path():
    """PROJECTION.md: as in a request."""
    assert rule(path="id").fires({"result": [{"id": 1}]})
    assert rule(path="result.id").fires({"result": [{"id": 1}]})
    assert not rule(path="id").fires({"result": [{"id": 1}], "more": 1})


def test_a_note_is_told_once_and_for_its_tool():
    """Ours: in the order of the rules; names of tools as the client knows them."""
    rules = [
        {"tool": "find", "when": {"path": "a"}, "note": "one", "workflow": ["do", "be"]},
        {"when": {"path": "b"}, "note": "two"},
        {"tool": "find", "when": {"path": "b"}, "note": "one", "workflow": ["do", "be"]},
    ]
    guidance = Guidance({"x__": [*map(GuidanceRule.read, rules)]})
    (one, two) = guidance.notes("x__find", {"a": 1, "b": 2})
    assert one.text() == "GUIDANCE: one\n1. do\n2. be"
    assert (one.to_wire(), two.to_wire()) == ({"note": "one", "workflow": ["do", "be"]}, {"note": "two"})
    assert [note.note for note in guidance.notes("x__other", {"a": 1, "b": 2})] == ["two"]
    assert guidance.notes("y__find", {"a": 1}) == []
    assert guidance.concerns("x__find")
    assert not guidance.concerns("y__find")
    assert guidance.unknown({"x__other"}) == ["x__find"]


WHEN = {"path": "a"}
PLAIN = "guidance: 'matches': expected a plain pattern: characters and classes in a row"
WRONG = {
    "a text": ("always", "guidance: a rule: expected an object with 'tool', 'when', 'note', 'workflow'"),
    "an unknown key": (
        {"when": WHEN, "notes": "n"},
        "guidance: unknown key 'notes' in a rule: expected one of 'tool', 'when', 'note', 'workflow'; "
        "did you mean 'note'?",
    ),
    "no note": ({"when": WHEN}, "guidance: 'note': expected a text that is not empty"),
    "an empty note": ({"when": WHEN, "note": ""}, "guidance: 'note': expected a text that is not empty"),
    "no condition": ({"note": "n"}, "guidance: 'when': expected an object with 'path'"),
    "an empty condition": ({"when": {}, "note": "n"}, "guidance: 'when': expected one of 'path', 'matches'"),
    "an unknown condition": (
        {"when": {"size": 1}, "note": "n"},
        "unknown key 'size' in 'when': expected one of",
    ),
    "a tool that is none": ({"tool": 1, "when": WHEN, "note": "n"}, "'tool': expected a text"),
    "steps in one text": ({"when": WHEN, "note": "n", "workflow": "do"}, "'workflow': expected a list of texts"),
    "a step that is none": ({"when": WHEN, "note": "n", "workflow": [1]}, "'workflow': expected a text"),
    "no path": ({"when": {"path": "a..b"}, "note": "n"}, "guidance: field path 'a..b': expected a name"),
    "any depth": ({"when": {"path": "**.a"}, "note": "n"}, "guidance: field path '**.a'"),
    "a long path": ({"when": {"path": 513 * "a"}, "note": "n"}, "guidance: a field path has at most 512"),
    "a number in words": ({"when": {"overItems": "5"}, "note": "n"}, "'overItems': expected a whole number from 0"),
    "a truth for a number": ({"when": {"overBytes": True}, "note": "n"}, "'overBytes': expected a whole number"),
    "a number below": ({"when": {"overItems": -1}, "note": "n"}, "'overItems': expected a whole number from 0"),
    "a pattern that stalls": ({"when": {"matches": "(a+)+$"}, "note": "n"}, PLAIN),
    "a pattern that is slow": ({"when": {"matches": "a*b"}, "note": "n"}, PLAIN),
    "alternatives": ({"when": {"matches": "a|b"}, "note": "n"}, PLAIN),
    "no pattern": ({"when": {"matches": "[z-a]"}, "note": "n"}, PLAIN),
}


@pytest.mark.parametrize(("written", "message"), WRONG.values(), ids=WRONG)
def test_what_is_no_rule_is_refused(written, message):
    """STYLE: what, where, and what would have been right."""
    with pytest.raises(InvalidGuidance) as refused:
        GuidanceRule.read(written)
    assert message in refused.value.message


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("xy"),
    lambda below: st.lists(below) | st.dictionaries(st.sampled_from("abc"), below),
    max_leaves=12,
)
steps = st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map(tuple)
conditions = st.fixed_dictionaries(
    {}, optional={"matches": st.just("^x"), "overItems": st.just(0), "overBytes": st.just(2)}
)


@given(values, steps, conditions)
def test_no_rule_fires_for_what_was_left_out(value, names, when):
    """GATEWAY.md: a rule looks at the kept value, so one for a path that was excluded never fires."""
    path = FieldPath(names)
    kept = project(value, exclude_mask((path,)))
    looking = GuidanceRule.read({"when": {"path": str(path), **when}, "note": "n"})
    assert not looking.fires(kept)
