"""The example database: made on first use, the same bytes every time, then read only.

It lives in memory, or in a file that is made if it is not there yet. One connection serves
all threads (MCPServer runs synchronous tools on worker threads), one reader at a time::

    database = Database()
    database.read("SELECT name FROM users WHERE id = ?", (1,))

Law: two fresh databases hold equal content (`test_two_fresh_databases_hold_the_same_bytes`).
No clock, no locale and no order of a set enters it, only `random.Random` with a fixed seed.
"""

from __future__ import annotations

import sqlite3
import threading
import weakref
from functools import cache
from typing import TYPE_CHECKING, Any

from examples.company import tables
from examples.company.rows import content

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


class Database:
    """Read access to the example data, from any thread.

    Args:
        path: Where the file is or shall be; in memory by default.
    """

    def __init__(self, path: str | Path = ":memory:") -> None:
        self._path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def read(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> list[dict[str, Any]]:
        """All rows of one SELECT, each as column name -> value.

        Args:
            sql: One statement; one that writes is refused.
            parameters: Values of its placeholders.

        Raises:
            sqlite3.OperationalError: The statement writes, or names what is not there.
            ValueError: The file holds something other than this version's data.
        """
        with self._lock:
            return [dict(row) for row in self._open().execute(sql, parameters)]

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = _connect(self._path)
            # Closes with the last reference or at exit, so no caller has to.
            weakref.finalize(self, self._connection.close)
        return self._connection


@cache
def shared() -> Database:
    """The one in-memory database of this process."""
    return Database()


def _connect(path: str | Path) -> sqlite3.Connection:
    # `Database` lets one thread in at a time, which is what the check would ask for.
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        _make(connection)
    except BaseException:  # whatever fails, nobody else would close it
        connection.close()
        raise
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA query_only = ON")
    return connection


def _make(connection: sqlite3.Connection) -> None:
    # The version is read inside the transaction: a second process waits, then finds the data.
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (objects,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if version == tables.VERSION:
            return
        if version or objects:
            msg = f"user_version {version:#x} is another program's: expected no file or {tables.VERSION:#x}"
            raise ValueError(msg)
        _fill(connection)


def _fill(connection: sqlite3.Connection) -> None:
    for statement in tables.STATEMENTS:
        connection.execute(statement)
    for table, rows in content():
        columns = ", ".join(rows[0])
        places = ", ".join(f":{column}" for column in rows[0])
        connection.executemany(f"INSERT INTO {table} ({columns}) VALUES ({places})", rows)
    connection.execute(f"PRAGMA user_version = {tables.VERSION}")
