r"""Property name patterns of schemas: matching that cannot stall, and shielding.

A schema's pattern decides which rule a named field falls under. It comes from a
server that nobody vouches for, and Python's `re` can take for ever on one of
20 characters, so only patterns that are plainly linear are run::

    ^x-        ^[a-z_]+$        ^v\d$         are decided
    (a+)+$     (a|a)*b          (?=x)         are not: nothing is concluded from them

Names with characters that dialects of regular expressions read differently are
not decided either.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from louver.limits import MAX_PATTERN_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Iterable

_ESCAPED = r"\\[dDwWsS.\-/$^*+?()\[\]{}|\\]"
_CLASS = rf"\[\^?(?:[^\\\[\]]|{_ESCAPED})+\]"
_CHARACTER = rf"(?:[\w \-/:;,@#%&=~<>!\"']|{_ESCAPED}|{_CLASS}|\.)"
_PLAIN = re.compile(
    rf"\^?{_CHARACTER}*(?:{_CHARACTER}(?:[*+?]|\{{\d{{1,3}}(?:,\d{{0,3}})?\}})?)?{_CHARACTER}*\$?"
)
"""Characters and classes in a row, at most one of them repeated: at worst quadratic in the name."""

_SAME_IN_ALL_DIALECTS = re.compile(r"[ -~]*\Z")


@lru_cache(maxsize=4096)
def matches(pattern: str, name: str) -> bool | None:
    """Whether `pattern` is found in `name`; `None` where that is not decided."""
    if (
        len(pattern) > MAX_PATTERN_CHARACTERS
        or not _PLAIN.fullmatch(pattern)
        or not _SAME_IN_ALL_DIALECTS.match(name)
    ):
        return None
    try:
        return re.search(pattern, name) is not None
    except re.error:
        return None


def shielded(pattern: str, names: Iterable[str]) -> str:
    """A pattern that is found where `pattern` is, but in none of `names`."""
    # Only what every dialect of regular expressions lets be escaped is escaped.
    alternatives = "|".join(re.sub(r"[\\^$.*+?()\[\]{}|]", r"\\\g<0>", name) for name in names)
    if not alternatives:
        return pattern
    return rf"^(?!(?:{alternatives})(?![\s\S]))[\s\S]*?(?:{pattern})"
