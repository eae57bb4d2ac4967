"""State on Redis or Valkey: values with a time to live, one channel, and counters."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, cast

import redis
from limits import RateLimitItemPerMinute
from limits.aio.storage import RedisStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter
from redis.asyncio import ConnectionPool, Redis
from redis.asyncio.connection import parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.credentials import CredentialProvider
from redis.exceptions import RedisError, ResponseError

from louver.limits import STATE_ANSWER_S, STATE_SILENT_S

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

# The package has types for a part of its methods.
_Redis, _ConnectionPool, _parse_url = cast("Any", Redis), cast("Any", ConnectionPool), cast("Any", parse_url)

_PREFIX: Final = "louver"

# Asked again, since the answer was lost with its connection, it has been taken already.
_TAKE: Final = """
return redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', ARGV[2]) or redis.call('get', KEYS[1]) == ARGV[1]
"""
_REMOVE: Final = "if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('del', KEYS[1]) end"


def _driver() -> dict[str, Any]:
    """What connections tell of the client: each would look its version up in the folder of all packages."""
    made = getattr(redis, "DriverInfo", None)
    return {} if made is None else {"driver_info": made()}


def _parts(url: str) -> tuple[tuple[str, ...], dict[str, Any]]:
    """What a connection logs in with, and its other options."""
    options = dict(_parse_url(url))
    user, password = options.pop("username", ""), options.pop("password", "")
    return ((user, password) if user else (password,) if password else ()), options


def _client(options: dict[str, Any]) -> Any:
    return _Redis.from_pool(_ConnectionPool(**options))


class _Login(CredentialProvider):
    """What new connections log in with, which can change while others are open."""

    words: tuple[str, ...] = ()

    async def get_credentials_async(self) -> Any:
        return self.words


class RedisEngine:
    failures = (RedisError,)
    # Of a store that answers, but does not do what it is asked: it is full, for example.
    refusals = (ResponseError,)

    def __init__(self, url: str) -> None:
        self._login = _Login()
        self._login.words, of_url = _parts(url)
        options: dict[str, Any] = {"socket_connect_timeout": STATE_ANSWER_S, "protocol": 2, **_driver()}
        options["credential_provider"] = self._login
        # One retry: a connection of the pool may be from before a restart of the store.
        self._client = _client({**options, "socket_timeout": STATE_ANSWER_S, "retry": Retry(NoBackoff(), 1), **of_url})
        # It connects only when it is used: an option that it does not know would fail then.
        self._client.connection_pool.make_connection()
        # Redis has channels for all of its databases together.
        self._channel = f"{_PREFIX}:messages:{self._client.connection_pool.connection_kwargs.get('db', 0)}"
        self._subscriber = _client({**options, "socket_timeout": None, "retry": Retry(NoBackoff(), 0), **of_url})
        # Not its moving window: that goes by the clock of each replica, and a caller that has used up its limit at a
        # replica five minutes ahead is refused for six minutes by the others.
        self._limiter = SlidingWindowCounterRateLimiter(
            RedisStorage(
                "async+redis://",
                implementation="redispy",
                key_prefix=f"{_PREFIX}:limits",
                connection_pool=self._client.connection_pool,
            )
        )

    def log_in_as(self, url: str) -> None:
        """Use the user and password of a URL from the next connection on."""
        self._login.words, _ = _parts(url)

    async def put(self, key: str, value: bytes, seconds: float) -> None:
        """Keep a value, instead of an earlier one, for so long by the clock of the store."""
        await self._client.set(f"{_PREFIX}:{key}", value, px=max(1, round(seconds * 1000)))

    async def get(self, key: str) -> bytes | None:
        return await self._client.get(f"{_PREFIX}:{key}")

    async def take(self, key: str, holder: bytes, seconds: float) -> bool:
        """Keep a value if there is none; whether it is kept."""
        return bool(await self._client.eval(_TAKE, 1, f"{_PREFIX}:{key}", holder, max(1, round(seconds * 1000))))

    async def remove(self, key: str, holder: bytes | None) -> None:
        """Remove a value; with `holder`, only that one."""
        if holder is None:
            await self._client.delete(f"{_PREFIX}:{key}")
        else:
            await self._client.eval(_REMOVE, 1, f"{_PREFIX}:{key}", holder)

    async def publish(self, message: str) -> None:
        await self._client.publish(self._channel, message)

    async def messages(self) -> AsyncGenerator[str | None]:
        """What anybody publishes, after `None` for the subscription, until the connection ends."""
        async with self._subscriber.pubsub() as channel:
            await channel.subscribe(self._channel)
            is_silent = False
            while True:
                message = await channel.get_message(timeout=STATE_ANSWER_S if is_silent else STATE_SILENT_S)
                if message is not None:
                    is_silent = False
                    if message["type"] == "subscribe":
                        yield None
                    elif message["type"] == "message":
                        yield message["data"].decode("ascii", "replace")
                elif is_silent:
                    raise TimeoutError
                else:
                    is_silent = True
                    await channel.ping()

    async def count(self, key: str, per_minute: int) -> float | None:
        """Count a request: `None` if it is admitted, else the seconds until one will be."""
        limit = RateLimitItemPerMinute(per_minute)
        if await self._limiter.hit(limit, key):
            return None
        return (await self._limiter.get_window_stats(limit, key)).reset_time - time.time()

    async def close(self) -> None:
        try:
            await self._client.aclose()
        finally:
            # The first may find that the store is gone.
            await self._subscriber.aclose()
