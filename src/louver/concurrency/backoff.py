"""When what has failed may be tried again: after a wait that doubles with each failure in a row.

::

    0.25 s, 0.5 s, 1 s, 2 s, then 30 s each time

What is done of itself keeps the same pace, whether it fails or not.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from time import monotonic
from typing import TYPE_CHECKING

from louver.limits import MAX_BACKOFF_S, MAX_FAILURES, MAX_REFUSED, MIN_BACKOFF_S

if TYPE_CHECKING:
    from collections.abc import Hashable


class Backoff:
    """The failures in a row of one thing."""

    def __init__(self) -> None:
        self.problem = ""
        """What the last of them was."""
        self._failures = 0
        self._not_before = 0.0

    @property
    def wait_s(self) -> float:
        """How long it is still left alone, in seconds."""
        return max(0.0, self._not_before - monotonic())

    def fail(self, problem: str) -> None:
        """It has failed once more."""
        self.problem = problem
        self._failures += 1
        is_one_too_many = self._failures >= MAX_FAILURES
        wait_s = MAX_BACKOFF_S if is_one_too_many else MIN_BACKOFF_S * 2 ** (self._failures - 1)
        self._not_before = monotonic() + wait_s

    def reset(self) -> None:
        """It has not failed."""
        self._failures, self._not_before = 0, 0.0


class Pace:
    """How soon something is done once more: at once if it was not for long, else later each time in a row."""

    def __init__(self) -> None:
        self._backoff = Backoff()
        self._last = -MAX_BACKOFF_S

    async def keep(self) -> None:
        """Wait until it may be done."""
        if monotonic() - self._last > MAX_BACKOFF_S:
            self._backoff.reset()
        await asyncio.sleep(self._backoff.wait_s)
        self._backoff.fail("")
        self._last = monotonic()


class Backoffs:
    """The failures of many things, by what they are; what has failed least lately is forgotten."""

    def __init__(self) -> None:
        self._of: OrderedDict[Hashable, Backoff] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._of)

    def of(self, what: Hashable) -> Backoff:
        """Those of one, which may have none."""
        return self._of.get(what) or Backoff()

    def fail(self, what: Hashable, problem: str) -> None:
        """It has failed once more."""
        backoff = self._of[what] = self.of(what)
        self._of.move_to_end(what)
        backoff.fail(problem)
        if len(self._of) > MAX_REFUSED:
            self._of.popitem(last=False)

    def forget(self, what: Hashable) -> None:
        """It has not failed."""
        self._of.pop(what, None)
