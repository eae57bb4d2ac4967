"""What each caller sees of a server's tools, by name, as lists pass.

::

    tools/list                   -> a, b, "nextCursor": "2"     a and b are seen, and whatever was before
    tools/list {"cursor": "2"}   -> c                           the list is whole: just a, b and c are seen

A tool that has gone is so forgotten with the next whole list, and one of another caller never counts.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, TypeVar

from louver.limits import MAX_CALLERS

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

S = TypeVar("S")
T = TypeVar("T")


class Sight(Generic[T]):
    """What one caller sees: `tools` by name."""

    def __init__(self) -> None:
        self.tools: dict[str, T] = {}
        self._since: dict[str, T] | None = None

    def learn(self, tools: Mapping[str, T], *, first: bool, last: bool) -> None:
        """Take up one page of a list.

        Args:
            tools: What stands on it, by name.
            first: Whether the list begins with it.
            last: Whether the list ends with it.
        """
        if first:
            self._since = {}
        self.tools.update(tools)
        if self._since is None:
            return
        self._since.update(tools)
        if last:
            self.tools, self._since = self._since, None


class Sights(Generic[S]):
    """The sights of callers; who was not listed to for longest is forgotten.

    Args:
        make: Makes the one of a new caller.
    """

    def __init__(self, make: Callable[[], S]) -> None:
        self._make = make
        self._of: OrderedDict[Hashable, S] = OrderedDict()

    def find(self, caller: Hashable) -> S | None:
        """What the caller sees, if it was listed to."""
        return self._of.get(caller)

    def listed_to(self, caller: Hashable) -> S:
        """Likewise, of a caller that is listed to now."""
        sight = self._of.get(caller)
        if sight is None:
            sight = self._of[caller] = self._make()
        self._of.move_to_end(caller)
        if len(self._of) > MAX_CALLERS:
            self._of.popitem(last=False)
        return sight
