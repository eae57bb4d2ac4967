"""A full-text index in memory, ranked by BM25.

    index = TextIndex([TermWeights.of(fields) for fields in ...])
    index.search(index.terms(["issue"]))      {0: 3.9}: the tools that match, by their place in the list, with scores

Each word counts by its stem (`reports` finds `report`), and as written (`reports=`) at half the weight. Source of the
formula: Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009; weighted fields as in SQLite's FTS5.
"""

from __future__ import annotations

import sys
from array import array
from collections import defaultdict
from math import log
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import Stemmer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


_K1: Final = 1.2
_B: Final = 0.75

# Tools that no query finds, as long as a common tool. Otherwise a word that half of the tools have would be ignored,
# which in a list of ten tools is the word that they are about. Among many tools the blank ones do not count.
_BLANKS: Final = 100
_BLANK_LENGTH: Final = 50
_LEAST_RARITY: Final = 1e-6


class SearchFields(NamedTuple):
    name: list[str]
    title: list[str]
    description: list[str]
    parameters: list[str]
    server: list[str]
    search_terms: list[str]


_WEIGHTS: Final = (3.0, 1.0, 1.0, 1.0, 1.0, 2.0)
"""Of the fields."""

_WRITTEN: Final = 0.5
"""Of a word as written, beside its stem."""


class WordWeights(NamedTuple):
    """The words of one tool. A hundred thousand tools share them, and numbers are kept as numbers of C."""

    words: tuple[str, ...]
    weights: array[float]  # how often each occurs, by the weights of the fields
    length: int  # number of words

    @classmethod
    def of(cls, fields: SearchFields) -> WordWeights:
        weights: dict[str, float] = {}
        for weight, words in zip(_WEIGHTS, fields, strict=True):
            for word in words:
                weights[word] = weights.get(word, 0.0) + weight
        words = tuple(map(sys.intern, weights))
        # Search terms do not count as length: they would push down what the tool is found by without them.
        return cls(words, array("f", weights.values()), sum(map(len, fields)) - len(fields.search_terms))


class _Places(NamedTuple):
    """Some tools by their places in the list, each with a number."""

    places: array[int]
    numbers: array[float]

    @classmethod
    def none(cls) -> _Places:
        return cls(array("I"), array("f"))

    def add(self, place: int, number: float) -> None:
        self.places.append(place)
        self.numbers.append(number)


class _Term(NamedTuple):
    """A stem, or a word as written."""

    text: str
    is_written: bool = False


class TextIndex:
    """An immutable index. With another one, whose stems are known, it is made faster."""

    def __init__(self, tools: Sequence[WordWeights], before: TextIndex | None = None) -> None:
        occurrences: defaultdict[str, _Places] = defaultdict(_Places.none)
        for place, tool in enumerate(tools):
            for word, weight in zip(tool.words, tool.weights, strict=True):
                occurrences[word].add(place, weight)
        self._occurrences = dict(occurrences)
        self.known = self._occurrences.keys()
        self._stem_of = _stems_of(self.known, {} if before is None else before._stem_of)
        count = len(tools) + _BLANKS
        average = (sum(tool.length for tool in tools) + _BLANKS * _BLANK_LENGTH) / count
        self._norms = array("d", [_K1 * (1 - _B + _B * tool.length / average) for tool in tools])
        self._count = count
        self._words_of: dict[str, list[str]] = {}
        for word in self.known:
            self._words_of.setdefault(self._stem_of[word], []).append(word)
        # What each term adds to the scores of the tools that have it; made on first use.
        self._added: dict[_Term, _Places] = {}

    def scores(self, words: Sequence[str], begun: Iterable[str] = ()) -> list[float]:
        """The score of each tool by words, and by those that begin with some letters; 0 without any of them."""
        stem_of = _stems_of(words, self._stem_of)
        scores = [0.0] * len(self._norms)
        added = [
            self._added_by(term) for word in words for term in (_Term(stem_of[word]), _Term(word, is_written=True))
        ]
        added += [self._scored([word for word in self.known if word.startswith(letters)]) for letters in begun]
        for places, gains in added:
            for place, gain in zip(places, gains, strict=True):
                scores[place] += gain
        return scores

    def _added_by(self, term: _Term) -> _Places:
        if (added := self._added.get(term)) is not None:
            return added
        has = (
            self._words_of.get(term.text, []) if not term.is_written else [term.text] if term.text in self.known else []
        )
        added = self._scored(has, _WRITTEN if term.is_written else 1.0)
        if added.places:
            self._added[term] = added
        return added

    def _scored(self, words: Iterable[str], share: float = 1.0) -> _Places:
        """What a term adds that stands for these words."""
        weights: dict[int, float] = {}
        for word in words:
            for place, weight in zip(*self._occurrences[word], strict=True):
                weights[place] = weights.get(place, 0.0) + share * weight
        rarity = max(_LEAST_RARITY, log((self._count - len(weights) + 0.5) / (len(weights) + 0.5)))
        gains = (rarity * weight * (_K1 + 1) / (weight + self._norms[place]) for place, weight in weights.items())
        return _Places(array("I", weights), array("d", gains))


def _stems_of(words: Iterable[str], known: Mapping[str, str]) -> dict[str, str]:
    """Word -> stem."""
    new = [word for word in words if word not in known]
    made = dict(zip(new, stems(new), strict=True)) if new else {}
    return {word: known.get(word) or made[word] for word in words}


def stems(words: Sequence[str]) -> list[str]:
    """The stem of each word, by Porter's algorithm; a word of one or two letters is its own."""
    # One a call, in 6 us: threads cannot share one.
    made: list[str] = cast("Any", Stemmer).Stemmer("porter").stemWords(words)
    return [stem if len(word) > 2 else word for word, stem in zip(words, made, strict=True)]
