"""A SQLite file that several processes write and read at once: in WAL mode, and for its owner alone.

A new file is built under another name and linked into place, so that no process opens an incomplete one. The
`application_id` tells its kind. A version whose files this one could not go on with sets their `user_version`.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import stat
from contextlib import closing, suppress
from dataclasses import dataclass
from errno import EACCES, EINVAL, EISDIR
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from pathlib import Path

DATABASE_BUSY_S = 5.0
"""How long a write waits for another process that writes to the file, in seconds. A write takes milliseconds."""


FAILURES: Final = (OSError, sqlite3.Error, UnicodeDecodeError)
"""What an operation raises that fails. The words of SQLite about a damaged file may quote it, and be no text."""


class WrongFile(sqlite3.DatabaseError):
    """The file is of another kind, or no database."""


@dataclass(frozen=True, slots=True)
class DatabaseKind:
    application_id: int
    title: str  # such as "file of audit records"

    def open(self, path: Path, mode: Literal["ro", "rw"]) -> sqlite3.Connection:
        """Open an existing file; one of `FAILURES` if that fails, `WrongFile` for one of another kind."""
        _check_readable(path)
        uri = f"{path.absolute().as_uri()}?mode={mode}"
        database = sqlite3.connect(
            uri, uri=True, timeout=DATABASE_BUSY_S, isolation_level=None, check_same_thread=False
        )
        try:
            if _pragma(database, "application_id") != self.application_id:
                raise WrongFile(f"it is no {self.title}: expected one that this version of Louver has made, or none")
            if _pragma(database, "user_version") != 0:
                raise OSError(EINVAL, "a later version of Louver has made it: expected that version, or no file")
        except BaseException:  # whatever the error, leave no file open
            database.close()
            raise
        return database

    def create(self, path: Path, tables: str) -> None:
        """Create the file with the tables of a script, in a folder that exists."""
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        try:
            with closing(sqlite3.connect(temporary, isolation_level=None)) as database:
                database.executescript(
                    f"PRAGMA journal_mode = WAL; BEGIN; {tables}; PRAGMA application_id = {self.application_id}; COMMIT"
                )
            # Another process may have created the file meanwhile.
            with suppress(FileExistsError):
                os.link(temporary, path)
                _sync_folder(path.parent)
        finally:
            temporary.unlink()


def failure_reason(error: OSError | sqlite3.Error | UnicodeDecodeError) -> str:
    """Why an operation failed, without any value."""
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    if isinstance(error, UnicodeDecodeError):
        return "it is damaged"
    if isinstance(error, WrongFile):
        return str(error)
    # Only an error raised by SQLite itself has a name.
    return getattr(error, "sqlite_errorname", type(error).__name__)


def writable(text: str) -> str:
    """A text that SQLite accepts: a lone surrogate is replaced by its escape."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _check_readable(path: Path) -> None:
    """Raise a precise error: SQLite only says that it cannot open the file, and waits for the other end of a pipe."""
    # Not by opening it: to close it would drop the locks of this process's other connections to it.
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise OSError(EISDIR, os.strerror(EISDIR))
    if not stat.S_ISREG(mode):
        raise OSError(EINVAL, "it is no regular file")
    if not os.access(path, os.R_OK):
        raise OSError(EACCES, os.strerror(EACCES))


def _pragma(database: sqlite3.Connection, name: str) -> int | None:
    try:
        (value,) = database.execute(f"PRAGMA {name}").fetchone()
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_NOTADB:
            return None
        raise
    return value


def _sync_folder(folder: Path) -> None:
    """Make a new entry of a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
