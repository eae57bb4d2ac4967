"""Where results are kept: in memory, or in a SQLite file that other processes and later ones read too.

    put(key, expires, about, value)      the oldest go, once there are too many or they are too large together
    get(key)                             nothing once it has expired
    sweep()                              what has expired is gone, from the file too

A key is a digest that says nothing of the handle, so that who reads the file has no handles.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import stat
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
        """Keep a value until then, in seconds since the epoch; `False` if it is too large to be kept.

        What is kept under the key already stays.
        """
        ...

    def get(self, key: str) -> Stored | None:
        """What is kept, if it has not expired."""
        ...

    def sweep(self) -> float | None:
        """Remove what has expired; when the next will, in seconds since the epoch, if there is one."""
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
        self._bytes -= _size(self._kept.pop(key)[1])


_TABLE: Final = """
CREATE TABLE IF NOT EXISTS results (
    number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT UNIQUE NOT NULL, expires REAL NOT NULL,
    bytes INTEGER NOT NULL, about BLOB NOT NULL, value BLOB NOT NULL)
"""

_NEW: Final = "INSERT OR IGNORE INTO results (key, expires, bytes, about, value) VALUES (?, ?, ?, ?, ?)"

_EXPIRED: Final = "DELETE FROM results WHERE expires <= ?"

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
        LouverError: It cannot be made, is no SQLite file of ours, or somebody else can read it.
    """

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        self._path = path
        self._clock = clock
        try:
            _check_private(path)
            with closing(self._connect()) as database, database:
                database.execute(_TABLE)
            self.sweep()
        except (OSError, sqlite3.Error) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no database of results"
            raise _unusable(path, reason) from None

    def put(self, key: str, expires: float, stored: Stored) -> bool:
        """Keep a value; what the file does not take is not kept."""
        if _size(stored) > MAX_RESULTS_BYTES:
            return False
        row = (key, expires, _size(stored), *stored)
        try:
            with closing(self._connect()) as database, database:
                database.execute(_EXPIRED, (self._clock(),))
                database.execute(_NEW, row)
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

    def sweep(self) -> float | None:
        """Remove what has expired; when the next will."""
        try:
            with closing(self._connect()) as database, database:
                database.execute(_EXPIRED, (self._clock(),))
                return database.execute("SELECT min(expires) FROM results").fetchone()[0]
        except sqlite3.Error as error:
            logger.error("results that have expired are not removed: %s", error.sqlite_errorname)
            return None

    def _connect(self) -> sqlite3.Connection:
        database = sqlite3.connect(self._path, timeout=5)
        # What has expired is to be gone from the file too.
        database.execute("PRAGMA secure_delete = ON")
        return database


def _check_private(path: Path) -> None:
    """Make a file that its owner alone can read; one that is there already must be such a file.

    Raises:
        LouverError: It is not.
        OSError: It cannot be made, or not be opened.
    """
    number = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        found = os.fstat(number)
    finally:
        os.close(number)
    if os.name != "posix":
        # A mode says nothing there.
        return
    # Not mended here: who has let others read the file may have had a reason.
    if found.st_uid != os.geteuid():
        raise _unusable(path, "it is somebody else's file")
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise _unusable(path, "others than its owner can use it: chmod 600")


def _unusable(path: Path, reason: str | None) -> LouverError:
    return LouverError(f"results cannot be kept in {os.fspath(path)!r}: {reason}")


def _size(stored: Stored) -> int:
    return sum(map(len, stored))
