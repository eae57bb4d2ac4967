"""32 times the text costs at most 128 times as much: every expression and every scan of `src`, found in it.

Source: TRUST.md, "Linear in the text". A new expression, or a new function that loops over a text, is found by itself.
"""

from __future__ import annotations

import random
import textwrap
from itertools import product
from pathlib import Path

import pytest

from fixtures.growth import superlinear
from fixtures.scans import BREAK, expressions, modules, scans, texts_of

SRC = Path(__file__).parents[1] / "src"

KNOWN_AT_THE_CALL = {
    "louver.catalogue.guidance": "of an operator's file, and linear: see `for_python`",
    "louver.core.policy.revealed_names": "of words, with what is no word between them",
    "louver.core.schema.patterns": "with one repetition, for names up to `MAX_MATCHED_NAME`",
}
"""Modules with an expression that is made of their input -> of what."""

EVERYDAY, DEEP = (2, 1), (12, 50)
"""How many of its tokens each is tried with, between how many of its starts and ends."""


@pytest.fixture(scope="module")
def source():
    return modules(SRC, "louver")


def faults(found, tokens, places):
    """What is not linear in the text -> the start, the token that shows it with the ratio of costs, and the end."""
    shown = {}
    for each in found:
        texts, choice = texts_of(each), random.Random(each.name)
        around = list(product(texts.starts, ("", BREAK)))
        for start, end in choice.sample(around, min(places, len(around))):
            chosen = choice.sample(list(texts.pieces), min(tokens, len(texts.pieces)))
            if found_here := superlinear(each, chosen, start, end):
                shown[str(each)] = start, found_here, end
                break
    return shown


def test_every_expression_is_linear_in_the_text(source):
    """TRUST.md, rows 14 to 16: by each method by which it is used."""
    found, unknown = expressions(source)
    assert len({each.name for each in found}) > 120
    assert {where.partition(":")[0] for where in unknown} == KNOWN_AT_THE_CALL.keys()
    assert faults(found, *EVERYDAY) == {}


def test_every_function_that_scans_a_text_is_linear_in_it(source):
    """TRUST.md, rows 14 to 16: with all that it calls."""
    found = list(scans(source))
    assert len(found) > 100
    assert faults(found, *EVERYDAY) == {}


@pytest.mark.deep
@pytest.mark.parametrize("found", ["expressions", "scans"])
def test_every_expression_and_scan_is_linear_in_more_texts(source, found):
    """TRUST.md, "Linear in the text"."""
    assert faults(expressions(source)[0] if found == "expressions" else scans(source), *DEEP) == {}


def test_what_is_quadratic_is_found(tmp_path, monkeypatch):
    """The walk itself: planted expressions and loops, and some that are linear by their own method."""
    (tmp_path / "planted.py").write_text(
        textwrap.dedent("""
            from __future__ import annotations

            import re

            _SPACE = " "
            _LAST_SPACE = re.compile(rf"{_SPACE}+$")
            _ONLY_MATCHED = re.compile(r"\\\\s+$")


            def trimmed(text: str) -> str:
                return "" if _ONLY_MATCHED.match(text) else _LAST_SPACE.sub("", text)


            class Quoted:
                @classmethod
                def of(cls, text: str) -> list[str]:
                    return re.findall(rb"<!--.*?-->", text.encode())


            def words(text: str, least: int) -> int:
                count = 0
                while text:
                    text, count = text[1:], count + text.count(" ")
                return count + least


            def pairs(raw: bytes) -> int:
                return sum(1 for at, _ in enumerate(raw) if raw.find(b"ab", at) >= 0)


            def once(text: str) -> int:
                return sum(1 for each in text if each == "a")
        """).replace("\\\\", "\\")
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("fixtures.scans.BASIC", ())
    planted = modules(tmp_path, "planted")
    found, unknown = expressions(planted)
    assert unknown == []
    assert {str(each) for each in found} == {
        "planted._LAST_SPACE, sub",
        "planted._ONLY_MATCHED, match",
        "planted:18, findall",
    }
    assert faults(found, *DEEP).keys() == {"planted._LAST_SPACE, sub", "planted:18, findall"}
    assert faults(scans(planted), *DEEP).keys() == {
        *("planted.trimmed(text)", "planted.Quoted.of(text)", "planted.words(text)", "planted.pairs(raw)")
    }
