"""By which names tools are called that scripts name by identifiers: as they were last found, for a while.

    ("connection 7", "tracker")    {"list_issues": "tracker__list-issues", ...}

Without this every call of a script would list tools first. What one caller has found is not another's.
"""

from __future__ import annotations

from collections import OrderedDict
from time import monotonic
from typing import TYPE_CHECKING

from louver.limits import DEFINITIONS_S, MAX_CALL_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping


class CallNames:
    """The names that were found lately.

    Args:
        clock: Seconds.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._found: OrderedDict[Hashable, tuple[Mapping[str, str], float]] = OrderedDict()
        self._size = 0

    def find(self, key: Hashable) -> Mapping[str, str]:
        """The names that were found, if that was lately; else none."""
        names, at = self._found.get(key, ({}, float("-inf")))
        return names if self._clock() < at + DEFINITIONS_S else {}

    def keep(self, key: Hashable, names: Mapping[str, str]) -> None:
        """Remember names; those that were found first are forgotten first."""
        self._size += len(names) - len(self._found.pop(key, ({}, 0.0))[0])
        self._found[key] = names, self._clock()
        while self._size > MAX_CALL_NAMES and len(self._found) > 1:
            self._size -= len(self._found.popitem(last=False)[1][0])

    def clear(self) -> None:
        """Forget all: other servers stand behind the gateway now."""
        self._found.clear()
        self._size = 0
