"""What a store of state can do; `redis_engine.py` and `postgres_engine.py` do it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from louver.errors import LouverError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from louver.steps.shared_state import StateUrl


class Engine(Protocol):
    """Each method raises one of `failures` or `refusals`, or OSError."""

    @property
    def failures(self) -> tuple[type[Exception], ...]:
        """Errors of a store that cannot be used now."""
        ...

    @property
    def refusals(self) -> tuple[type[Exception], ...]:
        """Errors of a store that answers, but does not do what it is asked: it is full, for example."""
        ...

    async def put(self, key: str, value: bytes, seconds: float) -> None:
        """Keep a value, instead of an earlier one, for so long by the clock of the store."""
        ...

    async def get(self, key: str) -> bytes | None: ...

    async def take(self, key: str, holder: bytes, seconds: float) -> bool:
        """Keep a value if there is none; whether it is kept."""
        ...

    async def remove(self, key: str, holder: bytes | None) -> None:
        """Remove a value; with `holder`, only that one."""
        ...

    async def publish(self, message: str) -> None: ...

    def messages(self) -> AsyncGenerator[str | None]:
        """What anybody publishes, after `None` for the subscription, until the connection ends."""
        ...

    @property
    def count(self) -> Callable[[str, int], Awaitable[float | None]] | None:
        """Counts a request by key and limit a minute: `None` if it is admitted, else the seconds until one will be.

        `None` itself where counting would cost more than a call.
        """
        ...

    async def close(self) -> None: ...


def open_engine(url: StateUrl) -> Engine:
    """The store at a URL, which is not connected yet; LouverError if a package for it is missing."""
    # Imported only now: each engine only where it is used.
    if url.kind == "redis":
        try:
            from louver.team.state.redis_engine import RedisEngine
        except ImportError:
            raise LouverError("state on Redis or Valkey needs its client: install louver[redis]") from None
        try:
            return RedisEngine(url.text)
        except (ValueError, TypeError):
            # Its text may hold a part of the URL.
            raise LouverError(f"the state at {url.shown} has a parameter that its client does not take") from None
    assert url.kind == "postgres", f"no engine for {url.kind}"
    try:
        from louver.team.state.postgres_engine import PostgresEngine
    except ImportError:
        raise LouverError("state on Postgres needs its client: install louver[postgres]") from None
    return PostgresEngine(url.text)
