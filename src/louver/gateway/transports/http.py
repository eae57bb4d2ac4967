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

from louver.concurrency.background import BackgroundTasks
from louver.concurrency.interruptible import Interruptible
from louver.errors import UpstreamError, UpstreamUnavailable
from louver.gateway.transports.endpoint import Endpoint
from louver.gateway.transports.event_stream import EventStream, read_session_stream
from louver.gateway.transports.exchange import Exchange
from louver.gateway.transports.server_requests import ServerRequests, StrayMessages
from louver.jsonrpc import codec
from louver.limits import UPSTREAM_GOODBYE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from louver.gateway.transports.transport import Call, Listener
    from louver.jsonrpc.codec import Params

_T = TypeVar("_T")

_CLOSED = "the connection is closed"


class HttpTransport:
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
        self._endpoint = Endpoint(url, headers or {}, self._on_session_lost)
        self._listener = listener
        self._ids = count(1)
        self._pending: set[Interruptible] = set()
        self._closed_reason: str | None = None
        self._closing: asyncio.Task[None] | None = None
        self._tasks = BackgroundTasks(self._logger)
        self.stray_messages = StrayMessages(self._logger)

    async def open(self) -> None:
        """Prepare; the first call connects."""
        self._endpoint.open()

    def set_version(self, version: str | None) -> None:
        self._endpoint.version = version

    async def listen(self) -> None:
        """Open the session's own stream; in 2026-07-28 `subscriptions/listen` is a call."""
        if not self._endpoint.is_modern:
            server_requests = ServerRequests(self._listener.on_request, self._send, self._tasks)
            stream = EventStream(None, self._on_notification, server_requests, self.stray_messages)
            self._tasks.start(read_session_stream(self._endpoint, stream, self._listener.on_listening))

    async def call(self, call: Call) -> dict[str, Any]:
        request_id = next(self._ids)
        server_requests = ServerRequests(call.on_request, self._send, self._tasks)
        stream = EventStream(request_id, call.on_notification, server_requests, self.stray_messages)
        exchange = Exchange(self._endpoint, request_id, call, stream, self._tasks)
        try:
            return await self._unless_closed(exchange.result)
        finally:
            server_requests.cancel_all()
            # In 2026-07-28 the end of the connection cancels a call; in 2025 it means nothing.
            is_settled = exchange.ended or self._closed_reason is not None or self._endpoint.is_modern
            if not is_settled and call.method not in codec.NEVER_CANCELLED:
                self._tasks.start(self._cancel(request_id))

    async def notify(self, method: str, params: Params) -> None:
        message = codec.notification(method, params)
        response = await self._unless_closed(partial(self._endpoint.post, message, method, params))
        if response.status >= 300:
            response.close()
            raise UpstreamUnavailable(
                f"the upstream does not take a notification: HTTP {response.status}", status=response.status
            )
        self._tasks.start(response.finish())

    async def close(self) -> None:
        await asyncio.shield(self._begin_close(_CLOSED))

    def _on_session_lost(self, reason: str) -> None:
        if self._closing is None:
            self._begin_close(reason)
            self._listener.on_closed(reason)

    def _begin_close(self, reason: str) -> asyncio.Task[None]:
        if self._closing is None:
            self._closed_reason = reason
            self._closing = asyncio.create_task(self._close(reason))
        return self._closing

    async def _close(self, reason: str) -> None:
        for waiting in self._pending:
            waiting.interrupt(UpstreamUnavailable(reason))
        await self._tasks.close()
        await self._endpoint.close()

    async def _unless_closed(self, work: Callable[[], Awaitable[_T]]) -> _T:
        """Do something that fails when the transport is closed, even while it waits for a connection."""
        if self._closed_reason is not None:
            raise UpstreamUnavailable(self._closed_reason)
        with Interruptible() as waiting:
            self._pending.add(waiting)
            try:
                return await work()
            finally:
                self._pending.discard(waiting)

    async def _send(self, answer: bytes) -> None:
        self._tasks.start((await self._endpoint.post(answer)).finish())

    async def _cancel(self, request_id: int) -> None:
        try:
            async with asyncio.timeout(UPSTREAM_GOODBYE_SECONDS):
                await self.notify("notifications/cancelled", {"requestId": request_id})
        except (TimeoutError, UpstreamError):
            self._logger.info("a cancellation has not reached the upstream")

    async def _on_notification(self, method: str, params: Params) -> None:
        try:
            await self._listener.on_notification(method, params)
        except Exception as error:  # noqa: BLE001 - the next one may be for another client
            self._logger.error("a notification could not be delivered: %s", type(error).__name__)
