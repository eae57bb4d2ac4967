"""Write audit records: each is durable in the file before its call is answered.

Concurrent records share one transaction in one thread, so that many calls wait for the disk together.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from collections import deque
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from anyio import CapacityLimiter

from louver.concurrency.offload import run_cancellable
from louver.errors import AuditFailed
from louver.limits import AUDIT_DAYS, AUDIT_SWEPT_S, MAX_UNSHIPPED_RECORDS
from louver.server.audit.database import open_for_writing, principal_digest, read_key
from louver.server.audit.spool import DELETE_SHIPPED, prepare_shipping, unshipped
from louver.server.database_file import failure_reason, writable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from louver.catalogue.policy.audit_record import Record
    from louver.catalogue.policy.principal import Principal

logger = logging.getLogger(__name__)

_DAY_S: Final = 86_400
_FULL: Final = f"{MAX_UNSHIPPED_RECORDS} records wait to be shipped, and no more are taken"
_INSERT: Final = f"INSERT INTO records VALUES (NULL{', ?' * 11})"


class _PendingRecord:
    def __init__(self, record: Record) -> None:
        values = (
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
        self.row: list[Any] = [writable(value) if isinstance(value, str) else value for value in values]
        self.fields = [writable(path) for path in dict.fromkeys(record.fields)]
        self.is_written = False


class _SpoolFull(Exception): ...


class AuditWriter:
    """The writer of one file, which other processes may write too; deletes records older than `days`, daily.

    With `shipping_key` records are not deleted before they are shipped, and a new file has this key: the digests of
    principals are then the same in the files of all replicas.
    """

    def __init__(
        self,
        file: str | os.PathLike[str],
        days: float = AUDIT_DAYS,
        clock: Callable[[], float] = time.time,
        *,
        shipping_key: bytes | None = None,
    ) -> None:
        self._path = Path(file)
        self._days = days
        self._is_shipped = shipping_key is not None
        self._is_full = False
        self._clock = clock
        self._pending: deque[_PendingRecord] = deque()
        self._write_limiter = CapacityLimiter(1)
        self._lock = Lock()
        self._database: sqlite3.Connection | None = open_for_writing(self._path, shipping_key)
        self._next_sweep = 0.0
        try:
            self._key = read_key(self._database)
            self._file_id = self._current_file_id()
            if self._is_shipped:
                prepare_shipping(self._database)
            self._commit([])
        except (OSError, sqlite3.Error) as error:
            self._database.close()
            message = f"audit records cannot be written to {os.fspath(self._path)!r}: {failure_reason(error)}"
            raise AuditFailed(message) from None
        if shipping_key not in (None, self._key):
            message = "%r names principals by a key of its own, as no other replica does: move it away and start again"
            logger.warning(message, os.fspath(self._path))

    def principal_digest(self, principal: Principal) -> str:
        return principal_digest(self._key, principal)

    async def check_room(self) -> None:
        """Raise AuditFailed if there was no room for the last record, and there is none yet."""
        if self._is_full and not await run_cancellable(lambda _: self._has_room(), self._write_limiter):
            raise AuditFailed(f"the audit record of this call could not be written, so it has not run: {_FULL}")

    async def write(self, record: Record) -> None:
        """Write a record and wait until it is durable; raise AuditFailed if it is not."""
        pending = _PendingRecord(record)
        self._pending.append(pending)
        # The record is written even if the call is cancelled.
        await run_cancellable(lambda _: self._flush(), self._write_limiter)
        if not pending.is_written:
            reason = f": {_FULL}" if self._is_full else ""
            raise AuditFailed(f"the audit record of this call cannot be written, so there is no answer{reason}")

    def close(self) -> None:
        """Write pending records, and close the file."""
        with self._lock:
            if self._database is not None:
                self._write_all()
                self._database.close()
                self._database = None

    def _flush(self) -> None:
        """Write all pending records; a concurrent flush then finds none."""
        # A cancelled call leaves its thread running, and the limiter admits the next one.
        with self._lock:
            self._write_all()

    def _has_room(self) -> bool:
        with self._lock:
            self._is_full = self._database is not None and unshipped(self._database) >= MAX_UNSHIPPED_RECORDS
            return not self._is_full

    def _write_all(self) -> None:
        batch = [self._pending.popleft() for _ in range(len(self._pending))]
        if not batch:
            return
        try:
            self._commit(batch)
        except _SpoolFull:
            if not self._is_full:
                logger.error("audit records are not written: %s", _FULL)
            self._is_full = True
            return
        except (OSError, sqlite3.Error) as error:
            logger.error("audit records are not written: %s", failure_reason(error))
            return
        self._is_full = False
        for pending in batch:
            pending.is_written = True

    def _commit(self, batch: Sequence[_PendingRecord]) -> None:
        if self._database is None:
            raise OSError(None, "the file is closed")
        if self._current_file_id() != self._file_id:
            # SQLite would go on writing to the removed file.
            raise OSError(None, "the file is not the one that was opened: start again")
        database = self._database
        database.execute("BEGIN IMMEDIATE")
        try:
            if self._is_shipped and batch and unshipped(database) >= MAX_UNSHIPPED_RECORDS:
                raise _SpoolFull
            self._sweep(database)
            for pending in batch:
                number = database.execute(_INSERT, pending.row).lastrowid
                database.executemany("INSERT INTO fields VALUES (?, ?)", [(number, path) for path in pending.fields])
            database.execute("COMMIT")
        finally:
            if database.in_transaction:
                database.rollback()

    def _sweep(self, database: sqlite3.Connection) -> None:
        now = self._clock()
        if now >= self._next_sweep:
            delete = DELETE_SHIPPED if self._is_shipped else "DELETE FROM records WHERE time < ?"
            database.execute(delete, (now - self._days * _DAY_S,))
            self._next_sweep = now + AUDIT_SWEPT_S

    def _current_file_id(self) -> tuple[int, int]:
        """Identifies the file that is at the path now."""
        found = self._path.stat()
        return found.st_dev, found.st_ino
