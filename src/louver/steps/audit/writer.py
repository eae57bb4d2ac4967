"""Write audit records: each is durable in the file before its call is answered, and none runs that cannot be recorded.

Concurrent records share one transaction in one thread, so that many calls wait for the disk together.

    a write fails      its calls have run: they are not answered, and their records wait here
    from then on       calls are refused before they run
    a probe succeeds   the waiting records are written, and calls run again
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import fields, replace
from operator import attrgetter
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Protocol

from louver.core.json import compact
from louver.errors import AuditFailed
from louver.limits import AUDIT_DAYS
from louver.policy.audit_record import Record
from louver.steps.audit.database import DELETE_FIELD_SETS, add, open_for_writing, principal_digest, read_key
from louver.steps.database_file import FAILURES, failure_reason, writable

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence

    from louver.policy.principal import Principal

AUDIT_SWEPT_S = 86_400.0
"""How often expired audit records are removed, in seconds: once a day."""

AUDIT_CONFIRMED_S = 43_200.0, 30 * 86_400.0
"""Least and greatest age of an audit record that shows that the clock is right, in seconds; else none goes by its age.
A clock that jumps ahead removes nothing for twelve hours, or what is due within a month."""

AUDIT_PROBED_S = 0.5
"""How often it is tried whether audit records can be written again, in seconds; calls are refused meanwhile."""

AUDIT_PROBE_BYTES = 65_536
"""Room that there must be for audit records before calls run again: for those of some 150 calls at once."""

MAX_UNSHIPPED_RECORDS = 1_000_000
"""Audit records that wait to be shipped: some 0.4 GB of disk, and 28 hours of ten calls a second."""


logger = logging.getLogger(__name__)

_DAY_S: Final = 86_400
_FULL: Final = f"{MAX_UNSHIPPED_RECORDS} records wait to be shipped, and no more are taken"
_columns_of: Final = attrgetter(*(each.name for each in fields(Record) if each.name != "fields"))
_DELETE: Final = "DELETE FROM records WHERE time < ?"
_IS_CONFIRMED: Final = "SELECT EXISTS (SELECT 1 FROM records WHERE time BETWEEN ? AND ?)"
_TAKE_ROOM: Final = f"CREATE TABLE IF NOT EXISTS room AS SELECT zeroblob({AUDIT_PROBE_BYTES})"
_GIVE_ROOM_BACK: Final = "DROP TABLE room"


class Spool(Protocol):
    """What ships records of the file."""

    @property
    def key(self) -> bytes:
        """That of a new file: the digests of principals are then the same in the files of all replicas."""
        ...

    @property
    def delete(self) -> str:
        """The statement that deletes shipped records older than a time."""
        ...

    def prepare(self, database: sqlite3.Connection) -> None:
        """Add what a file needs whose records are shipped."""
        ...

    def unshipped(self, database: sqlite3.Connection) -> int:
        """How many records wait to be shipped."""
        ...


class _PendingRecord:
    def __init__(self, record: Record, *, has_run: bool) -> None:
        self.record, self.has_run = record, has_run
        values = _columns_of(record)
        self.row: list[Any] = [writable(value) if isinstance(value, str) else value for value in values]
        self.paths = compact([writable(path) for path in sorted({*record.fields})])
        self.is_written = False

    def unanswered(self) -> _PendingRecord:
        """The record of the same call, whose caller got an error in place of the answer."""
        record, outcome = self.record, "withheld" if self.record.outcome == "answered" else self.record.outcome
        dropped = record.kept + record.dropped
        return _PendingRecord(replace(record, fields=(), kept=0, dropped=dropped, outcome=outcome), has_run=True)


class AuditWriter:
    """The writer of one file, which other processes may write too; deletes records older than `days`, daily.

    A clock can be wrong, so that is not done before a record confirms it: one as old as `AUDIT_CONFIRMED_S`.

    With a `spool` records are not deleted before they are shipped.
    """

    def __init__(
        self,
        file: str | os.PathLike[str],
        days: float = AUDIT_DAYS,
        clock: Callable[[], float] = time.time,
        *,
        spool: Spool | None = None,
    ) -> None:
        self._path = Path(file)
        self._days = days
        self._spool = spool
        self._failure: str | None = None  # why records cannot be written; until a probe succeeds
        self._next_probe = 0.0
        self._clock = clock
        self._pending: deque[_PendingRecord] = deque()
        self._delayed: list[_PendingRecord] = []  # of calls that have run; no more than run at once
        # Records that come while it writes are its next batch.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="audit")
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_flush_due = False
        self._lock = Lock()
        self._database: sqlite3.Connection | None = open_for_writing(self._path, None if spool is None else spool.key)
        self._next_sweep = 0.0
        try:
            self._key = read_key(self._database)
            self._file_id = self._id_of(self._path.stat())
            if spool is not None:
                spool.prepare(self._database)
            if self._commit([]):
                self._fail(_FULL)
        except FAILURES as error:
            self._database.close()
            message = f"audit records cannot be written to {os.fspath(self._path)!r}: {failure_reason(error)}"
            raise AuditFailed(message) from None
        if spool is not None and spool.key != self._key:
            message = "%r names principals by a key of its own, as no other replica does: move it away and start again"
            logger.warning(message, os.fspath(self._path))

    def principal_digest(self, principal: Principal) -> str:
        return principal_digest(self._key, principal)

    async def check_room(self) -> None:
        """Raise AuditFailed if a record could not be written, and a probe is not written either."""
        if self._failure is not None and (failure := await self._probe()) is not None:
            raise AuditFailed(f"the audit record of this call cannot be written, so it has not run: {failure}")

    async def write(self, record: Record, *, has_run: bool = False) -> None:
        """Write a record and wait until it is durable; raise AuditFailed if it is not.

        The record of a call that has run is then written later, as of one that got no answer.
        """
        if not has_run and self._failure is not None and (failure := await self._probe()) is not None:
            raise _no_answer(failure)
        pending = _PendingRecord(record, has_run=has_run)
        self._pending.append(pending)
        await self._flushed()
        if not pending.is_written:
            raise _no_answer(self._failure)

    async def _flushed(self) -> None:
        """Wait until the thread has written what is pending now, which it does even if the call is cancelled."""
        if self._database is None:
            self._flush()
            return
        waiter = asyncio.get_running_loop().create_future()
        # First of all: a flush that begins meanwhile has it, and otherwise another is due.
        self._waiting.append(waiter)
        if not self._is_flush_due:
            self._is_flush_due = True
            self._thread.submit(self._run_flush)
        await waiter

    def close(self) -> None:
        """Write pending records, and close the file; its thread ends with this object, as a record may still come."""
        with self._lock:
            if self._database is not None:
                if self._pending or self._delayed:
                    self._write_all()
                self._database.close()
                self._database = None
                self._log_lost()

    def _run_flush(self) -> None:
        # Before records are taken: what comes from now on may be too late for this batch.
        self._is_flush_due = False
        waiters = [self._waiting.popleft() for _ in range(len(self._waiting))]
        unexpected: BaseException | None = None
        try:
            self._flush()
        except BaseException as error:
            unexpected = error
            raise
        finally:
            for waiter in waiters:
                with suppress(RuntimeError):  # its loop has ended
                    waiter.get_loop().call_soon_threadsafe(_wake, waiter, unexpected)

    def _flush(self) -> None:
        """Write all pending records."""
        with self._lock:
            if self._pending:
                self._write_all()
            if self._database is None:
                self._log_lost()

    def _log_lost(self) -> None:
        """Leave at least a line of each call that has run and has no record."""
        for pending in self._delayed:
            logger.error("the audit record of a call that has run is lost: %s", compact(pending.record.to_json()))
        self._delayed = []

    async def _probe(self) -> str | None:
        """Why records cannot be written; `None` once they can."""
        if self._database is None:
            return self._failure
        return await asyncio.shield(asyncio.wrap_future(self._thread.submit(self._write_probe)))

    def _write_probe(self) -> str | None:
        with self._lock:
            if self._failure is not None and time.monotonic() >= self._next_probe:
                if self._write_all() and self._has_room():
                    logger.warning("audit records are written again")
                    self._failure = None
                self._next_probe = time.monotonic() + AUDIT_PROBED_S
            return self._failure

    def _has_room(self) -> bool:
        """Whether there is room for some records, so that a little of it does not let calls run in vain."""
        assert self._database is not None, "records have just been written"
        try:
            self._database.execute(_TAKE_ROOM)
            self._database.execute(_GIVE_ROOM_BACK)
        except FAILURES as error:
            self._fail(failure_reason(error))
            return False
        return True

    def _write_all(self) -> bool:
        """Write all records; whether further calls may run."""
        batch = [*self._delayed, *(self._pending.popleft() for _ in range(len(self._pending)))]
        try:
            is_spool_full = self._commit(batch)
        except FAILURES as error:
            self._delayed = [pending.unanswered() for pending in batch if pending.has_run]
            self._fail(failure_reason(error))
            return False
        self._delayed = []
        for pending in batch:
            pending.is_written = True
        if is_spool_full:
            self._fail(_FULL)
        return not is_spool_full

    def _fail(self, reason: str) -> None:
        if self._failure != reason:
            logger.error("audit records are not written: %s", reason)
            self._failure = reason

    def _commit(self, batch: Sequence[_PendingRecord]) -> bool:
        """Write a batch; whether the spool is full then. What runs at that moment is recorded still."""
        if self._database is None:
            raise OSError(None, "the file is closed")
        found = self._path.stat()
        if self._id_of(found) != self._file_id:
            # SQLite would go on writing to the removed file.
            raise OSError(None, "the file is not the one that was opened: start again")
        if found.st_size == 0:
            # As `copytruncate` of logrotate does. SQLite would go on writing what nobody can read.
            raise OSError(None, "the file has been emptied: move it away and start again")
        database = self._database
        database.execute("BEGIN IMMEDIATE")
        try:
            self._sweep(database)
            for pending in batch:
                add(database, pending.row, pending.paths)
            is_spool_full = self._spool is not None and self._spool.unshipped(database) >= MAX_UNSHIPPED_RECORDS
            database.execute("COMMIT")
            return is_spool_full
        finally:
            if database.in_transaction:
                database.rollback()

    def _sweep(self, database: sqlite3.Connection) -> None:
        now = self._clock()
        # Further away the clock was put back since.
        if not 0 < self._next_sweep - now <= AUDIT_SWEPT_S:
            kept_s = self._days * _DAY_S
            youngest_s, oldest_s = AUDIT_CONFIRMED_S
            ages = now - min(oldest_s, kept_s), now - min(youngest_s, kept_s / 2)
            if database.execute(_IS_CONFIRMED, ages).fetchone()[0]:
                database.execute(_DELETE if self._spool is None else self._spool.delete, (now - kept_s,))
                database.execute(DELETE_FIELD_SETS)
            self._next_sweep = now + AUDIT_SWEPT_S

    def _id_of(self, found: os.stat_result) -> tuple[int, int, int | None]:
        """Identifies the file that is at the path now, and its log, which holds the last records."""
        try:
            log = os.stat(f"{self._path}-wal").st_ino
        except FileNotFoundError:
            log = None
        return found.st_dev, found.st_ino, log


def _wake(waiter: asyncio.Future[None], unexpected: BaseException | None) -> None:
    if waiter.done():
        return  # its call was cancelled
    if unexpected is None:
        waiter.set_result(None)
    else:
        waiter.set_exception(unexpected)


def _no_answer(failure: str | None) -> AuditFailed:
    reason = f": {failure}" if failure == _FULL else ""
    return AuditFailed(f"the audit record of this call cannot be written, so there is no answer{reason}")
