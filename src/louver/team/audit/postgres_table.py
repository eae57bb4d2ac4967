"""Ship audit records to a table of Postgres by COPY; it is created if it does not exist.

louver_audit(spool, number, time, principal, ...)      unique by spool, which is a file of a replica, and number
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, cast

import asyncpg  # pyright: ignore[reportMissingTypeStubs]

from louver.concurrency.offload import in_thread
from louver.errors import AuditFailed
from louver.limits import STATE_ANSWER_S
from louver.team.audit.spool import LastRecord

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.steps.shared_state import StateUrl
    from louver.team.audit.spool import SpooledRecord

AUDIT_SHIPPING_S = 30.0
"""How long shipping records at once may take, in seconds. It takes some 50 ms."""


# The package has no types.
_asyncpg = cast("Any", asyncpg)

_COLUMNS: Final = {
    "spool": "text NOT NULL",
    "number": "bigint NOT NULL",
    "time": "timestamptz NOT NULL",
    "principal": "text NOT NULL",
    "server": "text NOT NULL",
    "tool": "text NOT NULL",
    "policy": "text",
    "mode": "text NOT NULL",
    "fields": "text[] NOT NULL",
    "kept": "bigint NOT NULL",
    "dropped": "bigint NOT NULL",
    "outcome": "text NOT NULL",
    "duration_ms": "double precision NOT NULL",
    "correlation": "text NOT NULL",
}

# Replicas that start together would else fail to create it at the same time.
_LOCK_TABLE: Final = "SELECT pg_advisory_xact_lock(7034502163830)"
_FIND: Final = """
SELECT array_agg(attname::text) FROM pg_attribute
WHERE attrelid = to_regclass('louver_audit') AND attnum > 0 AND NOT attisdropped
"""
_CREATE: Final = (
    f"CREATE TABLE louver_audit ({', '.join(f'{name} {kind}' for name, kind in _COLUMNS.items())},"
    " PRIMARY KEY (spool, number))"
)

# Workers on one machine have the spool in common.
_LOCK_SPOOL: Final = "SELECT pg_advisory_xact_lock(hashtextextended('louver audit ' || $1, 0))"
_LAST: Final = "SELECT number, correlation FROM louver_audit WHERE spool = $1 ORDER BY number DESC LIMIT 1"


class PostgresTable:
    def __init__(self, url: StateUrl) -> None:
        self._url = url.text
        self.shown = url.shown
        self._connection: Any = None

    async def append(self, spool: str, select: Callable[[LastRecord | None], list[SpooledRecord]]) -> None:
        try:
            async with asyncio.timeout(AUDIT_SHIPPING_S):
                if self._connection is None or self._connection.is_closed():
                    self._connection = await _asyncpg.connect(self._url, timeout=STATE_ANSWER_S)
                    await self._prepare()
                async with self._connection.transaction():
                    await self._connection.execute(_LOCK_SPOOL, spool)
                    row = await self._connection.fetchrow(_LAST, spool)
                    arrived = None if row is None else LastRecord(*row)
                    records = await in_thread(lambda: select(arrived))
                    rows = [_row(spool, each) for each in records]
                    await self._connection.copy_records_to_table("louver_audit", records=rows, columns=[*_COLUMNS])
        except BaseException:  # after a cancellation, too, the transaction must not stay open
            self._disconnect()
            raise

    async def close(self) -> None:
        self._disconnect()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    async def _prepare(self) -> None:
        async with self._connection.transaction():
            await self._connection.execute(_LOCK_TABLE)
            columns = await self._connection.fetchval(_FIND)
            if columns is None:
                await self._connection.execute(_CREATE)
            elif not _COLUMNS.keys() <= {*columns}:
                raise AuditFailed("its table louver_audit is of another version, or is not of Louver")


def _row(spool: str, spooled: SpooledRecord) -> tuple[Any, ...]:
    number, record = spooled
    return (
        spool,
        number,
        datetime.fromtimestamp(record.time, UTC),
        record.principal,
        _storable(record.server),
        _storable(record.tool),
        None if record.policy is None else _storable(record.policy),
        record.mode,
        [_storable(path) for path in record.fields],
        record.kept,
        record.dropped,
        record.outcome,
        record.duration_ms,
        record.correlation,
    )


def _storable(text: str) -> str:
    """A text that Postgres accepts."""
    return text.replace("\0", "\\x00")
