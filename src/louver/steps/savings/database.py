"""The file of savings: counters by day, server, tool and view."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Final, NamedTuple

from louver.steps.database_file import DatabaseKind, writable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SAVINGS_DAYS = 400
"""How long savings are kept, in days: a year can be compared with the month before it."""

SAVINGS_CONFIRMED_DAYS = 30
"""Greatest age of savings of a day before yesterday that show that the clock is right, in days, before others go."""


KIND: Final = DatabaseKind(0x4C565253, "file of savings")  # "LVRS"

LOUVER: Final = ""  # the server of Louver's own tools
LIST: Final = "tools/list"  # and the tool that stands for lists

COUNTERS: Final = ("calls", "saved_nothing", "whole_bytes", "sent_bytes", "whole_characters", "sent_characters")

_TABLES: Final = f"""
CREATE TABLE savings (
    day TEXT NOT NULL, server TEXT NOT NULL, tool TEXT NOT NULL, view TEXT NOT NULL,
    {", ".join(f"{name} INTEGER NOT NULL" for name in COUNTERS)},
    PRIMARY KEY (day, server, tool, view)) WITHOUT ROWID
"""
_ADD: Final = f"""
INSERT INTO savings VALUES (?, ?, ?, ?{", ?" * len(COUNTERS)}) ON CONFLICT DO UPDATE SET
{", ".join(f"{name} = {name} + excluded.{name}" for name in COUNTERS)}
"""
# A clock that jumps ahead would remove all: only if a day of the last month shows that it is right, and not yesterday,
# which is over at once after a jump to the end of a day.
_DELETE: Final = f"""
DELETE FROM savings WHERE day < date(?1, '-{SAVINGS_DAYS} days')
AND EXISTS (SELECT 1 FROM savings WHERE day < date(?1, '-1 days') AND day >= date(?1, '-{SAVINGS_CONFIRMED_DAYS} days'))
"""


class SavingsKey(NamedTuple):
    day: str  # 2026-01-31, in UTC
    server: str
    tool: str  # its name at the server
    view: str


def add(path: Path, totals: Mapping[SavingsKey, list[int]], today: str) -> None:
    """Add counters to the file, which is created if it is missing; rows of over `SAVINGS_DAYS` are removed."""
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        KIND.create(path, _TABLES)
    # Opened for each batch: so the file can be removed or replaced while gateways run.
    with closing(KIND.open(path, "rw")) as database:
        database.execute("PRAGMA synchronous = NORMAL")
        database.execute("BEGIN IMMEDIATE")
        database.executemany(_ADD, [(*map(writable, key), *counts) for key, counts in totals.items()])
        database.execute(_DELETE, (today,))
        database.execute("COMMIT")
