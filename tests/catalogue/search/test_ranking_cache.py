"""One ranking for each list that callers see."""

import pytest

from louver.catalogue.search import ranking_cache as rankings_module
from louver.catalogue.search.ranking_cache import Rankings


def tools(*names):
    return [{"name": name, "description": "Reads.", "inputSchema": {}} for name in names]


def ranking(rankings, caller, listed):
    """The caller's ranking of a list, made if it is not there."""
    found = rankings.find(caller, listed, {})
    if found is None:
        found = rankings.made(caller, listed, {})
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
def test_no_more_tools_are_kept_than_fit_but_for_the_latest_list(monkeypatch, most):
    """Ours: `MAX_RANKED_TOOLS`; a list that several see counts once."""
    monkeypatch.setattr(rankings_module, "MAX_RANKED_TOOLS", most)
    rankings = Rankings()
    for caller in ("ann", "ben"):
        ranking(rankings, caller, tools("a", "b"))
    latest = ranking(rankings, "cal", tools("c", "d"))
    assert rankings.find("cal", tools("c", "d"), {}) is latest
    assert (rankings.find("ben", tools("a", "b"), {}) is not None) == (most == 4)
