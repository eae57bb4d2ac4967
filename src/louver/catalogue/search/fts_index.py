"""An index of words in memory: SQLite's FTS5, which finds texts by their words and ranks them by BM25.

::

    index = Index({7: Fields(["create", "issue"], [], ["opens", "issues"], [], ["github"])})
    index.search(any_of(["issue"]), start=0, most=20)        [(7, 6.98)]

Each word stands there twice: by its stem, so that `reports` finds `report`; and as it is written (`reports=`), which
counts half of that on top, since what is written alike is the surer sign. What is looked for are words, each of them
quoted: nothing in a query is code.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


class Fields(NamedTuple):
    """The words of a tool."""

    name: list[str]
    title: list[str]
    description: list[str]
    parameters: list[str]
    server: list[str]


_WEIGHTS: Final = {"name": 3.0, "title": 1.0, "description": 1.0, "parameters": 1.0, "server": 1.0}
_WRITTEN: Final = {f"{field}_written": weight / 2 for field, weight in _WEIGHTS.items()}
_COLUMNS: Final = ", ".join((*_WEIGHTS, *_WRITTEN))
_VALUES: Final = ", ".join("?" * (len(_WEIGHTS) + len(_WRITTEN)))

_TOKENS: Final = "porter unicode61 tokenchars '='"
_TABLE = f"""CREATE VIRTUAL TABLE tools USING fts5({_COLUMNS}, content='', tokenize="{_TOKENS}")"""
# What is added with ascending numbers in one transaction gets into the index in one piece, which is faster to search.
_IN_ONE_PIECE = "INSERT INTO tools(tools, rank) VALUES ('hashsize', 67108864)"
_ADD = f"INSERT INTO tools(rowid, {_COLUMNS}) VALUES (?, {_VALUES})"
# An index that keeps no texts is told what it has to forget.
_FORGET = f"INSERT INTO tools(tools, rowid, {_COLUMNS}) VALUES ('delete', ?, {_VALUES})"
_HAS = "SELECT 1 FROM tools WHERE tools MATCH ? LIMIT 1"
_SEARCH = f"""
SELECT rowid, -bm25(tools, {", ".join(map(str, (*_WEIGHTS.values(), *_WRITTEN.values())))}) AS score
FROM tools WHERE tools MATCH ? ORDER BY rowid IN (%s) DESC, score DESC, rowid LIMIT ? OFFSET ?
"""

_BLANKS: Final = 100
_BLANK = "INSERT INTO tools(rowid, description) VALUES (?, ?)"
"""Rows that nothing finds, as long as a common tool.

FTS5 takes a word for worthless that half of all rows have, which in a list of ten tools is the word that they are
about. Among many tools the blanks do not count.
"""


class Index:
    """Fields by number, and how many of them know each word. It never changes.

    Args:
        new: What it takes in; numbers are positive.
        copied: Another index, whose fields it has too.
        gone: What of those it forgets: just as that was taken in.
    """

    def __init__(
        self, new: Mapping[int, Fields], copied: Index | None = None, gone: Mapping[int, Fields] | None = None
    ) -> None:
        gone = gone or {}
        # Made in one thread and asked in others, but by one at a time.
        self._lock = Lock()
        self._sqlite = sqlite3.connect(":memory:", check_same_thread=False)
        if copied is not None:
            with copied._lock:
                copied._sqlite.backup(self._sqlite)
        with self._sqlite:
            if copied is None:
                self._sqlite.execute(_TABLE)
                self._sqlite.execute(_IN_ONE_PIECE)
                self._sqlite.executemany(_BLANK, ((number, "= " * 100) for number in range(-_BLANKS, 0)))
            self._sqlite.executemany(_FORGET, _rows(gone))
            self._sqlite.executemany(_ADD, _rows(new))
        known = Counter[str]({} if copied is None else copied.known)
        for fields in gone.values():
            known.subtract(set[str]().union(*fields))
        for fields in new.values():
            known.update(set[str]().union(*fields))
        self.known: Mapping[str, int] = +known

    def __del__(self) -> None:
        self._sqlite.close()

    def has(self, words: str) -> bool:
        """Whether anything has one of the words."""
        with self._lock:
            return bool(words) and self._sqlite.execute(_HAS, (words,)).fetchone() is not None

    def search(self, words: str, start: int, most: int, first: Iterable[int] = ()) -> list[tuple[int, float]]:
        """The numbers of what has one of the words, and their scores: the best first, and equals by number.

        Args:
            words: What `any_of` gives.
            start: How many of the best are left out.
            most: How many there are at most after them; -1 for all.
            first: Numbers that come before others, whatever their scores.
        """
        with self._lock:
            return self._sqlite.execute(_SEARCH % ",".join(map(str, first)), (words, most, start)).fetchall()


def any_of(stems: Iterable[str] = (), written: Iterable[str] = (), begun: Iterable[str] = ()) -> str:
    """What finds any of some words; the empty text for none.

    Args:
        stems: By their stems.
        written: As they are written.
        begun: By how they begin.
    """
    phrases = [f'"{word}"' for word in stems] + [f'"{word}="' for word in written] + [f'"{word}" *' for word in begun]
    return " OR ".join(phrases)


def _rows(fields: Mapping[int, Fields]) -> Iterator[tuple[int | str, ...]]:
    for number, of_one in fields.items():
        yield number, *map(" ".join, of_one), *(" ".join(f"{word}=" for word in words) for words in of_one)
