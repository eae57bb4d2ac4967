"""Reports on a file of audit records, opened read-only: totals by tool, principal or field, and the records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from louver.core.moment import moment
from louver.errors import InvalidInput
from louver.policy.principal import Principal
from louver.steps.audit.database import (
    RECORDS_WITH_FIELDS,
    open_for_reading,
    principal_digest,
    read_key,
    record_of,
)
from louver.steps.database_file import FAILURES, failure_reason

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from pathlib import Path

    from louver.policy.audit_record import Record

Total = dict[str, Any]  # a total, as a JSON object

_OUTCOMES: Final = ", ".join(
    f"sum(outcome = '{outcome}') AS {outcome}" for outcome in ("answered", "refused", "withheld", "error")
)
_WANTED: Final = "time >= :since AND (:principal IS NULL OR principal = :principal)"
_BY: Final = {
    "tool": f"""
SELECT server, tool, count(*) AS calls, {_OUTCOMES}, count(DISTINCT principal) AS principals, max(time) AS last
FROM records WHERE {_WANTED} GROUP BY server, tool ORDER BY calls DESC, server, tool
""",
    "principal": f"""
SELECT principal, count(*) AS calls, {_OUTCOMES}, count(DISTINCT server || char(0) || tool) AS tools, max(time) AS last
FROM records WHERE {_WANTED} GROUP BY principal ORDER BY calls DESC, principal
""",
    "field": f"""
SELECT server, tool, value AS field, sum(calls) AS calls, count(DISTINCT principal) AS principals, max(last) AS last
FROM (
    SELECT server, tool, field_set, principal, count(*) AS calls, max(time) AS last
    FROM records WHERE {_WANTED} AND outcome = 'answered' GROUP BY server, tool, field_set, principal
) JOIN field_sets ON field_sets.id = field_set JOIN json_each(paths)
GROUP BY server, tool, field ORDER BY calls DESC, server, tool, field
""",
}
RECORDS_BY: Final = tuple(_BY)
_STRANGE: Final = "audit records cannot be read: the file holds others than Louver writes"
_RECORDS: Final = f"{RECORDS_WITH_FIELDS} WHERE {_WANTED} ORDER BY time, number"


class AuditReport:
    """The records of one file since a time in seconds since the epoch; of one principal, by itself or its digest."""

    def __init__(self, file: Path, since: float = 0.0, principal: Principal | str | None = None) -> None:
        self._database = open_for_reading(file)
        if isinstance(principal, Principal):
            principal = principal_digest(self._key(), principal)
        self._wanted = {"since": since, "principal": principal}

    def close(self) -> None:
        self._database.close()

    def totals(self, by: str) -> list[Total]:
        """A row for each `tool`, `principal` or `field`."""
        return [{**row, "last": _moment(row["last"])} for row in self._rows(_BY[by])]

    def records(self) -> Iterator[Record]:
        for row in self._rows(_RECORDS):
            _moment(row["time"])
            try:
                record = record_of(row)
            except (TypeError, ValueError):
                raise InvalidInput(_STRANGE) from None
            yield record

    def _key(self) -> bytes:
        try:
            return read_key(self._database)
        except FAILURES as error:
            self._database.close()
            raise _unreadable(error) from None

    def _rows(self, query: str) -> Iterator[Total]:
        try:
            cursor = self._database.execute(query, self._wanted)
            names = [column[0] for column in cursor.description]
            for row in cursor:
                yield dict(zip(names, row, strict=True))
        except FAILURES as error:
            raise _unreadable(error) from None


def _moment(seconds: Any) -> str:
    """A time in the file, which may be damaged."""
    try:
        return moment(seconds)
    except (TypeError, ValueError, OverflowError, OSError):
        raise InvalidInput(_STRANGE) from None


def _unreadable(error: OSError | sqlite3.Error | UnicodeDecodeError) -> InvalidInput:
    return InvalidInput(f"audit records cannot be read: {failure_reason(error)}")
