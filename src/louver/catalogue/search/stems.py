"""Stems of words, by the Porter stemmer that SQLite has: `reports` and `reporting` give `report`."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_TABLES: Final = """
CREATE VIRTUAL TABLE words USING fts5(word, tokenize='porter unicode61');
CREATE VIRTUAL TABLE stems USING fts5vocab(words, 'instance');
"""


def stems(words: Sequence[str]) -> list[str]:
    """The stem of each word; of one that SQLite splits or changes otherwise, the word itself."""
    database = sqlite3.connect(":memory:")
    try:
        database.executescript(_TABLES)
        rows = ((number, word.encode("utf-8", "replace").decode()) for number, word in enumerate(words, 1))
        database.executemany("INSERT INTO words(rowid, word) VALUES (?, ?)", rows)
        found = list(words)
        counts: dict[int, int] = {}
        for number, stem in database.execute("SELECT doc, term FROM stems"):
            counts[number] = counts.get(number, 0) + 1
            found[number - 1] = stem if counts[number] == 1 else words[number - 1]
        return found
    finally:
        database.close()
