"""The rankings of the lists that callers see, each made once.

A server may show every caller a list of its own. What one does not see must not be felt in what it finds, neither in
the order nor in what a misspelt word is taken for, so each list has a ranking of its own. Callers who see equal
lists share it, and a list that has changed takes over from the one before what is still in it.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from louver.catalogue.search.document import alone
from louver.catalogue.search.ranking import Ranking
from louver.limits import MAX_CALLERS, MAX_RANKED_TOOLS

if TYPE_CHECKING:
    from collections.abc import Hashable

    from louver.catalogue.search.document import Named


class Rankings:
    """The latest ranking of each caller; those of callers that were not seen for long go first.

    Args:
        named: Name of a tool -> its server, and its name there.
    """

    def __init__(self, named: Named = alone) -> None:
        self._named = named
        self._latest: OrderedDict[Hashable, Ranking] = OrderedDict()

    def find(self, caller: Hashable, tools: list[dict[str, Any]]) -> Ranking | None:
        """The ranking of a list, if one is there; it need not have been made for this caller."""
        rankings = dict.fromkeys((*filter(None, [self._latest.get(caller)]), *self._latest.values()))
        ranking = next((ranking for ranking in rankings if ranking.tools == tools), None)
        if ranking is not None:
            self.keep(caller, ranking)
        return ranking

    def made(self, caller: Hashable, tools: list[dict[str, Any]]) -> Ranking:
        """A new one, from the caller's latest. It may take a second, and can be made in a thread."""
        return Ranking(tools, self._named, self._latest.get(caller))

    def keep(self, caller: Hashable, ranking: Ranking) -> None:
        """Let it be the caller's latest."""
        self._latest[caller] = ranking
        self._latest.move_to_end(caller)
        while len(self._latest) > MAX_CALLERS or (len(self._latest) > 1 and self._size() > MAX_RANKED_TOOLS):
            self._latest.popitem(last=False)

    def _size(self) -> int:
        """The tools of all rankings."""
        return sum(len(ranking.tools) for ranking in set(self._latest.values()))
