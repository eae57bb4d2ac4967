"""Reports on a file of savings, opened read-only: totals by tool, server, view or day.

Tokens are estimated from characters; what was saved is the difference of whole and sent.
"""

from __future__ import annotations

import os
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal

from louver.errors import InvalidInput
from louver.limits import CHARACTERS_A_LIST_TOKEN, CHARACTERS_A_TOKEN
from louver.steps.database_file import FAILURES, failure_reason
from louver.steps.savings.database import COUNTERS, KIND, LIST, LOUVER

if TYPE_CHECKING:
    from pathlib import Path

By = Literal["tool", "server", "view", "day"]

_LIST_SHARE: Final = CHARACTERS_A_TOKEN / CHARACTERS_A_LIST_TOKEN

_COLUMNS: Final[dict[By, tuple[str, ...]]] = {
    "tool": ("server", "tool"),
    "server": ("server",),
    "view": ("server", "tool", "view"),
    "day": ("day",),
}


class SavingsReport:
    """The savings in one file since the day of a time, in seconds since the epoch; none if the file is missing."""

    def __init__(self, file: Path, since: float = 0.0) -> None:
        self._file = file
        self._first_day = datetime.fromtimestamp(since, UTC).date().isoformat()

    def totals(self, by: By) -> list[dict[str, Any]]:
        """A row for each tool, server or view, most saved first; or for each day, the oldest first."""
        columns = _COLUMNS[by]
        order = "day" if by == "day" else f"sum(sent_characters - whole_characters), {', '.join(columns)}"
        rows = self._rows(f"GROUP BY {', '.join(columns)} ORDER BY {order}", columns)
        return [{**dict(zip(columns, row, strict=False)), **_total(row[len(columns) :])} for row in rows]

    def total(self) -> dict[str, Any]:
        return _total(*self._rows(""))

    def _rows(self, grouped: str, columns: tuple[str, ...] = ()) -> list[tuple[Any, ...]]:
        sums = (f"ifnull(sum({_counted(name)}), 0)" for name in COUNTERS)
        query = f"SELECT {', '.join((*columns, *sums))} FROM savings WHERE day >= ? {grouped}"
        try:
            with closing(KIND.open(self._file, "ro")) as database:
                return database.execute(query, (self._first_day,)).fetchall()
        except FileNotFoundError:
            # It is made when the first call is counted.
            return []
        except FAILURES as error:
            file, reason = os.fspath(self._file), failure_reason(error)
            raise InvalidInput(f"savings cannot be read from {file!r}: {reason}") from None


def _counted(name: str) -> str:
    """A counter; characters of lists as those of answers with as many tokens."""
    if not name.endswith("_characters"):
        return name
    return f"{name} * CASE WHEN server = '{LOUVER}' AND tool = '{LIST}' THEN {_LIST_SHARE} ELSE 1 END"


def _total(counts: tuple[int, ...] = (0,) * len(COUNTERS)) -> dict[str, int]:
    calls, saved_nothing, whole_bytes, sent_bytes, whole_characters, sent_characters = counts
    whole_tokens, sent_tokens = (round(count / CHARACTERS_A_TOKEN) for count in (whole_characters, sent_characters))
    return {
        "calls": calls,
        "savedNothing": saved_nothing,
        "wholeBytes": whole_bytes,
        "sentBytes": sent_bytes,
        "savedBytes": whole_bytes - sent_bytes,
        "wholeTokens": whole_tokens,
        "sentTokens": sent_tokens,
        "savedTokens": whole_tokens - sent_tokens,
    }
