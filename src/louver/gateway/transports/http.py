"""The transport over Streamable HTTP, one message a POST.

    -> POST {"id": 3, "method": "tools/call", ...}     a call (`exchange.py`)
    -> GET                                             2025: messages that name no call (`event_stream.py`)
    -> DELETE                                          2025: the end of the session

A broken connection or an answer that is too large fails one call; the end of the session fails them all.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

from louver.concurrency.background import Tasks
from louver.concurrency.interruptible import Interruptible
from louver.errors import UpstreamError, UpstreamUnavailable
from louver.gateway.transports.endpoint import Endpoint
from louver.gateway.transports.event_stream import Stream, hear_session
from louver.gateway.transports.exchange import Exchange
from louver.gateway.transports.server_requests import Questions, Strays
from louver.jsonrpc import codec
from louver.limits import UPSTREAM_GOODBYE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from louver.gateway.transports.transport import Call, Listener
    from louver.jsonrpc.codec import Params

_T = TypeVar("_T")

_CLOSED = "the connection is closed"


class HttpLink:
    wants_headers = True

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        listener: Listener,
        logger: logging.Logger | None = None,
    ) -> None:
        self._logger = logger or logging.getLogger("louver.upstream")
        self._endpoint = Endpoint(url, headers or {}, self._gone)
        self._listener = listener
        self._ids = count(1)
        self._open: set[Interruptible] = set()
        self._closed_for: str | None = None
        self._closing: asyncio.Task[None] | None = None
        self._tasks = Tasks(self._logger)
        self.strays = Strays(self._logger)

    async def open(self) -> None:
        """Prepare; the first call connects."""
        self._endpoint.open()

    def speak(self, version: str | None) -> None:
        self._endpoint.version = version

    async def listen(self) -> None:
        """Open the session's own stream; in 2026-07-28 `subscriptions/listen` is a call."""
        if not self._endpoint.is_modern:
            questions = Questions(self._listener.asked, self._send, self._tasks)
            stream = Stream(None, self._heard, questions, self.strays)
            self._tasks.start(hear_session(self._endpoint, stream, self._listener.listens))

    async def call(self, call: Call) -> dict[str, Any]:
        number = next(self._ids)
        questions = Questions(call.asked, self._send, self._tasks)
        stream = Stream(number, call.heard, questions, self.strays)
        exchange = Exchange(self._endpoint, number, call, stream, self._tasks)
        try:
            return await self._until_closed(exchange.result)
        finally:
            questions.drop()
            # In 2026-07-28 the end of the connection cancels a call; in 2025 it means nothing.
            is_told = exchange.ended or self._closed_for is not None or self._endpoint.is_modern
            if not is_told and call.method not in codec.NEVER_CANCELLED:
                self._tasks.start(self._cancel(number))

    async def notify(self, method: str, params: Params) -> None:
        message = codec.notification(method, params)
        response = await self._until_closed(partial(self._endpoint.post, message, method, params))
        if response.status >= 300:
            response.close()
            raise UpstreamUnavailable(
                f"the upstream does not take a notification: HTTP {response.status}", status=response.status
            )
        self._tasks.start(response.finish())

    async def close(self) -> None:
        await asyncio.shield(self._end(_CLOSED))

    def _gone(self, reason: str) -> None:
        if self._closing is None:
            self._end(reason)
            self._listener.gone(reason)

    def _end(self, reason: str) -> asyncio.Task[None]:
        if self._closing is None:
            self._closed_for = reason
            self._closing = asyncio.create_task(self._close(reason))
        return self._closing

    async def _close(self, reason: str) -> None:
        for waiting in self._open:
            waiting.interrupt(UpstreamUnavailable(reason))
        await self._tasks.close()
        await self._endpoint.close()

    async def _until_closed(self, work: Callable[[], Awaitable[_T]]) -> _T:
        """Do something that fails when the transport is closed, even while it waits for a connection."""
        if self._closed_for is not None:
            raise UpstreamUnavailable(self._closed_for)
        with Interruptible() as waiting:
            self._open.add(waiting)
            try:
                return await work()
            finally:
                self._open.discard(waiting)

    async def _send(self, answer: bytes) -> None:
        self._tasks.start((await self._endpoint.post(answer)).finish())

    async def _cancel(self, number: int) -> None:
        try:
            async with asyncio.timeout(UPSTREAM_GOODBYE_SECONDS):
                await self.notify("notifications/cancelled", {"requestId": number})
        except (TimeoutError, UpstreamError):
            self._logger.info("a cancellation has not reached the upstream")

    async def _heard(self, method: str, params: Params) -> None:
        try:
            await self._listener.heard(method, params)
        except Exception as error:  # noqa: BLE001 - the next one may be for another client
            self._logger.error("a notification could not be delivered: %s", type(error).__name__)
