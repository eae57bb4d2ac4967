"""The recorded session of the benchmarks runs with eight real servers in every exposure."""

import anyio
import pytest

from benchmarks.scenarios.sessions import CONFIGURATIONS, PLACE, record_session, site

pytestmark = pytest.mark.deep

BY_NAME = {each.name: each for each in CONFIGURATIONS}


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """Runs the session with a configuration, once."""
    found = {}

    def of(name):
        if name not in found:
            folder = tmp_path_factory.mktemp("session")
            with (folder / "stderr").open("w") as quiet, site() as url:
                found[name] = anyio.run(record_session, BY_NAME[name], "codex-mcp-client", folder, url, quiet)
        return found[name]

    return of


@pytest.mark.parametrize("name", BY_NAME)
def test_a_session_comes_to_its_end(name, session):
    """Ours: a failed call raises in `record_session`. Nothing of this machine is counted."""
    texts = session(name)
    assert len(texts.answers) == len(texts.calls)
    assert any(PLACE in call for call in texts.calls)
    assert not any("/tmp" in text or "127.0.0.1" in text for text in [*texts.calls, *texts.answers])


def test_fields_that_are_named_shorten_answers(session):
    """Ours: and nothing else differs."""
    whole, kept = (session(name).answers for name in ("full", "full, fields"))
    assert len(kept) == len(whole)
    assert sum(map(len, kept)) < sum(map(len, whole))


def test_the_list_is_shorter_where_tools_are_deferred(session):
    """VALUE.md."""
    direct, full, deferred = (len("".join(session(name).tools)) for name in ("direct", "full", "deferred"))
    assert deferred < full / 5
    assert full < direct
