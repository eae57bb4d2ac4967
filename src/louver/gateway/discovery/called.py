"""By which names tools are called that scripts name by identifiers: as they were last found, for a while.

    ("session 7", "tracker", "list_issues")    "tracker__list-issues"

Without this every call of a script would list all tools first. What one caller has found is not another's.
"""

from __future__ import annotations

from collections import OrderedDict
from time import monotonic
from typing import TYPE_CHECKING

from louver.limits import DEFINITIONS_S, MAX_CALL_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable


class CallNames:
    """The names that were found lately.

    Args:
        clock: Seconds.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._found: OrderedDict[Hashable, tuple[str, float]] = OrderedDict()

    def find(self, key: Hashable) -> str | None:
        """The name that was found, if that was lately."""
        name, at = self._found.get(key, ("", float("-inf")))
        return name if self._clock() < at + DEFINITIONS_S else None

    def keep(self, key: Hashable, name: str) -> None:
        """Remember a name; one that was not found for longest is forgotten."""
        self._found[key] = name, self._clock()
        self._found.move_to_end(key)
        if len(self._found) > MAX_CALL_NAMES:
            self._found.popitem(last=False)
