"""Spelling correction: the known words at one edit from a word. Four of five misspelt words are no further off.

databse    a letter missing, added or replaced, or two swapped    database
"""

from __future__ import annotations

from string import ascii_lowercase, digits
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

_SIGNS = ascii_lowercase + digits


# All edits are looked up, some 75 a letter: comparing with every word would grow with the catalogue.
def near(word: str, known: Container[str]) -> list[str]:
    return sorted({slip for slip in _slips(word) if slip in known})


def _slips(word: str) -> Iterator[str]:
    for at in range(len(word) + 1):
        before, after = word[:at], word[at:]
        yield before + after[1:]
        yield before + after[1:2] + after[:1] + after[2:]
        for sign in _SIGNS:
            yield before + sign + after
            yield before + sign + after[1:]
