"""A store in this process or on its disk, in threads. Expired results are removed soon after.

Those of a file that no process has open are removed when it is opened next.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from louver.concurrency.offload import in_thread

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.steps.results.store import Store, Stored

SWEEP_AFTER_S = 1.0
"""Delay after which expired results are removed together, in seconds."""


class LocalStore:
    def __init__(self, store: Store, seconds: float, clock: Callable[[], float]) -> None:
        self._store = store
        self._seconds = seconds  # how long most results are kept
        self._clock = clock
        self._expiry = ExpiryTimer(store, clock)

    async def put(self, key: str, seconds: float, stored: Stored) -> bool:
        is_kept = await in_thread(partial(self._store.put, key, self._clock() + seconds, stored))
        self._expiry.schedule(seconds)
        return is_kept

    async def get(self, key: str) -> Stored | None:
        # Other processes may have left results in the file.
        self._expiry.schedule(self._seconds)
        return await in_thread(partial(self._store.get, key))


class ExpiryTimer:
    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None

    def schedule(self, seconds: float) -> None:
        """Remove expired results in so many seconds, unless an earlier sweep is due."""
        loop = asyncio.get_running_loop()
        due = loop.time() + seconds + SWEEP_AFTER_S
        # A timer of another event loop may never fire: that loop may have ended.
        if self._timer is not None and self._loop is loop:
            if self._timer.when() <= due:
                return
            self._timer.cancel()
        self._loop, self._timer = loop, loop.call_at(due, self._sweep)

    def _sweep(self) -> None:
        # Results kept from here on set a new timer: the sweep below may miss them.
        self._timer = None
        asyncio.get_running_loop().run_in_executor(None, self._store.sweep).add_done_callback(self._on_swept)

    def _on_swept(self, swept: asyncio.Future[float | None]) -> None:
        if (due := swept.result()) is not None:
            self.schedule(max(0.0, due - self._clock()))
