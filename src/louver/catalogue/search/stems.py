"""Stems of words, by the Porter stemmer that SQLite has: `reports` and `reporting` give `report`."""

from __future__ import annotations

import sqlite3
from threading import local
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_TABLES: Final = """
CREATE VIRTUAL TABLE words USING fts5(word, tokenize='porter unicode61');
CREATE VIRTUAL TABLE stems USING fts5vocab(words, 'instance');
"""


class _Database:
    def __init__(self) -> None:
        # It is closed by any thread: at the end of the process by the main one.
        self.connection = sqlite3.connect(":memory:", check_same_thread=False)
        self.connection.executescript(_TABLES)

    def __del__(self) -> None:
        self.connection.close()


class _Local(local):
    """A database for each thread: making one takes longer than stemming a query."""

    def __init__(self) -> None:
        self.database = _Database()


_LOCAL: Final = _Local()


def stems(words: Sequence[str]) -> list[str]:
    """The stem of each word; of one that SQLite splits or changes otherwise, the word itself."""
    database = _LOCAL.database.connection
    try:
        rows = ((number, word.encode("utf-8", "replace").decode()) for number, word in enumerate(words, 1))
        database.executemany("INSERT INTO words(rowid, word) VALUES (?, ?)", rows)
        found = list(words)
        counts: dict[int, int] = {}
        for number, stem in database.execute("SELECT doc, term FROM stems"):
            counts[number] = counts.get(number, 0) + 1
            found[number - 1] = stem if counts[number] == 1 else words[number - 1]
        return found
    finally:
        database.rollback()
