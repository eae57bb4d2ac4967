"""The store of kept results: in memory, in a file (`sqlite_store.py`), or shared by replicas (`shared_store.py`).

A key is a digest that does not reveal the handle, so a reader of the file gets no handles.
"""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final, Protocol

from louver.limits import MAX_RESULTS, MAX_RESULTS_BYTES

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

Stored = tuple[bytes, bytes]  # what is known of a value, and the value, each as JSON

MEMORY: Final = "memory"


class ResultStore(Protocol):
    """Keeps values for a while, here or elsewhere; raises StateUnavailable if it is elsewhere, and not reached."""

    async def put(self, key: str, seconds: float, stored: Stored) -> bool:
        """Keep a value; `False` if it is too large."""
        ...

    async def get(self, key: str) -> Stored | None: ...


class Store(Protocol):
    """Keeps values for a while; thread-safe."""

    def put(self, key: str, expires: float, stored: Stored) -> bool:
        """Keep a value until `expires`, in seconds since the epoch; `False` if it is too large. An equal key stays."""
        ...

    def get(self, key: str) -> Stored | None: ...

    def sweep(self) -> float | None:
        """Remove expired values; return when to do so next, in seconds since the epoch, if any are left."""
        ...


def open_store(location: str | os.PathLike[str], clock: Callable[[], float]) -> Store:
    if location == MEMORY:
        return MemoryStore(clock)
    # Imported only now: without a file SQLite is not needed.
    from louver.steps.results.sqlite_store import FileStore

    return FileStore(Path(location), clock)


class MemoryStore:
    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._kept: OrderedDict[str, tuple[float, Stored]] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def put(self, key: str, expires: float, stored: Stored) -> bool:
        size = stored_size(stored)
        if size > MAX_RESULTS_BYTES:
            return False
        self.sweep()
        with self._lock:
            if key in self._kept:
                return True
            while self._kept and (len(self._kept) >= MAX_RESULTS or self._bytes + size > MAX_RESULTS_BYTES):
                self._drop(next(iter(self._kept)))
            self._kept[key] = (expires, stored)
            self._bytes += size
        return True

    def get(self, key: str) -> Stored | None:
        with self._lock:
            expires, stored = self._kept.get(key, (0.0, None))
            return stored if self._clock() < expires else None

    def sweep(self) -> float | None:
        with self._lock:
            now = self._clock()
            for expired in [old for old, (expires, _) in self._kept.items() if expires <= now]:
                self._drop(expired)
            return min((until for until, _ in self._kept.values()), default=None)

    def _drop(self, key: str) -> None:
        self._bytes -= stored_size(self._kept.pop(key)[1])


def stored_size(stored: Stored) -> int:
    return sum(map(len, stored))
