"""Results in a SQLite file, which other and later processes share.

results(number, key, expires, bytes, about, value)      newest last; expired rows are erased from the file too
"""

from __future__ import annotations

import logging
import os
import sqlite3
import stat
from contextlib import closing
from typing import TYPE_CHECKING, Final

from louver.errors import LouverError
from louver.limits import CLOCKS_APART_S, MAX_KEPT_MINUTES, MAX_RESULTS, MAX_RESULTS_BYTES
from louver.steps.database_file import FAILURES, failure_reason
from louver.steps.results.store import stored_size

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from louver.steps.results.store import Stored

SWEEP_AGAIN_S = 60.0
"""Delay before expired results are removed again from a file that was locked, in seconds."""


logger = logging.getLogger(__name__)

_CREATE_TABLE: Final = """
CREATE TABLE IF NOT EXISTS results (
    number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT UNIQUE NOT NULL, expires REAL NOT NULL,
    bytes INTEGER NOT NULL, about BLOB NOT NULL, value BLOB NOT NULL)
"""

_INSERT: Final = "INSERT OR IGNORE INTO results (key, expires, bytes, about, value) VALUES (?, ?, ?, ?, ?)"

_LONGEST_S: Final = MAX_KEPT_MINUTES * 60 + CLOCKS_APART_S  # of what expires later the clock was put back since

_DELETE_EXPIRED: Final = f"DELETE FROM results WHERE expires <= ?1 OR expires > ?1 + {_LONGEST_S}"

_DELETE_OLDEST: Final = """
DELETE FROM results WHERE number IN (
    SELECT number FROM (
        SELECT number, row_number() OVER newest AS place, sum(bytes) OVER newest AS weight
        FROM results WINDOW newest AS (ORDER BY number DESC))
    WHERE place > ? OR weight > ?)
"""


class FileStore:
    """A store in a file for its owner alone; a missing file is created, in a folder that exists."""

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        self._path = path
        self._clock = clock
        try:
            _check_private(path)
            with closing(self._connect()) as database, database:
                database.execute(_CREATE_TABLE)
            self.sweep()
        except FAILURES as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no database of results"
            raise _unusable(path, reason) from None

    def put(self, key: str, expires: float, stored: Stored) -> bool:
        """Keep a value; a failed write keeps nothing."""
        if stored_size(stored) > MAX_RESULTS_BYTES:
            return False
        row = (key, expires, stored_size(stored), *stored)
        try:
            with closing(self._connect()) as database, database:
                database.execute(_DELETE_EXPIRED, (self._clock(),))
                database.execute(_INSERT, row)
                database.execute(_DELETE_OLDEST, (MAX_RESULTS, MAX_RESULTS_BYTES))
        except FAILURES as error:
            logger.error("a result is not kept: %s", failure_reason(error))
            return False
        return True

    def get(self, key: str) -> Stored | None:
        query = f"SELECT about, value FROM results WHERE key = ?1 AND expires > ?2 AND expires <= ?2 + {_LONGEST_S}"
        try:
            with closing(self._connect()) as database:
                return database.execute(query, (key, self._clock())).fetchone()
        except FAILURES as error:
            logger.error("a result is not found: %s", failure_reason(error))
            return None

    def sweep(self) -> float | None:
        """Remove expired values; return when the next one expires, or when to try again after a failure."""
        try:
            with closing(self._connect()) as database, database:
                database.execute(_DELETE_EXPIRED, (self._clock(),))
                return database.execute("SELECT min(expires) FROM results").fetchone()[0]
        except FAILURES as error:
            logger.error("results that have expired are not removed: %s", failure_reason(error))
            return self._clock() + SWEEP_AGAIN_S

    def _connect(self) -> sqlite3.Connection:
        database = sqlite3.connect(self._path, timeout=5)
        # Erases expired values from the file too.
        database.execute("PRAGMA secure_delete = ON")
        return database


def _check_private(path: Path) -> None:
    """Create a file for its owner alone; refuse an existing one that others can use."""
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        status = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    if os.name != "posix":
        # File modes mean nothing on this platform.
        return
    # Not corrected here: the owner may have shared the file on purpose.
    if status.st_uid != os.geteuid():
        raise _unusable(path, "it is somebody else's file")
    if stat.S_IMODE(status.st_mode) & 0o077:
        raise _unusable(path, "others than its owner can use it: chmod 600")


def _unusable(path: Path, reason: str | None) -> LouverError:
    return LouverError(f"results cannot be kept in {os.fspath(path)!r}: {reason}")
