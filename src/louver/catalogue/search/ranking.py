"""Ranking the tools of one list by a query.

    Ranking(tools).search("create an issue", most=2)
    [Match(tool={"name": "create_issue", ...}, score=9.2), Match(tool={"name": "list_issues", ...}, score=3.1)]

If no word matches, prefixes and corrected words count. Law: the order depends on list and query alone, and equal
scores keep the list's order (`tests/catalogue/test_ranking.py`). Source: SEP-1821; DISCLOSURE.md, "Search".
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from louver.catalogue.search.document import alone, fields_of
from louver.catalogue.search.fts_index import Index, any_of
from louver.catalogue.search.misspellings import near
from louver.catalogue.search.words import in_one, query_terms
from louver.core.cached import cached_property

if TYPE_CHECKING:
    from collections.abc import Sequence

    from louver.catalogue.search.document import Named
    from louver.catalogue.search.fts_index import SearchFields

# Distance between the numbers of adjacent tools, so that later tools fit in between.
_GAP = 2**20

# In code points. Shorter words are not corrected: too many words are near them.
_MIN_GUESSED = 3


@dataclass(frozen=True, slots=True)
class Match:
    tool: dict[str, Any]
    score: float  # comparable only within one query and one list


@dataclass(frozen=True, slots=True)
class _Row:
    tool: dict[str, Any]
    number: int  # ascends with the list
    name: str  # as one word
    digest: bytes  # of its words

    @classmethod
    def new(cls, tool: dict[str, Any], number: int, fields: SearchFields, named: Named) -> _Row:
        text = "\n".join(map(" ".join, fields)).encode("utf-8", "backslashreplace")
        return cls(tool, number, in_one(named(tool["name"])[1]), hashlib.blake2b(text, digest_size=16).digest())


class Ranking:
    """The immutable ranking of one list. Tools that the ranking `before` has too are not indexed again."""

    def __init__(self, tools: Sequence[dict[str, Any]], named: Named = alone, before: Ranking | None = None) -> None:
        self.tools = list(tools)
        known = [] if before is None else before._rows
        places = _places(self.tools, known)
        stay = {place.number for place in places if isinstance(place, _Row)}
        pairs = list(zip(self.tools, places, strict=True))
        new = {place: fields_of(tool, named) for tool, place in pairs if isinstance(place, int)}
        gone = {row.number: fields_of(row.tool, named) for row in known if row.number not in stay} if stay else {}
        self._index = Index(new, before._index if before is not None and stay else None, gone)
        self._rows = [
            place if isinstance(place, _Row) else _Row.new(tool, place, new[place], named) for tool, place in pairs
        ]
        self._tools = {row.number: row.tool for row in self._rows}
        self._named_so: dict[str, list[int]] = {}
        for row in self._rows:
            self._named_so.setdefault(row.name, []).append(row.number)

    @cached_property
    def version(self) -> str:
        """Digest of the searched text: equal versions order the tools of every query alike."""
        return hashlib.blake2b(b"".join(row.digest for row in self._rows), digest_size=8).hexdigest()

    def search(self, query: str, start: int = 0, most: int = -1) -> list[Match]:
        """The matching tools, best first: `most` of them (-1 is all) after the first `start`."""
        wanted = self._wanted(query)
        first = self._named_so.get(in_one(query), ())
        found = self._index.search(wanted, start, most, first) if wanted else []
        return [Match(self._tools[number], score) for number, score in found]

    def _wanted(self, query: str) -> str:
        """The FTS5 query: the words, or their corrections and prefixes if no tool has one; empty without words."""
        terms, known = query_terms(query), self._index.known
        # As one word too: some authors write together what others write apart.
        every = list(dict.fromkeys((*terms, *known.keys() & {in_one(query)})))
        wanted = any_of(every, [word for word in every if word in known])
        if self._index.has(wanted):
            return wanted
        unclear = [word for word in terms if len(word) >= _MIN_GUESSED]
        meant = list(dict.fromkeys(slip for word in unclear for slip in near(word, known)))
        return any_of(meant, meant, begun=unclear)


def _places(tools: list[dict[str, Any]], before: list[_Row]) -> list[_Row | int]:
    known = {row.tool["name"]: row for row in before}
    staying: list[_Row | None] = []
    last = 0
    for tool in tools:
        row = known.get(tool["name"])
        if row is not None and (row.number <= last or row.tool != tool):
            row = None
        last = last if row is None else row.number
        staying.append(row)
    places = _numbered(staying)
    has_room = len({place.number if isinstance(place, _Row) else place for place in places}) == len(places)
    # If little stays, deleting the rest takes longer than a new index.
    if has_room and 2 * sum(row is not None for row in staying) > len(before):
        return places
    return list(_between(0, len(tools), (len(tools) + 1) * _GAP))


def _numbered(staying: list[_Row | None]) -> list[_Row | int]:
    """Numbers for the new tools between those of their neighbours; duplicates if there is no room."""
    places: list[_Row | int] = []
    last = new = 0
    for row in staying:
        if row is None:
            new += 1
        else:
            places += _between(last, new, row.number)
            places.append(row)
            last, new = row.number, 0
    return places + _between(last, new, last + (new + 1) * _GAP)


def _between(first: int, count: int, end: int) -> list[_Row | int]:
    step = (end - first) // (count + 1)
    return [first + step * (at + 1) for at in range(count)]
