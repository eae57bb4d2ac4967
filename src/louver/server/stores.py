"""Where results are kept: in memory, or in a SQLite file that other processes and later ones read too.

    put(key, expires, about, value)      the oldest go, once there are too many or they are too large together
    get(key)                             nothing once it has expired

A key is a digest that says nothing of the handle, so that who reads the file has no handles.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from collections import OrderedDict
from contextlib import closing
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final, Protocol

from louver.errors import LouverError
from louver.limits import MAX_RESULTS, MAX_RESULTS_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger(__name__)

Stored = tuple[bytes, bytes]
"""What is told of a value, and the value, each as JSON."""

MEMORY: Final = "memory"


class Store(Protocol):
    """Keeps values for a while. Can be asked from several threads."""

    def put(self, key: str, expires: float, stored: Stored) -> bool:
        """Keep a value until then, in seconds since the epoch; `False` if it is too large to be kept."""
        ...

    def get(self, key: str) -> Stored | None:
        """What is kept, if it has not expired."""
        ...


def store_at(place: str | os.PathLike[str], clock: Callable[[], float]) -> Store:
    """The store at a place: `memory`, or the path of a SQLite file.

    Args:
        place: Which.
        clock: Seconds since the epoch.

    Raises:
        LouverError: The file cannot be used.
    """
    return MemoryStore(clock) if place == MEMORY else FileStore(Path(place), clock)


class MemoryStore:
    """In the memory of this process."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._kept: OrderedDict[str, tuple[float, Stored]] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def put(self, key: str, expires: float, stored: Stored) -> bool:
        """Keep a value."""
        size = _size(stored)
        if size > MAX_RESULTS_BYTES:
            return False
        with self._lock:
            now = self._clock()
            for old in [old for old, (until, _) in self._kept.items() if until <= now]:
                self._drop(old)
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

    def _drop(self, key: str) -> None:
        self._bytes -= _size(self._kept.pop(key)[1])


_TABLE: Final = """
CREATE TABLE IF NOT EXISTS results (
    number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT UNIQUE NOT NULL, expires REAL NOT NULL,
    bytes INTEGER NOT NULL, about BLOB NOT NULL, value BLOB NOT NULL)
"""

_OLDEST: Final = """
DELETE FROM results WHERE number IN (
    SELECT number FROM (
        SELECT number, row_number() OVER newest AS place, sum(bytes) OVER newest AS weight
        FROM results WINDOW newest AS (ORDER BY number DESC))
    WHERE place > ? OR weight > ?)
"""


class FileStore:
    """In a file, which only its owner can read.

    Args:
        path: The file; it is made if it is not there, in a folder that is.
        clock: Seconds since the epoch.

    Raises:
        LouverError: It cannot be made, or is no SQLite file of ours.
    """

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        self._path = path
        self._clock = clock
        try:
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            with closing(self._connect()) as database, database:
                database.execute(_TABLE)
        except (OSError, sqlite3.Error) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no database of results"
            raise LouverError(f"results cannot be kept in {os.fspath(path)!r}: {reason}") from None

    def put(self, key: str, expires: float, stored: Stored) -> bool:
        """Keep a value; what the file does not take is not kept."""
        if _size(stored) > MAX_RESULTS_BYTES:
            return False
        row = (key, expires, _size(stored), *stored)
        try:
            with closing(self._connect()) as database, database:
                database.execute("DELETE FROM results WHERE expires <= ?", (self._clock(),))
                database.execute("INSERT INTO results (key, expires, bytes, about, value) VALUES (?, ?, ?, ?, ?)", row)
                database.execute(_OLDEST, (MAX_RESULTS, MAX_RESULTS_BYTES))
        except sqlite3.Error as error:
            logger.error("a result is not kept: %s", error.sqlite_errorname)
            return False
        return True

    def get(self, key: str) -> Stored | None:
        """What is kept."""
        question = "SELECT about, value FROM results WHERE key = ? AND expires > ?"
        try:
            with closing(self._connect()) as database:
                return database.execute(question, (key, self._clock())).fetchone()
        except sqlite3.Error as error:
            logger.error("a result is not found: %s", error.sqlite_errorname)
            return None

    def _connect(self) -> sqlite3.Connection:
        database = sqlite3.connect(self._path, timeout=5)
        # What has expired is to be gone from the file too.
        database.execute("PRAGMA secure_delete = ON")
        return database


def _size(stored: Stored) -> int:
    return sum(map(len, stored))
