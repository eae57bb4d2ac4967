"""One ranking for each list that callers see."""

import pytest

from louver.catalogue.search import ranking as ranking_module
from louver.catalogue.search import ranking as rankings_module
from louver.catalogue.search import text_index as text_index_module
from louver.catalogue.search.ranking import Ranking, Rankings


def tools(*names):
    return [{"name": name, "description": "Reads.", "inputSchema": {}} for name in names]


def ranking(rankings, caller, listed):
    """The caller's ranking of a list, made if it is not there."""
    found = rankings.find(caller, listed, {})
    if found is None:
        found = rankings.maker(caller, listed, {})()
        rankings.keep(caller, found)
    return found


def test_callers_with_equal_lists_share_a_ranking():
    """Ours: made once."""
    rankings = Rankings()
    assert ranking(rankings, "ann", tools("a", "b")) is ranking(rankings, "ben", tools("a", "b"))


def test_callers_with_other_lists_have_rankings_of_their_own():
    """Ours: what one does not see must not be felt."""
    rankings = Rankings()
    whole, part = ranking(rankings, "ann", tools("a", "secret")), ranking(rankings, "ben", tools("a"))
    assert [match.tool["name"] for match in part.search("reads")] == ["a"]
    assert part.search("secrte") == []
    assert [match.tool["name"] for match in whole.search("secrte")] == ["secret"]
    alone = ranking(Rankings(), "cal", tools("a"))
    assert part.search("reads") == alone.search("reads")


@pytest.mark.parametrize("caller", ["ann", "ben"])
def test_of_10_000_tools_only_those_of_the_changed_server_are_indexed_again(monkeypatch, caller, by_words):
    """Issue 45: whoever asks first; a test that counts texts and stems, not time."""
    read, stemmed = [], []
    monkeypatch.setattr(ranking_module, "fields_of", recording(ranking_module.fields_of, read))
    monkeypatch.setattr(text_index_module, "stems", recording(text_index_module.stems, stemmed))
    rankings = Rankings()
    before = [tool for server in range(100) for tool in tools(*(f"s{server}__t{n}" for n in range(100)))]
    ranking(rankings, "ann", before)
    assert len(read) == 10_000
    read.clear()
    stemmed.clear()
    written = [{**tool, "description": "Writes."} if tool["name"].startswith("s7__") else tool for tool in before]
    after = ranking(rankings, caller, written)
    assert [tool["name"] for tool in read] == [f"s7__t{n}" for n in range(100)]
    assert stemmed == [["writes"]]
    assert after.search("write", most=200) == Ranking(written).search("write")
    assert after.search("read", most=20) == Ranking(written).search("read", most=20)


def recording(function, arguments):
    """The function, which keeps the first argument of each call."""

    def call(first, *rest):
        arguments.append(first)
        return function(first, *rest)

    return call


def test_the_callers_that_were_not_seen_for_longest_are_forgotten(monkeypatch):
    """Ours: `MAX_CALLERS`."""
    monkeypatch.setattr(rankings_module, "MAX_CALLERS", 2)
    rankings = Rankings()
    first = ranking(rankings, "ann", tools("a"))
    for caller in ("ben", "ann", "cal"):
        ranking(rankings, caller, tools("a") if caller == "ann" else tools(caller))
    assert rankings.find("ann", tools("a"), {}) is first
    assert rankings.find("ben", tools("ben"), {}) is None


@pytest.mark.parametrize("most", [4, 1])
def test_no_more_is_kept_than_fits_but_for_the_latest_list(monkeypatch, most):
    """Step 21, "Growth": `MAX_RANKED_BYTES`; a list that several see counts once."""
    size = Ranking(tools("a")).size
    monkeypatch.setattr(rankings_module, "MAX_RANKED_BYTES", most * size)
    rankings = Rankings()
    for caller in ("ann", "ben"):
        ranking(rankings, caller, tools("a", "b"))
    latest = ranking(rankings, "cal", tools("c", "d"))
    assert rankings.find("cal", tools("c", "d"), {}) is latest
    assert (rankings.find("ben", tools("a", "b"), {}) is not None) == (most == 4)
