"""Limits on reads of descriptions, and logs of unusual reads by one caller within a minute.

Many unknown names mean that a caller guesses, all of a large catalogue that it copies. Logs hold numbers only.
Source: 000 section 10.3; the numbers are ours.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from typing import TYPE_CHECKING

from louver.limits import MAX_CALLERS, READS_PER_MINUTE
from louver.steps.rate_limit import RateLimiter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from louver.steps.shared_state import SharedState

MANY_UNKNOWN_TOOLS = 50
"""Unknown tools that one caller requests in a minute before it is logged: it is guessing."""

MANY_TOOLS = 50
"""Smallest catalogue for which it is logged if one caller reads all descriptions in a minute."""


logger = logging.getLogger(__name__)

_MINUTE_S = 60.0


class ReadLimits:
    def __init__(
        self,
        per_minute: int = READS_PER_MINUTE,
        clock: Callable[[], float] = time.monotonic,
        state: SharedState | None = None,
    ) -> None:
        self._limiter = RateLimiter("reads of descriptions", per_minute, clock, state)
        self._clock = clock
        self._minutes: OrderedDict[str, _Minute] = OrderedDict()

    async def admit(self, caller: str) -> None:
        """Count a read; raise RateLimited if there were too many within the last minute."""
        await self._limiter.admit(caller)

    def count_read(self, reader: str, found: Iterable[str], unknown: int, visible: int) -> None:
        """Count an answer to a read; `unknown` and `visible` are numbers of tools."""
        minute = self._minute(reader)
        minute.unknown += unknown
        minute.found.update(found)
        if minute.unknown >= MANY_UNKNOWN_TOOLS and minute.should_log("unknown"):
            logger.warning("%s has asked for %d tools that are not there, within a minute", reader, minute.unknown)
        if visible >= MANY_TOOLS and len(minute.found) >= visible and minute.should_log("all"):
            logger.warning("%s has read the descriptions of all %d tools, within a minute", reader, visible)

    def _minute(self, caller: str) -> _Minute:
        now = self._clock()
        minute = self._minutes.get(caller)
        if minute is None or now >= minute.start + _MINUTE_S:
            minute = self._minutes[caller] = _Minute(now)
        self._minutes.move_to_end(caller)
        if len(self._minutes) > MAX_CALLERS:
            self._minutes.popitem(last=False)
        return minute


class _Minute:
    __slots__ = ("_logged", "found", "start", "unknown")

    def __init__(self, start: float) -> None:
        self.start = start
        self.unknown = 0
        self.found: set[str] = set()
        self._logged: set[str] = set()

    def should_log(self, kind: str) -> bool:
        """Whether to log this: only the first time."""
        is_new = kind not in self._logged
        self._logged.add(kind)
        return is_new
