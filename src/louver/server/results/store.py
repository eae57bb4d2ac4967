"""Where results are kept: in memory, or in a file (`store_file.py`).

    put(key, expires, about, value)      the oldest go, once there are too many or they are too large together
    get(key)                             nothing once it has expired
    sweep()                              what has expired is gone, from the file too

A key is a digest that says nothing of the handle, so that who reads the file has no handles.
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

Stored = tuple[bytes, bytes]
"""What is told of a value, and the value, each as JSON."""

MEMORY: Final = "memory"


class Store(Protocol):
    """Keeps values for a while. Can be asked from several threads."""

    def put(self, key: str, expires: float, stored: Stored) -> bool:
        """Keep a value until then, in seconds since the epoch; `False` if it is too large to be kept.

        What is kept under the key already stays.
        """
        ...

    def get(self, key: str) -> Stored | None:
        """What is kept, if it has not expired."""
        ...

    def sweep(self) -> float | None:
        """Remove what has expired; when to do so next, in seconds since the epoch, if there is anything left."""
        ...


def store_at(place: str | os.PathLike[str], clock: Callable[[], float]) -> Store:
    """The store at a place: `memory`, or the path of a SQLite file.

    Args:
        place: Which.
        clock: Seconds since the epoch.

    Raises:
        LouverError: The file cannot be used.
    """
    if place == MEMORY:
        return MemoryStore(clock)
    # Imported only now: without a file SQLite is not needed.
    from louver.server.results.sqlite_store import FileStore

    return FileStore(Path(place), clock)


class MemoryStore:
    """In the memory of this process."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._kept: OrderedDict[str, tuple[float, Stored]] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def put(self, key: str, expires: float, stored: Stored) -> bool:
        """Keep a value."""
        size = weight(stored)
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
        """What is kept."""
        with self._lock:
            expires, stored = self._kept.get(key, (0.0, None))
            return stored if self._clock() < expires else None

    def sweep(self) -> float | None:
        """Remove what has expired; when the next will."""
        with self._lock:
            now = self._clock()
            for old in [old for old, (until, _) in self._kept.items() if until <= now]:
                self._drop(old)
            return min((until for until, _ in self._kept.values()), default=None)

    def _drop(self, key: str) -> None:
        self._bytes -= weight(self._kept.pop(key)[1])


def weight(stored: Stored) -> int:
    """The size of what is stored, in bytes."""
    return sum(map(len, stored))
