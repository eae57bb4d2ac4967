"""The store of kept results: in memory, or in the state that replicas share.

A key is a digest that does not reveal the handle, so a reader of the store gets no handles.
"""

from __future__ import annotations

import asyncio
import struct
from collections import OrderedDict
from typing import TYPE_CHECKING, Final, Protocol

from louver.limits import MAX_RESULTS, MAX_RESULTS_BYTES, MAX_SHARED_RESULT_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.steps.shared_state import SharedState

Stored = tuple[bytes, bytes]  # what is known of a value, and the value, each as JSON

SWEEP_AFTER_S = 1.0
"""Delay after which expired results are removed together, in seconds."""


class ResultStore(Protocol):
    """Keeps values for a while, here or elsewhere; raises StateUnavailable if it is elsewhere, and not reached."""

    async def put(self, key: str, seconds: float, stored: Stored) -> bool:
        """Keep a value; `False` if it is too large. What an equal key holds stays."""
        ...

    async def get(self, key: str) -> Stored | None: ...


class MemoryStore:
    """Results in this process; expired ones are removed soon after, though nobody asks."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._kept: OrderedDict[str, tuple[float, Stored]] = OrderedDict()
        self._bytes = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def put(self, key: str, seconds: float, stored: Stored) -> bool:
        size = stored_size(stored)
        if size > MAX_RESULTS_BYTES:
            return False
        self._drop_expired()
        if key not in self._kept:
            while self._kept and (len(self._kept) >= MAX_RESULTS or self._bytes + size > MAX_RESULTS_BYTES):
                self._drop(next(iter(self._kept)))
            self._kept[key] = (self._clock() + seconds, stored)
            self._bytes += size
        self._sweep_in(seconds)
        return True

    async def get(self, key: str) -> Stored | None:
        expires, stored = self._kept.get(key, (0.0, None))
        return stored if self._clock() < expires else None

    def _sweep_in(self, seconds: float) -> None:
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
        self._timer = None
        self._drop_expired()
        if self._kept:
            self._sweep_in(max(0.0, min(expires for expires, _ in self._kept.values()) - self._clock()))

    def _drop_expired(self) -> None:
        now = self._clock()
        for expired in [old for old, (expires, _) in self._kept.items() if expires <= now]:
            self._drop(expired)

    def _drop(self, key: str) -> None:
        self._bytes -= stored_size(self._kept.pop(key)[1])


_LENGTH: Final = struct.Struct(">I")


class SharedStore:
    """Results of all replicas: each reads what any of them has kept."""

    def __init__(self, state: SharedState) -> None:
        self._state = state

    async def put(self, key: str, seconds: float, stored: Stored) -> bool:
        if stored_size(stored) > MAX_SHARED_RESULT_BYTES:
            return False
        info, value = stored
        await self._state.put(f"result:{key}", _LENGTH.pack(len(info)) + info + value, seconds)
        return True

    async def get(self, key: str) -> Stored | None:
        joined = await self._state.get(f"result:{key}")
        if joined is None:
            return None
        end = _LENGTH.size + _LENGTH.unpack_from(joined)[0]
        return joined[_LENGTH.size : end], joined[end:]


def stored_size(stored: Stored) -> int:
    return sum(map(len, stored))
