"""A full-text index in memory, ranked by BM25.

    index = TextIndex([TermWeights.of(fields) for fields in ...])
    index.search(index.terms(["issue"]))      {0: 3.9}: the tools that match, by their place in the list, with scores

Each word counts by its stem (`reports` finds `report`), and as written (`reports=`) at half the weight. Source of the
formula: Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009; weighted fields as in SQLite's FTS5.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import chain
from math import log
from typing import TYPE_CHECKING, Final, NamedTuple

from louver.catalogue.search.stems import stems

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
    """The words of one tool."""

    weights: dict[str, float]  # word -> how often it occurs, by the weights of the fields
    length: int  # number of words

    @classmethod
    def of(cls, fields: SearchFields) -> WordWeights:
        weights: dict[str, float] = {}
        for weight, words in zip(_WEIGHTS, fields, strict=True):
            for word in words:
                weights[word] = weights.get(word, 0.0) + weight
        # Search terms do not count as length: they would push down what the tool is found by without them.
        return cls(weights, sum(map(len, fields)) - len(fields.search_terms))


class _Term(NamedTuple):
    """A stem, or a word as written."""

    text: str
    is_written: bool = False


class TextIndex:
    """An immutable index. With another one, whose stems are known, it is made faster."""

    def __init__(self, tools: Sequence[WordWeights], before: TextIndex | None = None) -> None:
        occurrences: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
        for place, tool in enumerate(tools):
            for word, weight in tool.weights.items():
                occurrences[word].append((place, weight))
        self._occurrences = dict(occurrences)
        self.known = self._occurrences.keys()
        self._stem_of = _stems_of(self.known, {} if before is None else before._stem_of)
        count = len(tools) + _BLANKS
        average = (sum(tool.length for tool in tools) + _BLANKS * _BLANK_LENGTH) / count
        self._norms = [_K1 * (1 - _B + _B * tool.length / average) for tool in tools]
        self._count = count
        self._words_of: dict[str, list[str]] = {}
        for word in self.known:
            self._words_of.setdefault(self._stem_of[word], []).append(word)
        # What each term adds to the scores of the tools that have it; made on first use.
        self._added: dict[_Term, list[tuple[int, float]]] = {}

    def scores(self, words: Sequence[str], begun: Iterable[str] = ()) -> list[float]:
        """The score of each tool by words, and by those that begin with some letters; 0 without any of them."""
        stem_of = _stems_of(words, self._stem_of)
        scores = [0.0] * len(self._norms)
        added = [
            self._added_by(term) for word in words for term in (_Term(stem_of[word]), _Term(word, is_written=True))
        ]
        added += [self._scored([word for word in self.known if word.startswith(letters)]) for letters in begun]
        for place, score in chain.from_iterable(added):
            scores[place] += score
        return scores

    def _added_by(self, term: _Term) -> list[tuple[int, float]]:
        if (added := self._added.get(term)) is not None:
            return added
        has = (
            self._words_of.get(term.text, []) if not term.is_written else [term.text] if term.text in self.known else []
        )
        added = self._scored(has, _WRITTEN if term.is_written else 1.0)
        if added:
            self._added[term] = added
        return added

    def _scored(self, words: Iterable[str], share: float = 1.0) -> list[tuple[int, float]]:
        """What a term adds that stands for these words."""
        weights: dict[int, float] = {}
        for word in words:
            for place, weight in self._occurrences[word]:
                weights[place] = weights.get(place, 0.0) + share * weight
        rarity = max(_LEAST_RARITY, log((self._count - len(weights) + 0.5) / (len(weights) + 0.5)))
        return [
            (place, rarity * weight * (_K1 + 1) / (weight + self._norms[place])) for place, weight in weights.items()
        ]


def _stems_of(words: Iterable[str], known: Mapping[str, str]) -> dict[str, str]:
    """Word -> stem."""
    new = [word for word in words if word not in known]
    made = dict(zip(new, stems(new), strict=True)) if new else {}
    return {word: known.get(word) or made[word] for word in words}
