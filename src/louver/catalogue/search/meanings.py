"""What the tools of one list mean, beside a query: the part of the ranking that needs no word in common.

A score is 0.65 of that by words and 0.35 of the cosine, each as a share of the best of the list. The cosine is that of
the query or of one of its clauses, whichever is nearer. Without a word in common it has to be high, so a query about
something else finds nothing. All is of one list, so tools that a caller does not see leave no trace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from louver.catalogue.search.word_vectors import Direction, WordVectors

_SHARE: Final = 0.35

# Cosines of texts that have nothing in common are mostly below.
_FLOOR: Final = 0.2

# Of the nearest of 500 tools they are mostly below this: from here on a tool matches without a word of the query.
_SURE: Final = 0.4


class Meanings:
    def __init__(self, vectors: WordVectors, tools: Sequence[Direction]) -> None:
        self._vectors = vectors
        # As floats, whose products are many times faster, and exact.
        self._numbers = np.array([tool.numbers for tool in tools], np.float32).reshape(len(tools), vectors.dimensions)
        self._scales = np.array([tool.scale for tool in tools])

    def mixed(self, scores: Sequence[float], texts: Sequence[str]) -> list[float]:
        """Scores by words, with how near each tool is to the nearest of some texts."""
        cosines = np.max([self._cosines(text) for text in texts], axis=0)
        by_words = np.array(scores)
        mixed = (1 - _SHARE) * _as_shares(by_words) + _SHARE * _as_shares(cosines - _FLOOR)
        return np.where((by_words > 0) | (cosines >= _SURE), mixed, 0).tolist()

    def _cosines(self, text: str) -> NDArray[Any]:
        wanted = self._vectors.encode(text)
        return self._numbers @ wanted.numbers.astype(np.float32) * (self._scales * wanted.scale)


def _as_shares(values: NDArray[Any]) -> NDArray[Any]:
    """Of the greatest; 0 for values below 0."""
    greatest = values.max(initial=0)
    return np.maximum(values, 0) / (greatest or 1)
