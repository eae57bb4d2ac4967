"""The rankings of the lists that callers see.

Each list has its own ranking, so that hidden tools affect neither the order nor spelling correction. Callers with
equal lists share a ranking, and a changed list reuses the rows of the list before.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Any

from louver.catalogue.search.document import alone
from louver.catalogue.search.meaning_extra import word_vectors
from louver.catalogue.search.ranking import Ranking
from louver.limits import MAX_CALLERS, MAX_RANKED_TOOLS

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence
    from pathlib import Path

    from louver.catalogue.search.document import Named


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
        while len(self._latest) > MAX_CALLERS or (len(self._latest) > 1 and self._size() > MAX_RANKED_TOOLS):
            self._latest.popitem(last=False)

    def _size(self) -> int:
        return sum(len(ranking.tools) for ranking in set(self._latest.values()))
