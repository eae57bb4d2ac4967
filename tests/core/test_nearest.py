"""Names that were probably meant."""

from __future__ import annotations

import pytest

from louver.core.nearest import did_you_mean, instead, nearest


@pytest.mark.parametrize(
    ("said", "names", "meant"),
    [
        ("calculater", ["data", "calculator"], ["calculator"]),
        ("ad", ["divide", "add"], ["add"]),
        ("x", ["calculator"], []),
        ("", ["calculator"], []),
        ("list_isues", [f"list_{number}" for number in range(500)] + ["list_issues"], ["list_issues"]),
    ],
)
def test_the_nearest_come_first(said, names, meant):
    """Ours."""
    assert nearest(said, names)[: len(meant)] == meant
    assert bool(meant) or nearest(said, names) == []


def test_among_very_many_few_are_compared():
    """Ours: ten thousand names that are alike; compared letter by letter this takes seconds."""
    names = [f"tracker_get_issue_by_number_{number}" for number in range(10_000)]
    assert nearest("tracker_get_issue_by_number_77x" * 100, names) == []
    assert "tracker_get_issue_by_number_77" in nearest("tracker_get_issue_by_number_77x", names)


def test_an_error_ends_with_the_name_that_was_probably_meant():
    """Ours: one name at most, and nothing where none is near."""
    assert did_you_mean("alow", ["allow", "allowed", "deny"]) == "; did you mean 'allow'?"
    assert did_you_mean("x", ["allow", "deny"]) == ""


def test_an_error_about_an_unknown_name_lists_those_that_there_are():
    """Ours: the similar ones first, and of many the first twenty."""
    assert instead("alow", ["deny", "allow"]) == "did you mean 'allow'? There are 'deny', 'allow'"
    assert instead("x", ["deny", "allow"]) == "there are 'deny', 'allow'"
    assert instead("x", []) == "there are none"
    numbered = [f"name{number:02}" for number in range(1021)]
    listed = ", ".join(map(repr, numbered[:20]))
    assert instead("x", iter(numbered[:20])) == f"there are {listed}"
    assert instead("x", iter(numbered)) == f"there are {listed} and 1,001 more"
