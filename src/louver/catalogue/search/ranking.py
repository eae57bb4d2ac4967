"""Ranking the tools of one list by a query.

    Ranking(tools).search("create an issue", most=2)
    [Match(tool={"name": "create_issue", ...}, score=9.2), Match(tool={"name": "list_issues", ...}, score=3.1)]

If no word matches, prefixes and corrected words count. Law: the order depends on list and query alone, and equal
scores keep the list's order (`tests/catalogue/test_ranking.py`). Source: SEP-1821; DISCLOSURE.md, "Search".
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from heapq import nlargest
from itertools import chain, cycle, zip_longest
from math import inf
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from louver.catalogue.search.document import alone, fields_of, meaning_text
from louver.catalogue.search.misspellings import near
from louver.catalogue.search.needs import needs_of
from louver.catalogue.search.text_index import TextIndex, WordWeights
from louver.catalogue.search.words import in_one, query_terms
from louver.core.cached import cached_property

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from louver.catalogue.search.document import Named
    from louver.catalogue.search.word_vectors import Direction, WordVectors

# In code points. Shorter words are not corrected: too many words are near them.
_MIN_GUESSED = 3


@dataclass(frozen=True, slots=True)
class Match:
    tool: dict[str, Any]
    score: float  # comparable only within one need and one list
    need: int = 0  # place of the first need that it serves


class _Document(NamedTuple):
    """What is searched of a tool."""

    name: str  # as one word
    digest: bytes  # of its words
    words: WordWeights
    meaning: Direction | None  # by word vectors, where there are any

    @classmethod
    def of(
        cls, tool: dict[str, Any], named: Named, search_terms: Sequence[str], vectors: WordVectors | None
    ) -> _Document:
        fields = fields_of(tool, named, search_terms)
        text = "\n".join(map(" ".join, fields)).encode("utf-8", "backslashreplace")
        digest = hashlib.blake2b(text, digest_size=16).digest()
        meaning = None if vectors is None else vectors.encode(meaning_text(tool, named, search_terms))
        return cls(in_one(named(tool["name"])[1]), digest, WordWeights.of(fields), meaning)


class Ranking:
    """The immutable ranking of one list. Tools that the ranking `before` has too are not read again.

    `search_terms` are those of description files: tool name -> terms. A ranking `before` has the same word vectors.
    """

    def __init__(
        self,
        tools: Sequence[dict[str, Any]],
        named: Named = alone,
        before: Ranking | None = None,
        search_terms: Mapping[str, Sequence[str]] = MappingProxyType({}),
        vectors: WordVectors | None = None,
    ) -> None:
        self.tools = list(tools)
        self.search_terms = search_terms
        read = {} if before is None else before._read()

        def document_of(tool: dict[str, Any]) -> _Document:
            terms = search_terms.get(tool["name"], ())
            *known, document = read.get(tool["name"], (None, None, None))
            if document is not None and known == [tool, terms]:
                return document
            return _Document.of(tool, named, terms, vectors)

        self._documents = [document_of(tool) for tool in self.tools]
        words = [document.words for document in self._documents]
        self._index = TextIndex(words, None if before is None else before._index)
        self._places: dict[str, list[int]] = {}  # of the tools that have a name
        for place, document in enumerate(self._documents):
            self._places.setdefault(document.name, []).append(place)
        self._meanings = None
        self._model = b"" if vectors is None else vectors.digest
        if vectors is not None:
            # Lazy import: it needs the extra `meaning`.
            from louver.catalogue.search.meanings import Meanings

            self._meanings = Meanings(vectors, [each.meaning for each in self._documents if each.meaning is not None])

    @cached_property
    def version(self) -> str:
        """Digest of the searched text, and of the word vectors: equal versions order the tools of every query alike."""
        digests = (self._model, *(each.digest for each in self._documents))
        return hashlib.blake2b(b"".join(digests), digest_size=8).hexdigest()

    def needs_of(self, query: str) -> list[str]:
        """The needs that are ranked apart. Word vectors find the tools of clauses in the whole query, too."""
        needs = needs_of(query)
        return needs if self._meanings is None or needs[0] != query else [query]

    def search(self, query: str, start: int = 0, most: int | None = None) -> list[Match]:
        """The matching tools, best first: `most` of them (`None` is all) after the first `start`."""
        return self.search_needs([query], start, most)

    def search_needs(self, needs: Sequence[str], start: int = 0, most: int | None = None) -> list[Match]:
        """The tools that match any need: the best of each, then the second of each, and so on, each tool once."""
        end = None if most is None else start + most
        interleaved = chain.from_iterable(zip_longest(*(self._ranked(need, end) for need in needs)))
        found: dict[int, Match] = {}
        for need, ranked in zip(cycle(range(len(needs))), interleaved, strict=False):
            if ranked is not None:
                place, score = ranked
                found.setdefault(place, Match(self.tools[place], score, need))
        return list(found.values())[start:end]

    def _ranked(self, query: str, most: int | None) -> Iterator[tuple[int, float]]:
        """The places and scores of the best tools."""
        scores = self._scores(query)
        # A tool whose name is the query is ahead of all others; equals keep the order of the list.
        first = {place for place in self._places.get(in_one(query), ()) if scores[place]}
        # Only the best are sorted.
        matching = filter(None, scores)
        least = min(matching if most is None else nlargest(most, matching), default=inf)
        places = [place for place, score in enumerate(scores) if score >= least]
        best = sorted({*places, *first}, key=lambda place: (place not in first, -scores[place], place))
        return ((place, scores[place]) for place in best[:most])

    def _scores(self, query: str) -> list[float]:
        """By the words, and by what they mean if there are word vectors."""
        scores = self._word_scores(query)
        if self._meanings is None:
            return scores
        return self._meanings.mixed(scores, list(dict.fromkeys((query, *needs_of(query)))))

    def _word_scores(self, query: str) -> list[float]:
        """By the words, or by their corrections and what begins with them if no tool has one."""
        terms, known = query_terms(query), self._index.known
        # As one word too: some authors write together what others write apart.
        scores = self._index.scores(list(dict.fromkeys((*terms, *known & {in_one(query)}))))
        if any(scores):
            return scores
        unclear = [word for word in terms if len(word) >= _MIN_GUESSED]
        return self._index.scores(list(dict.fromkeys(slip for word in unclear for slip in near(word, known))), unclear)

    def _read(self) -> dict[str, tuple[dict[str, Any], Sequence[str], _Document]]:
        """Tool name -> what was read, and what it gave."""
        return {
            tool["name"]: (tool, self.search_terms.get(tool["name"], ()), document)
            for tool, document in zip(self.tools, self._documents, strict=True)
        }
