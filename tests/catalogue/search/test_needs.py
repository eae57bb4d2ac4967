"""The needs in a query, and how their tools take turns."""

from __future__ import annotations

import pytest

from catalogue.search.test_ranking import tool
from fixtures.growth import superlinear
from louver.catalogue.search.ranking import Ranking
from louver.catalogue.search.words import needs_of
from louver.limits import MAX_NEEDS

PAGE = "Fetch the page, then save it as PDF."


@pytest.mark.parametrize(
    ("query", "needs"),
    [
        ("fetch the page", ["fetch the page"]),
        ("fetch the page\nsave as PDF", ["fetch the page", "save as PDF"]),
        ("  fetch the page\r\n\n save as PDF \n", ["fetch the page", "save as PDF"]),
        (PAGE, [PAGE]),
        (
            f"{PAGE} Mail it to Ann!",
            [f"{PAGE} Mail it to Ann!", "Fetch the page", "save it as PDF.", "Mail it to Ann!"],
        ),
        ("Fetch pages; save PDFs", ["Fetch pages; save PDFs"]),
        ("List it. Close old ones! Tell Ann", ["List it. Close old ones! Tell Ann"]),
        ("convert it and then rotate it", ["convert it and then rotate it"]),
        ("what is v2.0 of it", ["what is v2.0 of it"]),
        ("a\na\na", ["a"]),
        ("???\n fetch the page", ["fetch the page"]),
        (f"-\n{PAGE}", [PAGE]),
        ("then", ["then"]),
        (";;;", [";;;"]),
        ("", [""]),
    ],
)
def test_lines_are_needs_and_so_are_clauses(query, needs):
    """VALUE.md: of three clauses or more; a clause of one word says too little for a ranking of its own."""
    assert needs_of(query) == needs


def test_needs_are_bounded():
    """Ours: `MAX_NEEDS`."""
    assert len(needs_of("\n".join(f"need {number}" for number in range(2 * MAX_NEEDS)))) == MAX_NEEDS


def test_the_cost_of_needs_is_linear_in_the_query():
    """TRUST.md, row 16."""
    assert superlinear(needs_of, [" ", "\t", "\n", "\xa0", ",", ".", ";", "a", "and", "then", " and ", " then, "]) == {}


TOOLS = [
    tool("read", "A file."),
    tool("write", "A file."),
    tool("list", "An issue."),
    tool("open", "An issue, and sometimes a file."),
]


def test_the_tools_of_needs_take_turns_each_once():
    """Issue 45; in pages, too."""
    ranking = Ranking(TOOLS)
    found = ranking.search_needs(["file", "issue"])
    assert [(match.tool["name"], match.need) for match in found] == [
        ("read", 0),
        ("list", 1),
        ("write", 0),
        ("open", 1),
    ]
    pages = [ranking.search_needs(["file", "issue"], start, 1) for start in range(5)]
    assert [match for page in pages for match in page] == found
    assert ranking.search_needs([]) == []
