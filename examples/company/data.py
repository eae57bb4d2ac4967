"""The company's database: SQLite in memory, made on first use, then read only.

Law: two fresh databases hold equal content (`test_two_fresh_databases_hold_the_same_bytes`).
"""

from __future__ import annotations

import sqlite3
import threading
import weakref
from functools import cache
from typing import TYPE_CHECKING, Any

from examples.company.rows import content
from examples.company.tables import STATEMENTS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Database:
    """Read access from any thread, one at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def read(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> list[dict[str, Any]]:
        """All rows of one SELECT, each as column name -> value."""
        with self._lock:
            if self._connection is None:
                self._connection = connect()
                # Closes with the last reference or at exit, so no caller has to.
                weakref.finalize(self, self._connection.close)
            return [dict(row) for row in self._connection.execute(sql, parameters)]


@cache
def shared() -> Database:
    """The one database of this process."""
    return Database()


def connect() -> sqlite3.Connection:
    """A connection to a fresh database with all rows."""
    # MCPServer runs synchronous tools on worker threads; `Database` lets one in at a time.
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    for statement in STATEMENTS:
        connection.execute(statement)
    for table, rows in content():
        columns = ", ".join(rows[0])
        places = ", ".join(f":{column}" for column in rows[0])
        connection.executemany(f"INSERT INTO {table} ({columns}) VALUES ({places})", rows)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA query_only = ON")
    return connection
