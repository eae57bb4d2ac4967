"""One event stream of an HTTP upstream, which may go on over several responses.

    data: {notification}    delivered before the next event is read
    data: {request}         answered in the background
    data: {answer}          the answer to the request of the stream

`id` and `retry` set after which event and when the stream can be resumed. Other data is counted and dropped.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from louver.errors import UpstreamError, UpstreamUnavailable
from louver.http1.sse import SseDecoder
from louver.limits import MAX_READ_ON_LOOP, MAX_UPSTREAM_RETRY_SECONDS
from louver.wire.jsonrpc import codec

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from louver.concurrency.budget import Tally, Turnstile
    from louver.gateway.back.transports.endpoint import Endpoint
    from louver.gateway.back.transports.server_requests import ServerRequests
    from louver.http1.connection import Response
    from louver.http1.sse import SseEvent
    from louver.wire.jsonrpc.codec import Message, Params

MAX_LINES_A_TURN = 1000
MAX_EVENTS_A_TURN = 4
"""Lines and events of an upstream's stream that are read before other tasks have a turn: some 0.5 ms each, or fewer
that have `MAX_READ_ON_LOOP` bytes together, since those can take 100 ms."""

UPSTREAM_RETRY_SECONDS = 1.0
"""When a broken stream is resumed, unless the upstream says otherwise."""


EVENT_STREAM: Final = "text/event-stream"


class EventStream:
    def __init__(
        self,
        request_id: int | None,  # the id of its request; `None` for the session's own stream
        on_notification: Callable[[str, Params], Awaitable[None]],
        server_requests: ServerRequests,
        stray_messages: Tally,
        turnstile: Turnstile,  # shared by all streams of the upstream
    ) -> None:
        self.last_event_id: str | None = None
        self.retry_s = UPSTREAM_RETRY_SECONDS
        self.event_count = 0
        self.is_answered = False  # even if the answer cannot be read
        self._request_id = request_id
        self._on_notification = on_notification
        self._server_requests = server_requests
        self._stray_messages = stray_messages
        self._turnstile = turnstile

    async def answer(self, response: Response) -> Message | None:
        """The answer to the request; `None` if the response ends without one."""
        decoder = SseDecoder()
        read_bytes = 0  # in this turn
        while (piece := await _next_piece(response)) is not None:
            for part in in_parts(piece):
                for event in decoder.feed(part):
                    self._record(event)
                    is_message = event.data and event.type == "message"
                    if is_message and (answer := await self._handle(event.data)) is not None:
                        return answer
                    read_bytes += len(event.data)
                    if self.event_count % MAX_EVENTS_A_TURN == 0 or read_bytes >= MAX_READ_ON_LOOP:
                        read_bytes = 0
                        await self._turnstile.wait()
                # A piece that was already there is not waited for: give other tasks a turn.
                await self._turnstile.wait()
        return None

    def cancel_requests(self) -> None:
        """Cancel the open requests of the upstream."""
        self._server_requests.cancel_all()

    def _record(self, event: SseEvent) -> None:
        self.event_count += 1
        self.last_event_id = self.last_event_id if event.id is None else event.id or None
        self.retry_s = self.retry_s if event.retry_s is None else event.retry_s

    async def _handle(self, data: bytes) -> Message | None:
        try:
            message = await codec.read_in_thread(data)
        except UpstreamError:
            if self._request_id is not None and codec.peek_response_id(data) == self._request_id:
                self.is_answered = True
                raise
            self._stray_messages.add("an event that is no message")
            return None
        if self._request_id is not None and is_answer(message, self._request_id):
            self.is_answered = True
            return message
        if message.method is None:
            self._stray_messages.add("an answer to no open call")
        elif message.id is not None:
            if not self._server_requests.start(message):
                self._stray_messages.add("a request that is open already, or one too many")
        elif message.method == "notifications/cancelled":
            self._server_requests.cancel(message.params)
        else:
            await self._on_notification(message.method, message.params)
        return None


def is_answer(message: Message, request_id: int) -> bool:
    """Whether a message answers a request; an error about a message that was not read has no id."""
    if message.method is not None:
        return False
    return message.id == request_id or (message.id is None and "error" in message.body)


def in_parts(piece: bytes) -> Iterator[bytes]:
    """A piece in parts of at most `MAX_LINES_A_TURN` lines: it can hold a quarter of a million."""
    has_many_lines = piece.count(b"\n") + piece.count(b"\r") > MAX_LINES_A_TURN
    size = MAX_LINES_A_TURN if has_many_lines else max(len(piece), 1)
    return (piece[start : start + size] for start in range(0, len(piece), size))


async def _next_piece(response: Response) -> bytes | None:
    """The next bytes of a stream; `None` also if its connection has broken."""
    try:
        return await response.piece()
    except UpstreamUnavailable:
        return None


async def read_session_stream(endpoint: Endpoint, stream: EventStream, on_listening: Callable[[bool], None]) -> None:
    """Read the session's own stream, and resume it when it breaks; return if the upstream has none."""
    loop = asyncio.get_running_loop()
    failures = 0
    while True:
        await endpoint.wait_not_resuming()
        before, began = stream.event_count, loop.time()
        try:
            if not await _read_once(endpoint, stream, on_listening):
                return
        except UpstreamError:
            # Not resumed: the event that was too large would come again.
            stream.last_event_id = None
        delay = min(stream.retry_s * 2**failures, MAX_UPSTREAM_RETRY_SECONDS)
        # A quiet stream that a proxy ends after a while is no failure.
        is_healthy = stream.event_count > before or loop.time() - began > MAX_UPSTREAM_RETRY_SECONDS
        failures = 0 if is_healthy else min(failures + 1, 10)
        await asyncio.sleep(delay)


async def _read_once(endpoint: Endpoint, stream: EventStream, on_listening: Callable[[bool], None]) -> bool:
    response = await endpoint.get(stream.last_event_id)
    try:
        if response.status == 200 and response.media_type == EVENT_STREAM:
            on_listening(True)
            try:
                await stream.answer(response)
            finally:
                on_listening(False)
            return True
        return response.status >= 500
    finally:
        response.close()
