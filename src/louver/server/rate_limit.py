"""Rate limits: requests per caller and minute, counted in memory. Source: SEP-1821; DISCLOSURE.md, "Search".

A caller is the authenticated principal, else the client's address; over stdio there is only one.
"""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from math import ceil
from typing import TYPE_CHECKING

from louver.errors import LouverError, RateLimited
from louver.limits import MAX_CALLERS

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from louver.server.request import Request

_MINUTE_S = 60.0


# Not by the package `limits`: its memory keeps every caller for ever, goes by the wall clock, and starts a thread.
class RateLimiter:
    """Counts requests of one kind (a plural noun) by caller; the caller idle for longest is forgotten."""

    def __init__(self, kind: str, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        if per_minute < 1:
            raise LouverError(f"a caller must be let make one of the {kind} a minute or more, not {per_minute}")
        self._kind = kind
        self._per_minute = per_minute
        self._clock = clock
        self._times: OrderedDict[Hashable, deque[float]] = OrderedDict()

    def admit(self, caller: Hashable) -> None:
        """Count a request; raise RateLimited above the limit. Refused requests do not count."""
        now = self._clock()
        times = self._times.setdefault(caller, deque())
        self._times.move_to_end(caller)
        if len(self._times) > MAX_CALLERS:
            self._times.popitem(last=False)
        while times and times[0] <= now - _MINUTE_S:
            times.popleft()
        if len(times) >= self._per_minute:
            wait = ceil(times[0] + _MINUTE_S - now)
            message = f"a caller may make {self._per_minute} {self._kind} a minute: ask again in {wait} s"
            raise RateLimited(message, limit=self._per_minute, retryAfterSeconds=wait)
        times.append(now)


def rate_limit_key(request: Request) -> Hashable:
    return request.address if request.identity.key is None else request.identity.key
