"""Write audit records: each is durable in the file before its call is answered.

Concurrent records share one transaction in one thread, so that many calls wait for the disk together.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import sqlite3
import time
from collections import deque
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from anyio import CapacityLimiter

from louver.concurrency.offload import until_given_up
from louver.core.json import canonical
from louver.errors import AuditFailed
from louver.limits import AUDIT_DAYS, AUDIT_SWEPT_S
from louver.server.audit.database import key_of, opened_to_write, reason

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from louver.catalogue.policy.audit_record import Record
    from louver.catalogue.policy.principal import Principal

logger = logging.getLogger(__name__)

_DAY_S: Final = 86_400
_INSERT: Final = f"INSERT INTO records VALUES (NULL{', ?' * 11})"


class _Entry:
    def __init__(self, record: Record) -> None:
        said = (
            record.time,
            record.principal,
            record.server,
            record.tool,
            record.policy,
            record.mode,
            record.kept,
            record.dropped,
            record.outcome,
            record.duration_ms,
            record.correlation,
        )
        self.row: list[Any] = [_writable(value) for value in said]
        self.fields = [_writable(path) for path in dict.fromkeys(record.fields)]
        self.is_written = False


class Audit:
    """The writer of one file, which other processes may write too; deletes records older than `days`, daily."""

    def __init__(
        self, file: str | os.PathLike[str], days: float = AUDIT_DAYS, clock: Callable[[], float] = time.time
    ) -> None:
        self._path = Path(file)
        self._days = days
        self._clock = clock
        self._waiting: deque[_Entry] = deque()
        self._one_at_a_time = CapacityLimiter(1)
        self._writing = Lock()
        self._database: sqlite3.Connection | None = opened_to_write(self._path)
        self._sweeps_at = 0.0
        try:
            self._key = key_of(self._database)
            self._place = self._now()
            self._commit([])
        except (OSError, sqlite3.Error) as error:
            self._database.close()
            told = f"audit records cannot be written to {os.fspath(self._path)!r}: {reason(error)}"
            raise AuditFailed(told) from None

    def who(self, principal: Principal) -> str:
        """A principal's name in this file: a digest by the file's key, against which its readers can test guesses."""
        return hmac.digest(self._key, canonical([principal.subject, principal.client]), hashlib.sha256).hex()[:32]

    async def write(self, record: Record) -> None:
        """Write a record and wait until it is durable; raise AuditFailed if it is not."""
        entry = _Entry(record)
        self._waiting.append(entry)
        # The record is written even if the call is cancelled.
        await until_given_up(lambda _: self._flush(), self._one_at_a_time)
        if not entry.is_written:
            raise AuditFailed("the audit record of this call cannot be written, so there is no answer")

    def close(self) -> None:
        """Write pending records, and close the file."""
        with self._writing:
            if self._database is not None:
                self._write_all()
                self._database.close()
                self._database = None

    def _flush(self) -> None:
        """Write all pending records; a concurrent flush then finds none."""
        # A cancelled call leaves its thread running, and the limiter admits the next one.
        with self._writing:
            self._write_all()

    def _write_all(self) -> None:
        entries = [self._waiting.popleft() for _ in range(len(self._waiting))]
        if not entries:
            return
        try:
            self._commit(entries)
        except (OSError, sqlite3.Error) as error:
            logger.error("audit records are not written: %s", reason(error))
            return
        for entry in entries:
            entry.is_written = True

    def _commit(self, entries: Sequence[_Entry]) -> None:
        if self._database is None:
            raise OSError(None, "the file is closed")
        if self._now() != self._place:
            # SQLite would go on writing to the removed file.
            raise OSError(None, "the file is not the one that was opened: start again")
        database = self._database
        database.execute("BEGIN IMMEDIATE")
        try:
            self._sweep(database)
            for entry in entries:
                number = database.execute(_INSERT, entry.row).lastrowid
                database.executemany("INSERT INTO fields VALUES (?, ?)", [(number, path) for path in entry.fields])
            database.execute("COMMIT")
        finally:
            if database.in_transaction:
                database.rollback()

    def _sweep(self, database: sqlite3.Connection) -> None:
        now = self._clock()
        if now >= self._sweeps_at:
            database.execute("DELETE FROM records WHERE time < ?", (now - self._days * _DAY_S,))
            self._sweeps_at = now + AUDIT_SWEPT_S

    def _now(self) -> tuple[int, int]:
        """Identifies the file that is at the path now."""
        found = self._path.stat()
        return found.st_dev, found.st_ino


def _writable(value: Any) -> Any:
    """A value that SQLite accepts: a lone surrogate is replaced by its escape."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
