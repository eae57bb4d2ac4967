"""The records of a file that are not shipped yet: they stay in it until their destination has them.

Records are numbered in the order of their commits, so one number tells what is shipped. A batch that has arrived, but
was not marked, is recognised by the last record that the destination has.
"""

from __future__ import annotations

import secrets
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from louver.errors import AuditFailed
from louver.steps.audit.database import RECORDS_WITH_FIELDS, open_for_writing, record_of

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

    from louver.policy.audit_record import Record

MAX_SHIPPED_RECORDS = 1000
"""Audit records that are shipped at once: 0.4 MB where answers have ten fields."""


_TABLE: Final = "CREATE TABLE IF NOT EXISTS shipping (spool TEXT NOT NULL, shipped INTEGER NOT NULL)"
_ROW: Final = "INSERT INTO shipping SELECT ?, 0 WHERE NOT EXISTS (SELECT 1 FROM shipping)"
_POSITION: Final = "SELECT shipped, coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'records'), 0) FROM shipping"
_NEXT: Final = f"{RECORDS_WITH_FIELDS} WHERE number > ? ORDER BY number LIMIT {MAX_SHIPPED_RECORDS}"


class SpooledRecord(NamedTuple):
    number: int
    record: Record


class LastRecord(NamedTuple):
    """The last record of a spool that a destination has."""

    number: int
    correlation: str


class SpoolTable:
    """What the writer of a file adds, whose records are shipped; `key` is that of a new file."""

    delete: Final = "DELETE FROM records WHERE time < ? AND number <= (SELECT shipped FROM shipping)"

    def __init__(self, key: bytes) -> None:
        self.key = key

    def prepare(self, database: sqlite3.Connection) -> None:
        database.execute(_TABLE)
        database.execute(_ROW, (secrets.token_hex(8),))

    @staticmethod
    def unshipped(database: sqlite3.Connection) -> int:
        """How many records wait to be shipped."""
        shipped, last = database.execute(_POSITION).fetchone()
        return last - shipped


class Spool:
    """A prepared file; its `id` tells its records from those of other replicas."""

    def __init__(self, path: Path) -> None:
        self._database = open_for_writing(path)
        self._lock = Lock()
        self._selected = 0  # number of the last selected record
        (self.id,) = self._database.execute("SELECT spool FROM shipping").fetchone()

    def has_unshipped(self) -> bool:
        with self._lock:
            return SpoolTable.unshipped(self._database) > 0

    def next_records(self, arrived: LastRecord | None) -> list[SpooledRecord]:
        """The next records to ship, without those that have arrived but are not marked."""
        with self._lock:
            self._database.execute("BEGIN")
            try:
                shipped, newest = self._database.execute(_POSITION).fetchone()
                cursor = self._database.execute(_NEXT, (shipped,))
                names = [column[0] for column in cursor.description]
                rows: list[dict[str, Any]] = [dict(zip(names, row, strict=True)) for row in cursor]
            finally:
                self._database.execute("ROLLBACK")
        records = [SpooledRecord(row["number"], record_of(row)) for row in rows]
        # A gateway that ships nothing may have deleted the rest by age.
        self._selected = records[-1].number if records else newest
        if arrived is None or arrived.number <= shipped:
            return records
        known = [LastRecord(number, record.correlation) for number, record in records]
        if arrived not in known:
            raise AuditFailed("it has other records of this file, which is a copy: move the file away and start again")
        return records[known.index(arrived) + 1 :]

    def mark_shipped(self) -> None:
        """Mark the selected records."""
        with self._lock:
            self._database.execute("UPDATE shipping SET shipped = ?1 WHERE shipped < ?1", (self._selected,))

    def close(self) -> None:
        with self._lock:
            self._database.close()
