"""A bound on the processes of all servers over stdio, including those that start or end, and the end of idle ones.

a place is free              a process starts
none is free, one is idle    the process that is unused for longest ends, and the new one takes its place
all are in use               refused, before anything starts
idle for `PROCESS_IDLE_S`    the process ends; the next request starts another one
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from contextvars import Context
from typing import TYPE_CHECKING, NamedTuple

from louver.concurrency.budget import Tally
from louver.errors import TooManyProcesses
from louver.limits import UNUSED_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

PROCESS_IDLE_S = 1800.0
"""Idle time after which a server's process ends, in seconds: as long as a silent session over HTTP lasts."""


logger = logging.getLogger(__name__)


class IdleProcess(NamedTuple):
    idle_s: float
    end: Callable[[], None]  # ends it in the background; its place is given back then


class ProcessBudget:
    """The processes of a gateway."""

    def __init__(self, idle: Callable[[], Iterable[IdleProcess]], *, ends_idle: bool) -> None:
        self.limit = 0
        self._idle = idle
        self._ends_idle = ends_idle  # also if there is room
        self._used = 0
        # Each waits for a process that was ended for it: a place comes for all of them.
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._refused = Tally(logger, "processes of servers that are not started")

    @property
    def is_full(self) -> bool:
        return self._used >= self.limit

    async def take(self) -> None:
        """Take a place for a process, which may have to wait for the end of an idle one."""
        if not self.is_full:
            self._used += 1
        elif self._end_longest_idle(UNUSED_S):
            await self._wait_for_place()
        else:
            problem = f"the gateway runs at most {self.limit} processes of servers, and all are in use"
            self._refused.add(problem)
            raise TooManyProcesses(
                f"{problem}: end another session, or try again later. Its operator can let clients share servers "
                "('isolation'), or allow more processes ('maxProcesses')"
            )
        self._schedule()

    def give_back(self) -> None:
        """A process has ended, or has not started."""
        while self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_result(None)
                return
        self._used -= 1
        if not self._used and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _wait_for_place(self) -> None:
        place = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if not place.cancelled():
                self.give_back()
            raise

    def _end_longest_idle(self, over_s: float) -> bool:
        """End the process that is unused for longest, if that is long enough; `False` if none is."""
        longest = max(self._idle(), key=lambda each: each.idle_s, default=None)
        if longest is None or longest.idle_s < over_s:
            return False
        longest.end()
        return True

    def _schedule(self) -> None:
        """Look again when the process that is idle for longest now is to end, if it stays idle."""
        if self._ends_idle and self._used and self._timer is None:
            longest_s = max((each.idle_s for each in self._idle()), default=0.0)
            # In an empty context: the timer serves several requests.
            self._timer = asyncio.get_running_loop().call_later(
                PROCESS_IDLE_S - longest_s, self._end_idle, context=Context()
            )

    def _end_idle(self) -> None:
        self._timer = None
        while self._end_longest_idle(PROCESS_IDLE_S):
            pass
        self._schedule()
