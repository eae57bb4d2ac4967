"""What the replicas of a gateway share: values for a while, messages to each other, and counts of requests.

A store that fails is left alone for a moment; whatever needs it is refused meanwhile, at once and with that reason. One
warning is logged, and the store is used again once it answers.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import secrets
from collections import deque
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from louver.concurrency.offload import in_thread
from louver.core.json import compact_bytes
from louver.errors import LouverError, StateUnavailable
from louver.limits import STATE_ANSWER_S
from louver.shipped import with_extra
from louver.team.state.seal import StateSeal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from louver.steps.shared_state import StateUrl
    from louver.team.state.redis_engine import RedisEngine

STATE_RETRY_S = 1.0
"""How long such a store is left alone after it has failed, in seconds; what needs it is refused meanwhile."""

MAX_STATE_MESSAGE = 7000
"""Longest message to the other replicas, in characters: they hold ids and digests, no content."""

MAX_UNSENT_MESSAGES = 1000
"""Messages that wait for a store that is slow or away, at most 7 MB; further ones are dropped."""


logger = logging.getLogger(__name__)

_T = TypeVar("_T")

_MESSAGE = "message"


class SharedState:
    """The store at a URL, which is connected on first use."""

    def __init__(self, url: StateUrl, keys: Sequence[str] = ()) -> None:
        self.url = url
        self._engine = _engine(url)
        self._seal = StateSeal(keys)
        self._own = secrets.token_hex(8)  # marks the messages of this replica
        self._handlers: dict[str, Callable[..., None]] = {}
        self._listening: asyncio.Task[None] | None = None
        self._unsent: deque[str] = deque()
        self._sending: asyncio.Task[None] | None = None
        self._is_slow = False
        self._is_closed = False
        self._under_way: set[asyncio.Future[None]] = set()
        self._problem: str | None = None  # why the store cannot be used
        self._refusal: str | None = None  # why it has refused something, though it can be used
        self._retry_at = 0.0

    def use(self, url: StateUrl, keys: Sequence[str]) -> None:
        """Seal with other keys, and log in with the URL's user and password from the next connection on."""
        self._engine.log_in_as(url.text)
        self._seal = StateSeal(keys)

    async def put(self, key: str, value: bytes, seconds: float) -> None:
        """Keep a value for a while; StateUnavailable if the store does not."""
        seal = self._seal
        sealed = await in_thread(lambda: seal.seal(key, value))
        await self._do(lambda: self._engine.put(key, sealed, seconds))
        self._refusal = None

    async def get(self, key: str) -> bytes | None:
        """A value; `None` if there is none that opens. StateUnavailable if the store does not answer."""
        sealed = await self._do(lambda: self._engine.get(key))
        seal = self._seal
        return None if sealed is None else await in_thread(lambda: seal.unseal(key, sealed))

    async def take(self, key: str, seconds: float) -> bytes | None:
        """Take a key that nobody has, for so long: what it is given back with; `None` if somebody has it."""
        holder = secrets.token_bytes(16)
        return holder if await self._do(lambda: self._engine.take(key, holder, seconds)) else None

    async def remove(self, key: str, holder: bytes | None = None) -> None:
        """Remove a value, or give a key back that was taken."""
        await self._do(lambda: self._engine.remove(key, holder))

    async def count(self, key: str, per_minute: int) -> float | None:
        """Count a request: `None` if it is admitted, else the seconds until one will be."""
        return await self._do(lambda: self._engine.count(key, per_minute))

    def publish(self, kind: str, *params: Any) -> None:
        """Send the other replicas a message, in the background and in order: ids and digests, no content."""
        sealed = self._seal.seal(_MESSAGE, compact_bytes([self._own, kind, *params]))
        message = base64.b64encode(sealed).decode()
        if len(message) > MAX_STATE_MESSAGE:
            return
        if len(self._unsent) >= MAX_UNSENT_MESSAGES:
            if not self._is_slow:
                logger.warning("the state at %s is too slow: messages to other replicas are dropped", self.url.shown)
            self._is_slow = True
            return
        self._unsent.append(message)
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send())

    def on(self, kind: str, handler: Callable[..., None]) -> None:
        """Call it with the params of each message of a kind."""
        self._handlers[kind] = handler

    def listen(self, on_connected: Callable[[], None]) -> None:
        """Receive messages until it is closed, after each connection; a second call changes nothing."""
        if self._listening is None:
            self._listening = asyncio.create_task(self._listen(on_connected))

    @property
    def is_listening(self) -> bool:
        return self._listening is not None

    async def close(self) -> None:
        """Close it once what is under way has ended: what comes later is refused, and opens no connection."""
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.wait({self._listening})
        if self._sending is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(STATE_ANSWER_S):
                    await self._sending
        self._is_closed = True
        if self._under_way:
            await asyncio.wait(self._under_way)
        with suppress(*self._engine.failures, OSError):
            await self._engine.close()

    async def _do(self, work: Callable[[], Awaitable[_T]]) -> _T:
        if self._is_closed:
            raise self._unavailable("closed")
        ended = asyncio.get_running_loop().create_future()
        self._under_way.add(ended)
        try:
            return await self._answer_of(work)
        finally:
            self._under_way.discard(ended)
            ended.set_result(None)

    async def _answer_of(self, work: Callable[[], Awaitable[_T]]) -> _T:
        if finds_out := self._problem is not None:
            if monotonic() < self._retry_at:
                raise self._unavailable(self._problem)
            # Only one at a time finds out whether it is back.
            self._retry_at = monotonic() + STATE_ANSWER_S
        try:
            async with asyncio.timeout(STATE_ANSWER_S):
                result = await work()
        except self._engine.refusals as error:
            self._on_answered()
            if self._refusal is None:
                logger.warning("the state at %s refuses: %s", self.url.shown, type(error).__name__)
            self._refusal = type(error).__name__
            raise self._unavailable(self._refusal) from None
        except (*self._engine.failures, OSError) as error:
            self._on_failed(error)
            raise self._unavailable(type(error).__name__) from None
        except asyncio.CancelledError:
            if finds_out:
                # The next one finds out.
                self._retry_at = monotonic()
            raise
        self._on_answered()
        return result

    def _unavailable(self, reason: str) -> StateUnavailable:
        return StateUnavailable(f"the state at {self.url.shown} is not available ({reason}): try again later")

    def _on_failed(self, error: Exception) -> None:
        # The text of an error may hold the URL with its password.
        reason = type(error).__name__
        if self._problem is None:
            logger.warning("the state at %s is not available: %s", self.url.shown, reason)
        self._problem, self._retry_at = reason, monotonic() + STATE_RETRY_S

    def _on_answered(self) -> None:
        if self._problem is not None:
            logger.warning("the state at %s is available again", self.url.shown)
            self._problem = None

    async def _send(self) -> None:
        while self._unsent:
            try:
                await self._do(partial(self._engine.publish, self._unsent[0]))
            except StateUnavailable:
                # Others may stay connected to a store that hangs, and then miss what was not sent.
                await asyncio.sleep(STATE_RETRY_S)
            else:
                self._unsent.popleft()
        self._is_slow = False

    async def _listen(self, on_connected: Callable[[], None]) -> None:
        while True:
            try:
                async for message in self._engine.messages():
                    if message is None:
                        self._on_answered()
                        on_connected()
                    else:
                        self._receive(message)
            except Exception as error:  # noqa: BLE001 - whatever goes wrong, messages are received again
                self._on_failed(error)
            await asyncio.sleep(STATE_RETRY_S)

    def _receive(self, message: str) -> None:
        try:
            opened = self._seal.unseal(_MESSAGE, base64.b64decode(message))
            sender, kind, *params = json.loads(opened or b"[]")
            if sender != self._own and kind in self._handlers:
                self._handlers[kind](*params)
        except (ValueError, TypeError, RecursionError):
            # Of replicas with other keys, or of another version.
            return


def _engine(url: StateUrl) -> RedisEngine:
    """The store at a URL, which is not connected yet; LouverError if its client is missing."""
    # Lazy import: only shared state needs it.
    try:
        from louver.team.state.redis_engine import RedisEngine
    except ImportError:
        raise LouverError(f"state on Redis or Valkey needs the extra 'redis': {with_extra('redis')}") from None
    try:
        return RedisEngine(url.text)
    except (ValueError, TypeError):
        # Its text may hold a part of the URL.
        raise LouverError(f"the state at {url.shown} has a parameter that its client does not take") from None
