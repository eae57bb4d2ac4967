"""The fuzzer itself: it runs, finds a broken rule, and makes what it found small."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from fuzz.__main__ import Run, breaks, main, small
from fuzz.judges import JUDGES
from fuzz.minimise import minimised, simpler
from louver.core.schema import keywords

if TYPE_CHECKING:
    import pytest

FASTEST = next(iter(JUDGES))


def test_a_run_without_a_broken_law_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """DERIVATION.md, "Laws"; `python -m tests.fuzz`."""
    monkeypatch.setattr(sys, "argv", ["fuzz", "--pairs", "400", "--seed", "3", "--judge", "both"])
    assert main() == 0
    told = capsys.readouterr().out
    assert "pairs, include" in told
    assert "BROKEN" not in told


def test_equal_seeds_make_equal_runs():
    runs = [Run(5, [FASTEST]), Run(5, [FASTEST])]
    for run in runs:
        for _ in range(20):
            run.schema()
    assert runs[0].counts == runs[1].counts


def test_a_broken_rule_is_found_and_made_small(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """STYLE.md: a test that proves a guard shows it biting."""
    monkeypatch.setattr(keywords.Here, "survives", lambda self, name: True)
    monkeypatch.setattr(sys, "argv", ["fuzz", "--pairs", "3000", "--seed", "3", "--show", "1"])
    assert main() == 1
    told = capsys.readouterr().out
    assert "BROKEN unsound" in told
    example = json.loads(told.splitlines()[-1])
    assert len(json.dumps(example["schema"])) < 150
    assert breaks(example)
    assert small(example) == example


def test_an_example_that_breaks_nothing_or_is_none_is_not_one():
    fine = {"law": "unsound", "draft": "7", "judge": FASTEST, "schema": {}, "mode": "include", "fields": ["a"]}
    assert not breaks({**fine, "value": {"a": 1}})
    assert not breaks({**fine, "fields": ["a.."], "value": {}})
    assert not breaks({**fine, "schema": {"type": "null"}, "value": 1})
    assert not breaks({**fine, "schema": {"$ref": "#"}, "value": 1})
    assert not breaks({**fine, "first": {"mode": "exclude", "fields": ["b"]}, "value": {"a": 1}})
    assert not breaks({**fine, "law": "form"})
    assert not breaks({"law": "form", "draft": "7", "judge": FASTEST, "schema": {}})


def test_an_example_is_made_small_by_single_steps():
    assert minimised([1, [2, 3], {"a": 3}], lambda value: "3" in str(value)) in ([[3]], [{"a": 3}], [3])
    assert list(simpler("ab")) == ["a", "b"]
    assert list(simpler(7)) == []
