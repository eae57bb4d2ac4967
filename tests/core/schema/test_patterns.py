"""Name patterns: which are decided, and the shield around names."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from louver.core.schema.budget import OverBudget, StepBudget
from louver.core.schema.patterns import Patterns, for_python, shielded


def matches(pattern: str, name: str) -> bool | None:
    return Patterns(StepBudget()).matches(pattern, name)


@pytest.mark.parametrize(
    ("pattern", "name", "found"),
    [
        ("^x-", "x-a", True),
        ("^x-", "ax-", False),
        ("b", "abc", True),
        ("", "a", True),
        ("^[a-z_]+$", "a_b", True),
        ("^[^a]$", "a", False),
        (r"^v\d$", "v1", True),
        (r"^v\d{1,3}$", "v12", True),
        ("^a.c$", "abc", True),
        (r"\.", "a.b", True),
        ("^[-a]$", "-", True),
    ],
)
def test_a_plain_pattern_is_decided(pattern: str, name: str, found: bool):
    assert matches(pattern, name) is found


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("(a+)+$", "aaaa"),
        ("(a|a)*b", "a"),
        ("(?=x)", "x"),
        ("(?i)a", "A"),
        ("a*b*", "ab"),
        ("a|b", "a"),
        ("[a&&b]", "a"),
        ("[a--b]", "a"),
        ("[z-a]", "a"),
        ("a{3,1}", "a"),
        (r"\p{L}", "a"),
        ("^a$", "é"),
        ("^a$", "a\n"),
        ("a" * 257, "a"),
    ],
)
def test_of_any_other_pattern_nothing_is_concluded(pattern: str, name: str):
    """PRIVACY.md, "Hostile inputs": a ReDoS pattern. Ours: nor of what dialects read differently."""
    assert matches(pattern, name) is None


def test_every_use_of_a_pattern_is_counted():
    budget = StepBudget()
    patterns = Patterns(budget)
    before = budget.steps
    patterns.matches("^a", "b")
    first = before - budget.steps
    patterns.matches("^a", "c")
    assert 0 < before - first - budget.steps < first
    with pytest.raises(OverBudget):
        all(patterns.matches(f"^a{number}", "a") is not None for number in range(100_000))


@given(
    st.sampled_from(["^a", "b", "", "^[ab]$", "(?=a)", "a|b", "(?i)^AB"]),
    st.lists(st.text("ab.$/|^", max_size=3), max_size=3),
    st.text("ab.$/|^", max_size=3),
)
def test_a_shielded_pattern_is_found_where_it_was_but_in_none_of_the_names(pattern: str, names: list[str], text: str):
    found = re.search(shielded(pattern, names), text) is not None
    assert found == (re.search(pattern, text) is not None and text not in names)


@pytest.mark.parametrize(
    ("pattern", "read"),
    [
        ("^a*$", r"^a*\Z"),
        (r"a\$", r"a\$"),
        (r"a\\$", r"a\\\Z"),
        ("[$]", "[$]"),
        ("[$]$", r"[$]\Z"),
        ("abc", "abc"),
        ("f.*", "f.*"),
        (r"\*b", r"\*b"),
        ("[*]b", "[*]b"),
        (r"^\d{5}$", r"(?a:^\d{5}\Z)"),
        ("", "(?a:)"),
        *((pattern, None) for pattern in ("a*b", "f.*o", "(a)", "a" * 257, r"^\s$", r"\\*x", "[a]+$")),
    ],
)
def test_a_pattern_is_run_by_python_if_it_means_the_same_there_and_cannot_stall(pattern: str, read: str | None):
    """Ours: linear in the text, white space left aside, digits and letters of ASCII, no newline behind the end."""
    assert for_python(pattern) == read


def test_what_is_no_text_is_no_pattern():
    assert for_python(7) is None
