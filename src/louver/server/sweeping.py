"""When what has expired is removed from a store: soon after, whether somebody asks or not.

::

    kept for 10 s, and for a day      a timer of the event loop: 11 s from now
    it goes off                       what has expired is removed; a timer for what expires next
    nothing is left                   none, until something is kept

There is one of these for a store, whoever shares that: so there is one timer, which goes off for what expires first.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from louver.limits import SWEEP_AFTER_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.server.stores import Store


class Sweeping:
    """Removes what has expired.

    Args:
        store: Whence.
        clock: Seconds since the epoch.
    """

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None

    def sweep_in(self, seconds: float) -> None:
        """Have what has expired by then removed, if that is not to be done before."""
        loop = asyncio.get_running_loop()
        due = loop.time() + seconds + SWEEP_AFTER_S
        # The loop of a timer that is another's may have ended.
        if self._timer is not None and self._loop is loop:
            if self._timer.when() <= due:
                return
            self._timer.cancel()
        self._loop, self._timer = loop, loop.call_at(due, self._sweep)

    def _sweep(self) -> None:
        # What is kept from here on has a timer of its own: it may come too late for the store to tell of it.
        self._timer = None
        asyncio.get_running_loop().run_in_executor(None, self._store.sweep).add_done_callback(self._swept)

    def _swept(self, swept: asyncio.Future[float | None]) -> None:
        if (due := swept.result()) is not None:
            self.sweep_in(max(0.0, due - self._clock()))
