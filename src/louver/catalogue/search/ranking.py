"""Ranking the tools of one list by a query.

    Ranking(tools).search("create an issue", most=2)
    [Match(tool={"name": "create_issue", ...}, score=9.2), Match(tool={"name": "list_issues", ...}, score=3.1)]

If no word matches, prefixes and corrected words count. Law: the order depends on list and query alone, and equal
scores keep the list's order (`tests/catalogue/search/test_ranking.py`). Source: SEP-1821; DISCLOSURE.md, "Search".
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass
from functools import partial
from heapq import nlargest
from itertools import chain, cycle, zip_longest
from math import inf
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from louver.catalogue.search.meaning_extra import word_vectors
from louver.catalogue.search.text_index import SearchFields, TextIndex, WordWeights
from louver.catalogue.search.words import clauses_of, in_one, near, needs_of, query_terms, words
from louver.core.cached import cached_property
from louver.core.json import members
from louver.limits import MAX_CALLERS, MAX_NEEDS

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from louver.catalogue.search.word_vectors import Direction, WordVectors

    # Tool name -> its server, and its name there; `alone` is for a single server: its name adds nothing.
    Named = Callable[[str], tuple[str, str]]


MAX_SEARCHED_CHARACTERS = 20_000
"""Code points of each text of a tool that are searched: five times the longest of 527 real tools."""

MAX_MEANING_CHARACTERS = 600
"""Code points of a tool whose meaning is searched: the first sentences say what it does, later ones how."""


def alone(name: str) -> tuple[str, str]:
    return "", name


def fields_of(tool: dict[str, Any], named: Named, search_terms: Iterable[str] = ()) -> SearchFields:
    server, name = named(tool["name"])
    parameters = members(members(tool.get("inputSchema")).get("properties"))
    parameter_texts = (
        text for name, schema in parameters.items() for text in (name, _text(members(schema).get("description")))
    )
    texts = (
        name,
        _title(tool),
        _text(tool.get("description")),
        "\n".join(parameter_texts),
        server,
        "\n".join(search_terms),
    )
    return SearchFields(*(words(text[:MAX_SEARCHED_CHARACTERS]) for text in texts))


def meaning_text(tool: dict[str, Any], named: Named, search_terms: Iterable[str] = ()) -> str:
    """The text of a tool that says what it does."""
    texts = (*named(tool["name"]), _title(tool), *search_terms, _text(tool.get("description")))
    return "\n".join(texts)[:MAX_MEANING_CHARACTERS]


def _title(tool: dict[str, Any]) -> str:
    return _text(tool.get("title")) or _text(members(tool.get("annotations")).get("title"))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


_TOOL_BYTES: Final = 1500
_WORD_BYTES: Final = 40
"""What a tool and each of its words take in an index, measured with 10,000 and 100,000 tools of 39 words."""

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
    """The immutable ranking of one list of tools by a query.

    Args:
        tools: The tools, as on the wire.
        named: The name of a tool -> its server and its own name.
        before: A ranking with the same word vectors: tools that it has too are not read again.
        search_terms: Tool name -> words that find it, as in description files.
        vectors: What words mean, if that counts too.
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
            from louver.catalogue.search.word_vectors import Meanings

            self._meanings = Meanings(vectors, [each.meaning for each in self._documents if each.meaning is not None])

    @cached_property
    def version(self) -> str:
        """Digest of the searched text, and of the word vectors: equal versions order the tools of every query alike."""
        digests = (self._model, *(each.digest for each in self._documents))
        return hashlib.blake2b(b"".join(digests), digest_size=8).hexdigest()

    @cached_property
    def size(self) -> int:
        """Bytes that the index takes, about."""
        return sum(_TOOL_BYTES + _WORD_BYTES * len(document.words.words) for document in self._documents)

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
        return self._meanings.mixed(scores, list(dict.fromkeys((query, *clauses_of(query)[:MAX_NEEDS]))))

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


MAX_RANKED_BYTES = 150_000_000
"""Of the search indexes of one server, but for the latest; each caller with a list of its own has one."""


class Rankings:
    """With word vectors, of a folder or of the extra `meaning`."""

    def __init__(self, named: Named = alone, meaning: Path | None = None) -> None:
        self._named = named
        self._meaning = meaning
        self._latest: OrderedDict[Hashable, Ranking] = OrderedDict()

    def find(
        self, caller: Hashable, tools: list[dict[str, Any]], search_terms: Mapping[str, Sequence[str]]
    ) -> Ranking | None:
        """A ranking of the same list, perhaps made for another caller."""
        rankings = dict.fromkeys((*filter(None, [self._latest.get(caller)]), *self._latest.values()))
        ranking = next((each for each in rankings if each.tools == tools and each.search_terms == search_terms), None)
        if ranking is not None:
            self.keep(caller, ranking)
        return ranking

    def maker(
        self, caller: Hashable, tools: list[dict[str, Any]], search_terms: Mapping[str, Sequence[str]]
    ) -> Callable[[], Ranking]:
        """What makes a new ranking, based on the caller's latest or another's. It can run in a thread: for a second."""
        before = self._latest.get(caller) or next(reversed(self._latest.values()), None)
        return partial(self._made, tools, before, search_terms)

    def _made(
        self, tools: list[dict[str, Any]], before: Ranking | None, search_terms: Mapping[str, Sequence[str]]
    ) -> Ranking:
        return Ranking(tools, self._named, before, search_terms, word_vectors(self._meaning))

    def keep(self, caller: Hashable, ranking: Ranking) -> None:
        self._latest[caller] = ranking
        self._latest.move_to_end(caller)
        while len(self._latest) > MAX_CALLERS or (len(self._latest) > 1 and self._size() > MAX_RANKED_BYTES):
            self._latest.popitem(last=False)

    def _size(self) -> int:
        return sum(ranking.size for ranking in set(self._latest.values()))
