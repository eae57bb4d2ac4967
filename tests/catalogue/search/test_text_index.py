"""Scores by words: what a term adds."""

import pytest

from louver.catalogue.search.ranking import alone, fields_of
from louver.catalogue.search.text_index import TextIndex, WordWeights


def index(*descriptions):
    tools = [{"name": "x", "description": each, "inputSchema": {"type": "object"}} for each in descriptions]
    return TextIndex([WordWeights.of(fields_of(each, alone)) for each in tools])


def test_a_word_as_written_adds_half_of_what_its_stem_adds():
    """VALUE.md: `running` finds `runs`, and `running` before it."""
    of = index("running", "runs", "sleeps")
    by_stem = of.scores([], ["run"])
    exact, near, other = of.scores(["running"])
    assert near == pytest.approx(by_stem[1])
    assert near < exact < 3 * near
    assert other == 0
