"""Twice the text costs at most 2.5 times: every expression and every scan of `src`, found in it.

Source: TRUST.md, "Linear in the text". A new expression, or a new function that loops over a text, is found by itself.
"""

from __future__ import annotations

import random
import textwrap
from itertools import chain
from pathlib import Path

import pytest

from fixtures.growth import steep
from fixtures.scans import BREAK, expressions, modules, scans, texts_for, texts_of

SRC = Path(__file__).parents[1] / "src"

KNOWN_AT_THE_CALL = {
    "louver.catalogue.guidance": "of an operator's file, and linear: see `for_python`",
    "louver.core.policy.revealed_names": "of words, with what is no word between them",
    "louver.core.schema.patterns": "with one repetition, for names up to `MAX_MATCHED_NAME`",
}
"""Modules with an expression that is made of their input -> of what."""

EVERYDAY, DEEP = 16_384, 262_144
"""The longest texts."""

PARTS = 4
"""Into which expressions and scans are dealt, each a test: one alone would be what all others wait for."""

MOST_SINGLE, MOST_PAIRS = 60, 30
"""Texts of one expression or scan in the everyday run: of single pieces, and of pairs."""


@pytest.fixture(scope="module")
def source():
    return modules(SRC, "louver")


def faults(found, longest, *, times=1):
    """What is not linear in the text -> the text that shows it; `times` as many texts as every day."""
    said = {}
    for each in found:
        texts = texts_of(each)
        singles = list(texts_for(texts.pieces, texts.starts, ("", BREAK)))
        pairs = list(texts_for(texts.pairs(), texts.starts, ("", BREAK)))
        choice = random.Random(each.name)
        singles = choice.sample(singles, min(int(times * MOST_SINGLE), len(singles)))
        pairs = choice.sample(pairs, min(int(times * MOST_PAIRS), len(pairs)))
        for text_of in chain(singles, pairs):
            if (ratio := steep(each, text_of, longest)) is not None:
                said[str(each)] = f"{text_of(40)!r}: {ratio:.1f}"
                break
    return said


@pytest.mark.whole
@pytest.mark.parametrize("part", range(PARTS))
def test_every_expression_is_linear_in_the_text(source, part):
    """TRUST.md, rows 14 to 16: by each method by which it is used."""
    found, unknown = expressions(source)
    assert len({each.name for each in found}) > 120
    assert {where.partition(":")[0] for where in unknown} == KNOWN_AT_THE_CALL.keys()
    assert faults(found[part::PARTS], EVERYDAY) == {}


@pytest.mark.whole
@pytest.mark.parametrize("part", range(PARTS))
def test_every_function_that_scans_a_text_is_linear_in_it(source, part):
    """TRUST.md, rows 14 to 16: with all that it calls."""
    found = list(scans(source))
    assert len(found) > 100
    assert faults(found[part::PARTS], EVERYDAY) == {}


@pytest.mark.deep
@pytest.mark.parametrize("found", ["expressions", "scans"])
@pytest.mark.parametrize("part", range(PARTS))
def test_every_expression_and_scan_is_linear_in_more_texts(source, found, part):
    """TRUST.md, "Linear in the text": three times as many texts; and some of the everyday ones, up to 256 k."""
    found = (expressions(source)[0] if found == "expressions" else list(scans(source)))[part::PARTS]
    assert faults(found, EVERYDAY, times=3) == {}
    assert faults(found, DEEP, times=0.4) == {}


def test_what_is_quadratic_is_found(tmp_path, monkeypatch):
    """The walk itself: planted expressions and loops, and some that are linear by their own method."""
    (tmp_path / "planted.py").write_text(
        textwrap.dedent("""
            from __future__ import annotations

            import re

            _SPACE = "[ \\\\t]"
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
    planted = modules(tmp_path, "planted")
    found, unknown = expressions(planted)
    assert unknown == []
    assert {str(each) for each in found} == {
        "planted._LAST_SPACE, sub",
        "planted._ONLY_MATCHED, match",
        "planted:18, findall",
    }
    assert faults(found, EVERYDAY).keys() == {"planted._LAST_SPACE, sub", "planted:18, findall"}
    assert faults(scans(planted), EVERYDAY).keys() == {
        *("planted.trimmed(text)", "planted.Quoted.of(text)", "planted.words(text)", "planted.pairs(raw)")
    }
