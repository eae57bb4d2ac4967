"""Who reads how much: the limit on reads of descriptions, and what is unusual about them.

::

    more reads than the limit within a minute     RATE_LIMITED, with the seconds to wait
    many names of tools that are not there        logged: somebody guesses
    every description of a large catalogue        logged: somebody copies it

Each is of one caller within a minute, and logged once in that minute; the log holds numbers, and no text
of a client. Source: 000 section 10.3; the numbers are ours.
"""

from __future__ import annotations

import logging
import math
import time
from collections import OrderedDict, deque
from typing import TYPE_CHECKING

from louver.errors import RateLimited
from louver.limits import MANY_TOOLS, MANY_UNKNOWN_TOOLS, MAX_CALLERS, READS_PER_MINUTE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

logger = logging.getLogger(__name__)

_MINUTE_S = 60.0


class Reads:
    """Counts the reads of each caller.

    Args:
        per_minute: Reads of one caller within any minute.
        clock: Seconds.
    """

    def __init__(self, per_minute: int = READS_PER_MINUTE, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._readers: OrderedDict[str, _Reader] = OrderedDict()

    def admit(self, reader: str) -> None:
        """Count a read.

        Raises:
            RateLimited: There were too many within the last minute; with `limit` and `retryAfterSeconds`.
        """
        now = self._clock()
        times = self._reader(reader).times
        while times and times[0] <= now - _MINUTE_S:
            times.popleft()
        if len(times) >= self._per_minute:
            wait_s = math.ceil(times[0] + _MINUTE_S - now)
            message = f"descriptions are read at most {self._per_minute} times a minute: read again in {wait_s} s"
            raise RateLimited(message, limit=self._per_minute, retryAfterSeconds=wait_s)
        times.append(now)

    def note(self, reader: str, found: Iterable[str], unknown: int, visible: int) -> None:
        """Count what a read was answered.

        Args:
            reader: Who has read.
            found: The tools whose descriptions were read.
            unknown: How many names were of no tool.
            visible: How many tools the reader sees.
        """
        now = self._clock()
        minute = self._reader(reader).minute
        if minute is None or now >= minute.start + _MINUTE_S:
            minute = self._reader(reader).minute = _Minute(now)
        minute.unknown += unknown
        minute.found.update(found)
        if minute.unknown >= MANY_UNKNOWN_TOOLS and minute.says("unknown"):
            logger.warning("%s has asked for %d tools that are not there, within a minute", reader, minute.unknown)
        if visible >= MANY_TOOLS and len(minute.found) >= visible and minute.says("all"):
            logger.warning("%s has read the descriptions of all %d tools, within a minute", reader, visible)

    def _reader(self, reader: str) -> _Reader:
        found = self._readers.setdefault(reader, _Reader())
        self._readers.move_to_end(reader)
        if len(self._readers) > MAX_CALLERS:
            self._readers.popitem(last=False)
        return found


class _Reader:
    """One caller: when it has read within the last minute, and what since a minute began."""

    __slots__ = ("minute", "times")

    def __init__(self) -> None:
        self.times: deque[float] = deque()
        self.minute: _Minute | None = None


class _Minute:
    """What one caller was answered since `start`."""

    __slots__ = ("_said", "found", "start", "unknown")

    def __init__(self, start: float) -> None:
        self.start = start
        self.unknown = 0
        self.found: set[str] = set()
        self._said: set[str] = set()

    def says(self, what: str) -> bool:
        """Whether this is to be logged: it was not yet."""
        is_new = what not in self._said
        self._said.add(what)
        return is_new
