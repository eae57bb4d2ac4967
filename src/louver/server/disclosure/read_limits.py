"""Limits on reads of descriptions, and logs of unusual reads by one caller within a minute.

Many unknown names mean that a caller guesses, all of a large catalogue that it copies. Logs hold numbers only.
Source: 000 section 10.3; the numbers are ours.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from typing import TYPE_CHECKING

from louver.limits import MANY_TOOLS, MANY_UNKNOWN_TOOLS, MAX_CALLERS, READS_PER_MINUTE
from louver.server.rate_limit import Rates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

logger = logging.getLogger(__name__)

_MINUTE_S = 60.0


class Reads:
    def __init__(self, per_minute: int = READS_PER_MINUTE, clock: Callable[[], float] = time.monotonic) -> None:
        self._rates = Rates("reads of descriptions", per_minute, clock)
        self._clock = clock
        self._minutes: OrderedDict[str, _Minute] = OrderedDict()

    def admit(self, reader: str) -> None:
        """Count a read; raise RateLimited if there were too many within the last minute."""
        self._rates.admit(reader)

    def note(self, reader: str, found: Iterable[str], unknown: int, visible: int) -> None:
        """Count an answer to a read; `unknown` and `visible` are numbers of tools."""
        minute = self._minute(reader)
        minute.unknown += unknown
        minute.found.update(found)
        if minute.unknown >= MANY_UNKNOWN_TOOLS and minute.says("unknown"):
            logger.warning("%s has asked for %d tools that are not there, within a minute", reader, minute.unknown)
        if visible >= MANY_TOOLS and len(minute.found) >= visible and minute.says("all"):
            logger.warning("%s has read the descriptions of all %d tools, within a minute", reader, visible)

    def _minute(self, reader: str) -> _Minute:
        now = self._clock()
        minute = self._minutes.get(reader)
        if minute is None or now >= minute.start + _MINUTE_S:
            minute = self._minutes[reader] = _Minute(now)
        self._minutes.move_to_end(reader)
        if len(self._minutes) > MAX_CALLERS:
            self._minutes.popitem(last=False)
        return minute


class _Minute:
    __slots__ = ("_said", "found", "start", "unknown")

    def __init__(self, start: float) -> None:
        self.start = start
        self.unknown = 0
        self.found: set[str] = set()
        self._said: set[str] = set()

    def says(self, what: str) -> bool:
        """Whether to log this: only the first time."""
        is_new = what not in self._said
        self._said.add(what)
        return is_new
