"""The file of audit records, with the key by which it names principals."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from louver.core.json import canonical
from louver.errors import AuditFailed, InvalidInput
from louver.policy.audit_record import Record
from louver.steps.database_file import FAILURES, DatabaseKind, failure_reason

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

    from louver.policy.principal import Principal

KIND: Final = DatabaseKind(0x4C565242, "file of audit records")  # "LVRB"

_TABLES: Final = """
CREATE TABLE about (key BLOB NOT NULL);
CREATE TABLE records (
    number INTEGER PRIMARY KEY AUTOINCREMENT, time REAL NOT NULL, principal TEXT NOT NULL, server TEXT NOT NULL,
    tool TEXT NOT NULL, policy TEXT, mode TEXT NOT NULL, kept INTEGER NOT NULL, dropped INTEGER NOT NULL,
    outcome TEXT NOT NULL, duration_ms REAL NOT NULL, correlation TEXT NOT NULL, field_set INTEGER NOT NULL);
CREATE INDEX records_by_time ON records (time);
CREATE TABLE field_sets (id INTEGER PRIMARY KEY, paths TEXT NOT NULL UNIQUE);
"""
# A field set is a JSON array of paths: answers of one tool share few of them.

_ADD_FIELD_SET: Final = "INSERT OR IGNORE INTO field_sets (paths) VALUES (?)"
_ADD: Final = f"INSERT INTO records VALUES (NULL{', ?' * 11}, (SELECT id FROM field_sets WHERE paths = ?))"
DELETE_FIELD_SETS: Final = "DELETE FROM field_sets WHERE id NOT IN (SELECT field_set FROM records)"

RECORDS_WITH_FIELDS: Final = "SELECT records.*, paths AS fields FROM records JOIN field_sets ON id = field_set"


def open_for_writing(path: Path, key: bytes | None = None) -> sqlite3.Connection:
    """Open the file for writing; a missing one is created for its owner alone, with this or a random key."""
    try:
        if not path.exists():
            new_key = key or secrets.token_bytes(32)
            KIND.create(path, f"{_TABLES} INSERT INTO about VALUES (x'{new_key.hex()}')")
        database = KIND.open(path, "rw")
        # Once the commit returns, the record survives a power failure.
        database.execute("PRAGMA synchronous = FULL")
    except FAILURES as error:
        raise AuditFailed(f"audit records cannot be written to {os.fspath(path)!r}: {failure_reason(error)}") from None
    return database


def open_for_reading(path: Path) -> sqlite3.Connection:
    try:
        return KIND.open(path, "ro")
    except FAILURES as error:
        raise InvalidInput(f"audit records cannot be read from {os.fspath(path)!r}: {failure_reason(error)}") from None


def add(database: sqlite3.Connection, row: list[Any], paths: str) -> None:
    database.execute(_ADD_FIELD_SET, (paths,))
    database.execute(_ADD, (*row, paths))


def read_key(database: sqlite3.Connection) -> bytes:
    (key,) = database.execute("SELECT key FROM about").fetchone()
    return key


def principal_digest(key: bytes, principal: Principal) -> str:
    """A principal's name in a file: a digest by the file's key, against which its readers can test guesses."""
    return _digest(key, principal.subject, principal.client)


@lru_cache(maxsize=1024)
def _digest(key: bytes, subject: str | None, client: str | None) -> str:
    return hmac.digest(key, canonical([subject, client]), hashlib.sha256).hex()[:32]


def record_of(row: dict[str, Any]) -> Record:
    """The record in a row of `RECORDS_WITH_FIELDS`."""
    values = {name: value for name, value in row.items() if name not in ("number", "field_set", "fields")}
    return Record(**values, fields=tuple(json.loads(row["fields"])))
