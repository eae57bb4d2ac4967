"""The tools of one list in the order in which they fit a query.

::

    Ranking(tools).search("create an issue", most=2)
    [Match(tool={"name": "create_issue", ...}, score=9.2), Match(tool={"name": "list_issues", ...}, score=3.1)]

A tool is found by one word of the query, and ranked by all of them; one that is named as the query comes first. Where
nothing is found, each word counts as the beginning of one, and as those that are one slip of the hand away from it.

Promised, for any list and query: the order depends on them alone, not on what the list was before; and equal scores
keep the list's own order (`tests/catalogue/test_ranking.py`).
Source: SEP-1821; DISCLOSURE.md, "Search".
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from louver.catalogue.search.document import alone, fields_of
from louver.catalogue.search.fts_index import Index, any_of
from louver.catalogue.search.misspellings import near
from louver.catalogue.search.words import asked, in_one
from louver.core.cached import cached_property

if TYPE_CHECKING:
    from collections.abc import Sequence

    from louver.catalogue.search.document import Named
    from louver.catalogue.search.fts_index import Fields

_GAP = 2**20
"""Between the numbers of two tools that stand beside each other: for those that come between them later."""

_MIN_GUESSED = 3
"""Length of a word that may be meant for another, in code points. Shorter ones are near too many."""


@dataclass(frozen=True, slots=True)
class Match:
    """A tool that fits a query.

    Args:
        tool: As it is listed.
        score: How well, more is better. It says nothing beside the score of another query, or of another list.
    """

    tool: dict[str, Any]
    score: float


@dataclass(frozen=True, slots=True)
class _Row:
    """A tool in the index: its number there, which ascends with the list, its name in one, what names its words."""

    tool: dict[str, Any]
    number: int
    name: str
    digest: bytes

    @classmethod
    def new(cls, tool: dict[str, Any], number: int, fields: Fields, named: Named) -> _Row:
        text = "\n".join(map(" ".join, fields)).encode("utf-8", "backslashreplace")
        return cls(tool, number, in_one(named(tool["name"])[1]), hashlib.blake2b(text, digest_size=16).digest())


class Ranking:
    """The tools of one list. It never changes: another list has a ranking of its own.

    Args:
        tools: As they are listed, in order.
        named: Name of a tool -> its server, and its name there.
        before: That of an earlier list, named alike: what stands in both lists is not read again.
    """

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
        """Names what is searched: lists of one version answer every query in the same order."""
        return hashlib.blake2b(b"".join(row.digest for row in self._rows), digest_size=8).hexdigest()

    def search(self, query: str, start: int = 0, most: int = -1) -> list[Match]:
        """The tools that fit a query, the best first.

        Args:
            query: Any text.
            start: How many of the best are left out.
            most: How many there are at most after them; all by default.
        """
        wanted = self._wanted(query)
        first = self._named_so.get(in_one(query), ())
        found = self._index.search(wanted, start, most, first) if wanted else []
        return [Match(self._tools[number], score) for number, score in found]

    def _wanted(self, query: str) -> str:
        """What is looked for; nothing if the query says nothing."""
        said, known = asked(query), self._index.known
        # As one word too: what one author writes apart another writes together.
        every = list(dict.fromkeys((*said, *known.keys() & {in_one(query)})))
        wanted = any_of(every, [word for word in every if word in known])
        if self._index.has(wanted):
            return wanted
        unclear = [word for word in said if len(word) >= _MIN_GUESSED]
        meant = list(dict.fromkeys(slip for word in unclear for slip in near(word, known)))
        return any_of(meant, meant, begun=unclear)


def _places(tools: list[dict[str, Any]], before: list[_Row]) -> list[_Row | int]:
    """For each tool the row that it has already, or the number of a new one."""
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
    # Of little that stays, forgetting the rest takes longer than beginning anew.
    if has_room and 2 * sum(row is not None for row in staying) > len(before):
        return places
    return list(_between(0, len(tools), (len(tools) + 1) * _GAP))


def _numbered(staying: list[_Row | None]) -> list[_Row | int]:
    """What is new gets a number between those of its neighbours; it is one of theirs if there is no room."""
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
