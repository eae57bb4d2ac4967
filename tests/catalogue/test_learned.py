"""Fields that are learnt from answers: what is kept of them, and when they are offered."""

from __future__ import annotations

import json
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from louver.catalogue.learned import MAX_LEARNT_SAMPLES, Learned, LearnedFields, learned_file, state_folder
from louver.errors import LouverError
from louver.limits import LEARNT_AFTER

ROWS = {"items": [{"id": 1, "text": "secret " * 20}, {"id": 2, "text": "secret " * 20}], "total": 2}


@pytest.fixture
def file(tmp_path):
    return learned_file(tmp_path / "state", "0123456789abcdef")


def learnt(file, *values, tool="find"):
    learner = LearnedFields(file)
    for value in values:
        learner.learn(tool, value)
    return LearnedFields(file).find(tool)


def test_a_folder_is_made_with_those_around_it(tmp_path):
    """Ours: of a home without any state."""
    learnt(tmp_path / "not" / "yet" / "there" / "fields.json", ROWS)
    assert stat.S_IMODE((tmp_path / "not" / "yet" / "there").stat().st_mode) == 0o700


def test_fields_are_offered_once_answers_agree_the_weightiest_first(file):
    """HOSTS.md: frozen after enough agreeing samples."""
    assert learnt(file, *[ROWS] * LEARNT_AFTER) == ()
    assert learnt(file, ROWS) == ("items.text", "items.id", "total")


def test_they_are_offered_from_the_next_start_on(file):
    """HOSTS.md: never in the midst of a session."""
    learner = LearnedFields(file)
    for _ in range(2 * LEARNT_AFTER):
        learner.learn("find", ROWS)
        assert learner.find("find") == ()
    assert LearnedFields(file).find("find") != ()


def test_an_answer_that_does_not_fit_widens_them(file):
    """HOSTS.md: it is never an error, and takes nothing back."""
    learnt(file, *[ROWS] * (LEARNT_AFTER + 1))
    more = {**ROWS, "next": "c2"}
    assert "next" not in learnt(file, more)
    assert set(learnt(file, *[more] * 10)) == {"items.text", "items.id", "total", "next"}


def test_no_value_is_kept_and_the_file_is_private(file):
    """PRIVACY.md: names, counts and sizes; nor names that may be data, as those of a map."""
    learnt(file, {**ROWS, "by_mail": {"ann@example.com": 1, "secret of Ann": {"x": 1}}, "4711": 1})
    text = file.read_text("utf-8")
    assert json.loads(text)["tools"]["find"]["fields"].keys() == {"items.id", "items.text", "total"}
    for value in ("secret", "ann@", "4711"):
        assert value not in text
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


@given(
    st.lists(st.recursive(st.none() | st.integers() | st.text(), lambda v: st.lists(v) | st.dictionaries(st.text(), v)))
)
def test_whatever_a_tool_answers_can_be_learnt_from(tmp_path_factory, values):
    """Ours."""
    assert isinstance(learnt(tmp_path_factory.mktemp("any") / "f.json", *values), tuple)


def test_some_answers_are_looked_at_after_each_start(file):
    """Ours: a tool that is called all day is not looked at all day."""
    learner = LearnedFields(file)
    for _ in range(MAX_LEARNT_SAMPLES):
        assert learner.wants("find")
        learner.learn("find", ROWS)
    assert not learner.wants("find")
    assert learner.wants("other")


def test_processes_that_learn_at_once_lose_nothing(file):
    """Ours: each reads what the other has written."""
    one, other = LearnedFields(file), LearnedFields(file)
    one.learn("find", ROWS)
    other.learn("get", {"id": 1})
    assert json.loads(file.read_text("utf-8"))["tools"].keys() == {"find", "get"}


@pytest.mark.parametrize("text", ["", "[]", '{"tools": {"a": 1}}', '{"tools": {"a": {"fields": {"b": 1}}}}', "\x00"])
def test_a_file_that_holds_something_else_is_an_error(file, text):
    """Ours: unless it holds nothing."""
    file.parent.mkdir()
    file.write_text(text)
    if text == "[]":
        assert LearnedFields(file).find("a") == ()
        return
    with pytest.raises(LouverError, match="does not hold fields that were learnt: remove it"):
        LearnedFields(file)


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path):
    """Ours: of what is learnt, not of the call."""
    (tmp_path / "state").write_text("a file")
    with pytest.raises(LouverError, match="cannot be written"):
        LearnedFields(tmp_path / "state" / "x.json").learn("find", ROWS)


def test_tools_are_known_by_the_names_that_clients_know(tmp_path):
    """Ours."""
    one, other = (LearnedFields(tmp_path / f"{name}.json") for name in ("one", "other"))
    learned = Learned({"one__": one, "other__": other})
    learned.learn("one__find", ROWS)
    assert json.loads((tmp_path / "one.json").read_text("utf-8"))["tools"].keys() == {"find"}
    assert learned.wants("other__find")
    assert not learned.wants("third__find")
    assert learned.find("third__find") == ()


def test_what_is_learnt_is_kept_where_the_system_wants_it(tmp_path):
    """XDG Base Directory Specification."""
    assert state_folder({"XDG_STATE_HOME": str(tmp_path)}) == tmp_path / "louver"
    assert state_folder({"HOME": str(tmp_path)}) == tmp_path / ".local" / "state" / "louver"
