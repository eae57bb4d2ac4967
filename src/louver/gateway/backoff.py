"""When what has failed may be tried again: after a wait that doubles with each failure in a row.

::

    0.25 s, 0.5 s, 1 s, 2 s, then 30 s each time
"""

from __future__ import annotations

from time import monotonic

from louver.limits import MAX_BACKOFF_S, MAX_FAILURES, MIN_BACKOFF_S


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
