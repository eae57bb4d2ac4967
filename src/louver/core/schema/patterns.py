r"""Patterns of property names: matching that cannot stall, and shielding.

Patterns come from untrusted servers, and Python's `re` can take for ever on a short one. Only plain ones are run::

    ^x-        ^[a-z_]+$        ^v\d$         are decided
    (a+)+$     (a|a)*b          (?=x)         are not: nothing is concluded from them
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from louver.core.schema.budget import StepBudget

MAX_PATTERN_CHARACTERS = 256
MAX_MATCHED_NAME = 1024
"""Longest `patternProperties` pattern that is matched against a name, and longest such name, in code points: 3 ms."""


_ESCAPED = r"\\[dDwWsS.\-/$^*+?()\[\]{}|\\]"
_SET_OPERATION = r"--|&&|~~|\|\|"
_CLASS = rf"\[\^?(?:(?!{_SET_OPERATION})(?:[^\\\[\]]|{_ESCAPED}))+\]"
_CHARACTER = rf"(?:[\w \-/:;,@#%&=~<>!\"']|{_ESCAPED}|{_CLASS}|\.)"
# Characters and classes in a row, at most one of them repeated: at worst quadratic in the name.
_PLAIN = re.compile(rf"\^?(?:{_CHARACTER}++(?:(?:[*+?]|\{{\d{{1,3}}(?:,\d{{0,3}})?\}}){_CHARACTER}*+)?)?\$?")

# Characters that all dialects of regular expressions read alike.
_SAME_IN_ALL_DIALECTS = re.compile(r"[ -~]*\Z")


class Patterns:
    """The patterns of one walk, each compiled once; every use counts."""

    def __init__(self, budget: StepBudget) -> None:
        self._budget = budget
        self._ready: dict[str, re.Pattern[str] | None] = {}

    def matches(self, pattern: str, name: str) -> bool | None:
        """Whether `pattern` is found in `name`; `None` if undecided."""
        self._budget.step()
        if pattern not in self._ready:
            self._budget.step(_STEPS_TO_READY)
            self._ready[pattern] = _ready(pattern)
        ready = self._ready[pattern]
        if ready is None or len(name) > MAX_MATCHED_NAME or not _SAME_IN_ALL_DIALECTS.match(name):
            return None
        return ready.search(name) is not None


# What compiling a pattern costs, in steps.
_STEPS_TO_READY = 10


def _ready(pattern: str) -> re.Pattern[str] | None:
    if len(pattern) > MAX_PATTERN_CHARACTERS or not _PLAIN.fullmatch(pattern):
        return None
    try:
        return re.compile(pattern)
    except re.error:
        return None


def shielded(pattern: str, names: Iterable[str]) -> str:
    """A pattern that is found where `pattern` is, but in none of `names`."""
    # Only characters that every dialect of regular expressions allows to be escaped are escaped.
    escaped = [re.sub(r"[\\^$.*+?()\[\]{}|]", r"\\\g<0>", name) for name in names]
    if not escaped:
        return pattern
    alternatives = "|".join(escaped)
    # Flags at the beginning (Python's, not ECMAScript's) are not allowed inside of a pattern.
    scoped = re.sub(r"\A\(\?([ims]+)\)([\s\S]*)", r"(?\1:\2)", pattern)
    return rf"^(?!(?:{alternatives})(?![\s\S]))[\s\S]*?(?:{scoped})"


def for_python(pattern: object) -> str | None:
    """The pattern for Python's `re`, as ECMA 262 reads it and linear in the text; `None` if there is none."""
    if not isinstance(pattern, str) or len(pattern) > MAX_PATTERN_CHARACTERS or not _PLAIN.fullmatch(pattern):
        return None
    escapes = set(re.findall(r"\\(.)", pattern))
    if not escapes.isdisjoint("sS"):
        # The two disagree about white space.
        return None
    outline = re.sub(r"\[[^\[\]]*+\]", "x", re.sub(r"\\.", "x", pattern))
    # A repetition that can begin anywhere, and can fail after its end, is tried from every position.
    if not pattern.startswith("^") and re.search(r"(?:[*+]|\{\d+(?:,\d*)?\}).", outline):
        return None
    # Python's `$` also matches before a final newline.
    if outline.endswith("$"):
        pattern = rf"{pattern[:-1]}\Z"
    # Digits and letters are ASCII only. An empty pattern gets a group: it may become one of several alternatives.
    return pattern if pattern and escapes.isdisjoint("dDwW") else f"(?a:{pattern})"
