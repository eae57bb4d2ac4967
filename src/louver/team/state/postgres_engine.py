"""State on Postgres: a table of values, and a channel by LISTEN and NOTIFY.

louver_state(key, expires, value)      expires by the clock of the database; it is created if it does not exist
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, cast

import asyncpg  # pyright: ignore[reportMissingTypeStubs]

from louver.limits import STATE_ANSWER_S, STATE_SILENT_S

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

STATE_CONNECTIONS = 4
"""Connections of a replica to Postgres, besides that of the channel. Only kept results use them."""


# The package has no types.
_asyncpg = cast("Any", asyncpg)

_CHANNEL: Final = "louver_messages"

# Replicas that start together would else fail to create it at the same time.
_LOCK: Final = "SELECT pg_advisory_xact_lock(7034502163829)"
_EXISTS: Final = "SELECT to_regclass('louver_state') IS NOT NULL"
_CREATE: Final = """
CREATE TABLE IF NOT EXISTS louver_state (key text PRIMARY KEY, expires timestamptz NOT NULL, value bytea NOT NULL)
"""

_PUT: Final = """
INSERT INTO louver_state VALUES ($1, now() + $2::interval, $3)
ON CONFLICT (key) DO UPDATE SET expires = EXCLUDED.expires, value = EXCLUDED.value
"""
_GET: Final = "SELECT value FROM louver_state WHERE key = $1 AND expires > now()"
_TAKE: Final = """
INSERT INTO louver_state VALUES ($1, now() + $2::interval, $3)
ON CONFLICT (key) DO UPDATE SET expires = EXCLUDED.expires, value = EXCLUDED.value
WHERE louver_state.expires <= now()
RETURNING key
"""
_REMOVE: Final = "DELETE FROM louver_state WHERE key = $1 AND ($2::bytea IS NULL OR value = $2)"
_DELETE_EXPIRED: Final = "DELETE FROM louver_state WHERE expires <= now()"


class PostgresEngine:
    count = None  # a durable write for each call
    failures = (asyncpg.PostgresError, asyncpg.InterfaceError)
    # Without connection errors, and those of a server that starts or ends.
    refusals = (
        asyncpg.InsufficientResourcesError,
        asyncpg.SyntaxOrAccessError,
        asyncpg.DataError,
        asyncpg.ReadOnlySQLTransactionError,
    )

    def __init__(self, url: str) -> None:
        self._url = url
        self._pool: Any = None
        self._opening = asyncio.Lock()

    async def put(self, key: str, value: bytes, seconds: float) -> None:
        async with _acquired(await self._opened()) as connection:
            await connection.execute(_DELETE_EXPIRED)
            await connection.execute(_PUT, key, timedelta(seconds=seconds), value)

    async def get(self, key: str) -> bytes | None:
        async with _acquired(await self._opened()) as connection:
            return await connection.fetchval(_GET, key)

    async def take(self, key: str, holder: bytes, seconds: float) -> bool:
        pool = await self._opened()
        return await pool.fetchval(_TAKE, key, timedelta(seconds=seconds), holder) is not None

    async def remove(self, key: str, holder: bytes | None) -> None:
        await (await self._opened()).execute(_REMOVE, key, holder)

    async def publish(self, message: str) -> None:
        async with _acquired(await self._opened()) as connection:
            await connection.execute("SELECT pg_notify($1, $2)", _CHANNEL, message)

    async def messages(self) -> AsyncGenerator[str | None]:
        await self._opened()
        connection = await _asyncpg.connect(self._url, timeout=STATE_ANSWER_S)
        received = asyncio.Queue[str | None]()

        def on_notified(_connection: Any, _process: int, _channel: str, message: str) -> None:
            received.put_nowait(message)

        def on_ended(_connection: Any) -> None:
            received.put_nowait(None)

        try:
            connection.add_termination_listener(on_ended)
            await connection.add_listener(_CHANNEL, on_notified)
            yield None
            while True:
                try:
                    async with asyncio.timeout(STATE_SILENT_S):
                        message = await received.get()
                except TimeoutError:
                    # It shows too whether the connection is still there.
                    await connection.execute(_DELETE_EXPIRED, timeout=STATE_ANSWER_S)
                    continue
                if message is None:
                    raise ConnectionResetError
                yield message
        finally:
            connection.terminate()

    async def close(self) -> None:
        if self._pool is not None:
            try:
                async with asyncio.timeout(STATE_ANSWER_S):
                    await self._pool.close()
            except TimeoutError:
                self._pool.terminate()

    async def _opened(self) -> Any:
        async with self._opening:
            if self._pool is None:
                pool = await _asyncpg.create_pool(
                    self._url, min_size=0, max_size=STATE_CONNECTIONS, timeout=STATE_ANSWER_S
                )
                try:
                    async with _acquired(pool) as connection:
                        if not await connection.fetchval(_EXISTS):
                            # One transaction.
                            await connection.execute(f"{_LOCK}; {_CREATE}")
                except BaseException:  # cancellation must close it too
                    pool.terminate()
                    raise
                self._pool = pool
        return self._pool


@asynccontextmanager
async def _acquired(pool: Any) -> AsyncGenerator[Any]:
    """A connection of the pool, which ends if its work does not."""
    connection = await pool.acquire()
    try:
        yield connection
    except asyncio.CancelledError:
        # The pool would wait, for a server that does not answer, until it has cancelled its query.
        connection.terminate()
        raise
    finally:
        await pool.release(connection)
