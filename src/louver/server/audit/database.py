"""The file of audit records: a SQLite database in WAL mode, which several processes write and read at once.

A new file is built under another name and linked into place, so that no process opens an incomplete one.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import sqlite3
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Final

from louver.core.json import canonical
from louver.errors import AuditFailed, InvalidInput
from louver.limits import AUDIT_BUSY_S

if TYPE_CHECKING:
    from pathlib import Path

    from louver.catalogue.policy.principal import Principal

_APPLICATION_ID: Final = 0x4C565241  # the `application_id` of such a file, "LVRA"

_KEY_BYTES: Final = 32

_TABLES: Final = f"""
PRAGMA journal_mode = WAL;
BEGIN;
CREATE TABLE about (key BLOB NOT NULL);
CREATE TABLE records (
    number INTEGER PRIMARY KEY AUTOINCREMENT, time REAL NOT NULL, principal TEXT NOT NULL, server TEXT NOT NULL,
    tool TEXT NOT NULL, policy TEXT, mode TEXT NOT NULL, kept INTEGER NOT NULL, dropped INTEGER NOT NULL,
    outcome TEXT NOT NULL, duration_ms REAL NOT NULL, correlation TEXT NOT NULL);
CREATE INDEX records_by_time ON records (time);
CREATE TABLE fields (
    record INTEGER NOT NULL REFERENCES records ON DELETE CASCADE, path TEXT NOT NULL,
    PRIMARY KEY (record, path)) WITHOUT ROWID;
PRAGMA application_id = {_APPLICATION_ID};
"""


def open_for_writing(path: Path) -> sqlite3.Connection:
    """Open the file for writing; a missing one is created for its owner alone, in a folder that exists."""
    try:
        if not path.exists():
            _create(path)
        database = _open(path, "rw")
        # Once the commit returns, the record survives a power failure.
        database.execute("PRAGMA synchronous = FULL")
        database.execute("PRAGMA foreign_keys = ON")
    except (OSError, sqlite3.Error) as error:
        raise AuditFailed(f"audit records cannot be written to {os.fspath(path)!r}: {failure_reason(error)}") from None
    return database


def open_for_reading(path: Path) -> sqlite3.Connection:
    try:
        return _open(path, "ro")
    except (OSError, sqlite3.Error) as error:
        raise InvalidInput(f"audit records cannot be read from {os.fspath(path)!r}: {failure_reason(error)}") from None


def read_key(database: sqlite3.Connection) -> bytes:
    (key,) = database.execute("SELECT key FROM about").fetchone()
    return key


def principal_digest(key: bytes, principal: Principal) -> str:
    """A principal's name in a file: a digest by the file's key, against which its readers can test guesses."""
    return hmac.digest(key, canonical([principal.subject, principal.client]), hashlib.sha256).hex()[:32]


def failure_reason(error: OSError | sqlite3.Error) -> str:
    """Why an operation failed, without anything of the record."""
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    # Only an error raised by SQLite itself has a name.
    return getattr(error, "sqlite_errorname", _NOT_AUDIT_FILE)


_NOT_AUDIT_FILE: Final = "it is no file of audit records: expected one that Louver has made, or none"


def _open(path: Path, mode: str) -> sqlite3.Connection:
    # Opened for a precise error: SQLite only says that it cannot open the file.
    with path.open("rb"):
        pass
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    database = sqlite3.connect(uri, uri=True, timeout=AUDIT_BUSY_S, isolation_level=None, check_same_thread=False)
    try:
        if _application_id(database) != _APPLICATION_ID:
            raise sqlite3.DatabaseError
    except BaseException:  # whatever the error, leave no file open
        database.close()
        raise
    return database


def _application_id(database: sqlite3.Connection) -> int | None:
    try:
        (application_id,) = database.execute("PRAGMA application_id").fetchone()
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_NOTADB:
            return None
        raise
    return application_id


def _create(path: Path) -> None:
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    try:
        with closing(sqlite3.connect(temporary, isolation_level=None)) as database:
            database.executescript(_TABLES)
            database.execute("INSERT INTO about VALUES (?)", (secrets.token_bytes(_KEY_BYTES),))
            database.execute("COMMIT")
        # Another process may have created the file meanwhile.
        with suppress(FileExistsError):
            os.link(temporary, path)
            _sync_folder(path.parent)
    finally:
        temporary.unlink()


def _sync_folder(folder: Path) -> None:
    """Make a new entry of a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
