"""Exponential backoff: 0.25 s, 0.5 s, 1 s, 2 s, then 30 s after each failure in a row; and turns of many at a pace."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from time import monotonic
from typing import TYPE_CHECKING

from louver.limits import MAX_BACKOFF_S, MIN_BACKOFF_S

if TYPE_CHECKING:
    from collections.abc import Hashable

MAX_FAILURES = 5
"""Failures in a row, after which an upstream is not retried for `MAX_BACKOFF_S`."""

MAX_REFUSED = 1000
"""Refused sessions of clients whose backoff is remembered."""


class Backoff:
    def __init__(self) -> None:
        self.problem = ""  # of the last failure
        self._failures = 0
        self._not_before = 0.0

    @property
    def wait_s(self) -> float:
        return max(0.0, self._not_before - monotonic())

    def record_failure(self, problem: str) -> None:
        self.problem = problem
        self._failures += 1
        is_over_limit = self._failures >= MAX_FAILURES
        wait_s = MAX_BACKOFF_S if is_over_limit else MIN_BACKOFF_S * 2 ** (self._failures - 1)
        self._not_before = monotonic() + wait_s

    def reset(self) -> None:
        self._failures, self._not_before = 0, 0.0


class Throttle:
    """Limits how often something is done: at once after a long rest, else with exponential backoff."""

    def __init__(self) -> None:
        self._backoff = Backoff()
        self._last = -MAX_BACKOFF_S

    async def wait(self) -> None:
        if monotonic() - self._last > MAX_BACKOFF_S:
            self._backoff.reset()
        await asyncio.sleep(self._backoff.wait_s)
        self._backoff.record_failure("")
        self._last = monotonic()


class Pace:
    """Turns of many, `interval_s` apart in the order in which they wait; after a rest the first waits for nothing."""

    def __init__(self, interval_s: float) -> None:
        self._interval_s = interval_s
        self._next = 0.0

    async def turn(self) -> None:
        now = monotonic()
        mine = max(now, self._next)
        self._next = mine + self._interval_s
        await asyncio.sleep(mine - now)


class BackoffByKey:
    """Backoffs by key; the key that failed longest ago is evicted."""

    def __init__(self) -> None:
        self._by_key: OrderedDict[Hashable, Backoff] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._by_key)

    def get(self, key: Hashable) -> Backoff:
        return self._by_key.get(key) or Backoff()

    def record_failure(self, key: Hashable, problem: str) -> None:
        backoff = self._by_key[key] = self.get(key)
        self._by_key.move_to_end(key)
        backoff.record_failure(problem)
        if len(self._by_key) > MAX_REFUSED:
            self._by_key.popitem(last=False)

    def forget(self, key: Hashable) -> None:
        self._by_key.pop(key, None)
