"""Words that are one slip of the hand away from a word: four of five misspelt words are no further off.

    databse    a letter too few, too many, another one, or two that changed places    database

All that a slip can make of a word is written down and looked up, some 75 for each letter of it. That takes the same
time whatever the catalogue's size, where comparing the word with every other grows with it.
"""

from __future__ import annotations

from string import ascii_lowercase, digits
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

_SIGNS = ascii_lowercase + digits


def near(word: str, known: Container[str]) -> list[str]:
    """The known words that are one slip away from `word`, in the order of the alphabet."""
    return sorted({slip for slip in _slips(word) if slip in known})


def _slips(word: str) -> Iterator[str]:
    for at in range(len(word) + 1):
        before, after = word[:at], word[at:]
        yield before + after[1:]
        yield before + after[1:2] + after[:1] + after[2:]
        for sign in _SIGNS:
            yield before + sign + after
            yield before + sign + after[1:]
