"""The event streams of a session: of a request, and of messages that belong to none."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from louver.gateway.front.exchange import PING
from louver.limits import EXPIRY_LOOK_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.concurrency.deadlines import Deadlines
    from louver.gateway.front.exchange import HttpExchange


class SseStream:
    """An event stream to a client; a silent one is pinged, so that a proxy keeps it open."""

    def __init__(self, exchange: HttpExchange, silent: Deadlines[SseStream]) -> None:
        self._exchange = exchange
        self._silent = silent
        self._expires = exchange.identity.expires
        self._ended = asyncio.Event()

    def watch(self) -> None:
        """Ping it when it is silent."""
        self._silent.set(self)

    async def write(self, part: bytes) -> None:
        await self._exchange.write(part)

    async def ping(self) -> None:
        await self._exchange.write(PING)
        if not self._ended.is_set():
            self.watch()

    async def end(self, part: bytes = b"") -> None:
        self._silent.cancel(self)
        self._ended.set()
        await self._exchange.end(part)

    async def until_ended(self) -> None:
        """Wait until it is ended, the client disconnects, or its token expires."""
        waiting = [asyncio.create_task(self._exchange.left()), asyncio.create_task(self._ended.wait())]
        is_over = False
        try:
            while not is_over:
                left_s = None if self._expires is None else self._expires - time.time()
                timeout_s = None if left_s is None else min(max(left_s, 0.0), EXPIRY_LOOK_S)
                done, _ = await asyncio.wait(waiting, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
                is_over = bool(done) or (left_s is not None and left_s <= 0)
        finally:
            for task in waiting:
                task.cancel()


class RequestStream(SseStream):
    """The stream of a request, which begins when it is needed; else its response is JSON.

    first: makes the event that begins it, if the client can resume it
    """

    def __init__(
        self,
        exchange: HttpExchange,
        silent: Deadlines[SseStream],
        header: tuple[bytes, bytes],
        first: Callable[[], bytes] | None = None,
    ) -> None:
        super().__init__(exchange, silent)
        self.has_begun = False
        self._header = header
        self._first = first
        self._beginning = asyncio.Lock()

    async def begin(self) -> None:
        """Begin it, unless it has begun."""
        # What is written next waits until it has.
        async with self._beginning:
            if not self.has_begun:
                self.has_begun = True
                self.watch()
                await self._exchange.start_stream(self._header)
                if self._first is not None:
                    await self.write(self._first())

    async def respond(self, response: bytes) -> None:
        """Send the response alone."""
        self.has_begun = True
        await self._exchange.respond(200, response, self._header)

    async def end(self, part: bytes = b"") -> None:
        await self.begin()
        await super().end(part)
