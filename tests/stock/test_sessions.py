"""The recorded session of the benchmarks runs with five real servers in every exposure."""

import anyio
import pytest

from benchmarks.scenarios.sessions import CONFIGURATIONS, FORMS, PLACE, record_session

pytestmark = pytest.mark.deep

BY_NAME = {each.name: each for each in CONFIGURATIONS}


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """Runs the session with a configuration, once."""
    found = {}

    def of(name):
        if name not in found:
            folder = tmp_path_factory.mktemp("session")
            with (folder / "stderr").open("w") as quiet:
                found[name] = anyio.run(record_session, BY_NAME[name], folder, quiet)
        return found[name]

    return of


@pytest.mark.parametrize("name", BY_NAME)
def test_a_session_comes_to_its_end(name, session):
    """Ours: a failed call raises in `record_session`. Nothing of this machine is counted."""
    texts = session(name)
    assert {len(answers) for answers in texts.answers.values()} == {len(texts.calls)}
    assert texts.answers.keys() == FORMS.keys()
    assert any(PLACE in call for call in texts.calls)
    assert not any("/tmp" in text for text in [*texts.calls, *texts.answers["whole"]])


def test_what_a_model_sees_of_structured_answers_is_what_the_servers_say(session):
    """Ours: without a request for fields nothing differs."""
    assert session("full").answers["structured"] == session("direct").answers["structured"]


def test_views_are_asked_for_and_shorten(session):
    """Ours: `louver suggest` writes views for some of the calls."""
    whole, kept = (session(name).answers["structured"] for name in ("full", "full, views"))
    assert session("full").calls != session("full, views").calls
    assert sum(map(len, kept)) < sum(map(len, whole))
    assert len(kept) == len(whole)
