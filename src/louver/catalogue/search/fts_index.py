"""A full-text index in memory: SQLite's FTS5, ranked by BM25.

    index = Index({7: Fields(["create", "issue"], [], ["opens", "issues"], [], ["github"])})
    index.search(any_of(["issue"]), start=0, most=20)        [(7, 6.98)]

Each word is indexed by its stem (`reports` finds `report`), and as written (`reports=`) at half the weight.
Query words are quoted: no query is code.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


class SearchFields(NamedTuple):
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
# Rows added by ascending number in one transaction become one segment, which is faster to search.
_IN_ONE_PIECE = "INSERT INTO tools(tools, rank) VALUES ('hashsize', 67108864)"
_ADD = f"INSERT INTO tools(rowid, {_COLUMNS}) VALUES (?, {_VALUES})"
# A contentless index needs the old text to delete a row.
_FORGET = f"INSERT INTO tools(tools, rowid, {_COLUMNS}) VALUES ('delete', ?, {_VALUES})"
_HAS = "SELECT 1 FROM tools WHERE tools MATCH ? LIMIT 1"
_SEARCH = f"""
SELECT rowid, -bm25(tools, {", ".join(map(str, (*_WEIGHTS.values(), *_WRITTEN.values())))}) AS score
FROM tools WHERE tools MATCH ? ORDER BY rowid IN (%s) DESC, score DESC, rowid LIMIT ? OFFSET ?
"""

# Rows that no query finds, as long as a common tool. FTS5 ignores a word that half of all rows have, which in a
# list of ten tools is the word that they are about. Among many tools the blank rows do not count.
_BLANKS: Final = 100
_BLANK = "INSERT INTO tools(rowid, description) VALUES (?, ?)"


class Index:
    """An immutable index: the rows of `copied` except `gone`, and `new`. Row numbers are positive."""

    def __init__(
        self,
        new: Mapping[int, SearchFields],
        copied: Index | None = None,
        gone: Mapping[int, SearchFields] | None = None,
    ) -> None:
        gone = gone or {}
        # Made in one thread and used in others, by one at a time.
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
        with self._lock:
            return bool(words) and self._sqlite.execute(_HAS, (words,)).fetchone() is not None

    def search(self, words: str, start: int, most: int, first: Iterable[int] = ()) -> list[tuple[int, float]]:
        """Numbers and scores of matching rows, best first, equals by number; `first` are ahead, `most=-1` is all."""
        with self._lock:
            return self._sqlite.execute(_SEARCH % ",".join(map(str, first)), (words, most, start)).fetchall()


def any_of(stems: Iterable[str] = (), written: Iterable[str] = (), begun: Iterable[str] = ()) -> str:
    """An FTS5 query for any of the words: by stem, as written, or by prefix; empty for none."""
    phrases = [f'"{word}"' for word in stems] + [f'"{word}="' for word in written] + [f'"{word}" *' for word in begun]
    return " OR ".join(phrases)


def _rows(fields: Mapping[int, SearchFields]) -> Iterator[tuple[int | str, ...]]:
    for number, of_one in fields.items():
        yield number, *map(" ".join, of_one), *(" ".join(f"{word}=" for word in words) for words in of_one)
