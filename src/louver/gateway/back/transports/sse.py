"""The transport over the older HTTP with SSE: one stream of the upstream's messages, and a POST for each to it.

    -> GET /sse                    <- event: endpoint, data: /messages?session=5
    -> POST /messages?session=5    <- 202
                                   <- event: message, data: {"id": 7, "result": {...}}

All clients share the stream (`multiplexed.py`). A message that is refused fails its call; the end of the stream fails
them all. Source: MCP 2024-11-05, "HTTP with SSE".
"""

from __future__ import annotations

import asyncio
from collections import deque
from functools import partial
from typing import TYPE_CHECKING

import httpx2

from louver.errors import UpstreamError, UpstreamInvalidOutput, UpstreamTimeout, UpstreamUnavailable
from louver.gateway.back.transports.endpoint import refusal, send_authorized
from louver.gateway.back.transports.event_stream import EVENT_STREAM, in_parts
from louver.gateway.back.transports.multiplexed import MultiplexedTransport
from louver.http1.pool import ConnectionPool
from louver.http1.sse import SseDecoder
from louver.limits import MAX_UPSTREAM_PENDING, UPSTREAM_CONNECT_SECONDS, UPSTREAM_SEND_SECONDS
from louver.wire.jsonrpc import codec

if TYPE_CHECKING:
    import logging
    from collections.abc import Mapping

    from louver.gateway.back.transports.budgets import UpstreamBudgets
    from louver.gateway.back.transports.endpoint import Credentials
    from louver.gateway.back.transports.transport import Listener
    from louver.http1.connection import Response
    from louver.http1.sse import SseEvent


class SseTransport(MultiplexedTransport["SseChannel"]):
    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        listener: Listener,
        budgets: UpstreamBudgets | None = None,
        logger: logging.Logger | None = None,
        credentials: Credentials | None = None,  # besides the headers
    ) -> None:
        super().__init__(listener, budgets, logger)
        self._url = url
        self._headers = {name.lower(): value for name, value in (headers or {}).items()}
        self._credentials = credentials

    async def _connect(self) -> SseChannel:
        channel = SseChannel(self._url, self._headers, self._budgets, self._credentials)
        try:
            async with asyncio.timeout(UPSTREAM_CONNECT_SECONDS):
                await channel.open()
        except BaseException as error:  # cancellation must close it too
            await channel.close()
            if isinstance(error, TimeoutError):
                problem = f"the upstream has not named its endpoint in {UPSTREAM_CONNECT_SECONDS:g} s"
                raise UpstreamUnavailable(problem) from None
            raise
        return channel

    async def _write(self, message: bytes) -> None:
        try:
            async with asyncio.timeout(UPSTREAM_SEND_SECONDS), self._budgets.sends:
                await self._running.post(message)
        except TimeoutError:
            raise UpstreamTimeout(f"the upstream has not accepted a message in {UPSTREAM_SEND_SECONDS:g} s") from None

    def _cancel(self, request_id: int) -> None:
        self._tasks.start(self._send_cancellation(request_id))

    async def _send_cancellation(self, request_id: int) -> None:
        try:
            await self._write(codec.notification("notifications/cancelled", {"requestId": request_id}))
        except UpstreamError as error:
            self._unsent.add(f"a cancellation: {error}")


class SseChannel:
    """The stream and the endpoint of one connection."""

    def __init__(
        self, url: str, headers: Mapping[str, str], budgets: UpstreamBudgets, credentials: Credentials | None
    ) -> None:
        self._url = url
        self._headers = headers
        self._budgets = budgets
        self._credentials = credentials
        self._pools: list[ConnectionPool] = []
        self._stream: Response | None = None
        self._decoder = SseDecoder()
        self._events: deque[SseEvent] = deque()
        self._undelivered_bytes = 0
        self._has_room = asyncio.Event()
        self._has_room.set()

    async def open(self) -> None:
        """Open the stream, and wait for the endpoint that it names."""
        self._stream = await self._request(self._pool(self._url), "GET", {"accept": EVENT_STREAM})
        if self._stream.status != 200:
            raise await refusal(self._stream)
        if self._stream.media_type != EVENT_STREAM:
            raise UpstreamInvalidOutput("the upstream answers with no stream of events")
        while (event := await self._next_event()).type != "endpoint":
            pass
        self._pool(_endpoint(self._url, event.data.decode("utf-8", "replace")))

    async def post(self, message: bytes) -> None:
        response = await self._request(self._pools[-1], "POST", {"content-type": "application/json"}, message)
        if response.status >= 300:
            try:
                raise await refusal(response)
            finally:
                response.close()
        await response.finish()

    async def line(self) -> bytes:
        """The next message; raises after the last one."""
        await self._has_room.wait()
        while (event := await self._next_event()).type != "message" or not event.data:
            pass
        self._undelivered_bytes += len(event.data)
        if self._undelivered_bytes > MAX_UPSTREAM_PENDING:
            self._has_room.clear()
        return event.data

    def release(self, line_bytes: int) -> None:
        """A message of this size has been delivered: make room for another one."""
        self._undelivered_bytes -= line_bytes
        if self._undelivered_bytes <= MAX_UPSTREAM_PENDING // 2:
            self._has_room.set()

    async def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
        for pool in self._pools:
            await pool.close()

    async def _next_event(self) -> SseEvent:
        assert self._stream is not None, "it is open"
        while not self._events:
            if (piece := await self._stream.piece()) is None:
                raise UpstreamUnavailable("the upstream has ended its stream")
            for part in in_parts(piece):
                self._events.extend(self._decoder.feed(part))
                await self._budgets.turnstile.wait()
        return self._events.popleft()

    def _pool(self, url: str) -> ConnectionPool:
        pool = ConnectionPool(url, self._budgets.connections, self._budgets.idle, self._budgets.turnstile)
        self._pools.append(pool)
        return pool

    async def _request(
        self, pool: ConnectionPool, verb: str, headers: Mapping[str, str], content: bytes = b""
    ) -> Response:
        send = partial(pool.request, verb, body=content)
        if self._credentials is None:
            return await send({**self._headers, **headers})
        return await send_authorized(self._credentials, lambda sent: send({**self._headers, **sent, **headers}))


def _endpoint(stream: str, named: str) -> str:
    """The URL of the endpoint that a stream names; the credentials are for the origin of the stream alone."""
    try:
        base = httpx2.URL(stream)
        url = base.join(named)
    except (httpx2.InvalidURL, ValueError):
        raise UpstreamInvalidOutput("the upstream names an endpoint that is no URL") from None
    if (url.scheme, url.host, url.port) != (base.scheme, base.host, base.port):
        raise UpstreamInvalidOutput("the upstream names an endpoint at another origin")
    return str(url)
