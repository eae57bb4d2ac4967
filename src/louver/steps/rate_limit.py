"""Rate limits: requests per caller and minute, counted here or for all replicas. Source: SEP-1821; DISCLOSURE.md.

A caller is the authenticated principal, else the client's address; over stdio there is only one.
"""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from math import ceil
from typing import TYPE_CHECKING

from louver.core.json import digest
from louver.errors import LouverError, RateLimited, StateUnavailable
from louver.limits import MAX_CALLERS

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from louver.steps.request import Request
    from louver.steps.shared_state import SharedState

_MINUTE_S = 60.0


# Not by the package `limits`, which counts in Redis. In memory each of its hits looks at all callers in a thread (110
# ms for a thousand), keeps all of them for a minute, and goes by the wall clock.
class RateLimiter:
    """Counts requests of one kind (a plural noun) by caller; the caller idle for longest is forgotten.

    With `state` the replicas count together; while it is away, each counts alone.
    """

    def __init__(
        self,
        kind: str,
        per_minute: int,
        clock: Callable[[], float] = time.monotonic,
        state: SharedState | None = None,
    ) -> None:
        if per_minute < 1:
            raise LouverError(f"a caller must be let make one of the {kind} a minute or more, not {per_minute}")
        self._kind = kind
        self._per_minute = per_minute
        self._clock = clock
        self._state = state
        self._times: OrderedDict[Hashable, deque[float]] = OrderedDict()

    async def admit(self, caller: Hashable) -> None:
        """Count a request; raise RateLimited above the limit. Refused requests do not count."""
        if self._state is None:
            wait_s = self.count(caller)
        else:
            try:
                # A digest: the store is not to know who calls.
                wait_s = await self._state.count(digest([self._kind, repr(caller)]), self._per_minute)
            except StateUnavailable:
                wait_s = self.count(caller)
        if wait_s is not None:
            wait = max(1, ceil(wait_s))
            message = f"a caller may make {self._per_minute} {self._kind} a minute: ask again in {wait} s"
            raise RateLimited(message, limit=self._per_minute, retryAfterSeconds=wait)

    def count(self, caller: Hashable) -> float | None:
        """Count a request here: `None` if it is admitted, else the seconds until one will be."""
        now = self._clock()
        times = self._times.setdefault(caller, deque())
        self._times.move_to_end(caller)
        if len(self._times) > MAX_CALLERS:
            self._times.popitem(last=False)
        while times and times[0] <= now - _MINUTE_S:
            times.popleft()
        if len(times) >= self._per_minute:
            return times[0] + _MINUTE_S - now
        times.append(now)
        return None


def rate_limit_key(request: Request) -> Hashable:
    return request.address if request.identity.key is None else request.identity.key
