"""One event stream of an HTTP upstream, which may go on over several responses.

    data: {notification}    delivered before the next event is read
    data: {request}         answered in the background
    data: {answer}          the answer to the request of the stream

`id` and `retry` set after which event and when the stream can be resumed. Other data is counted and dropped.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from louver.errors import UpstreamError
from louver.jsonrpc import codec
from louver.limits import MAX_UPSTREAM_RETRY_SECONDS, UPSTREAM_RETRY_SECONDS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from louver.gateway.transports.endpoint import Endpoint
    from louver.gateway.transports.response import Response
    from louver.gateway.transports.server_requests import Questions, Strays
    from louver.http1.sse import Event
    from louver.jsonrpc.codec import Message, Params


class Stream:
    def __init__(
        self,
        number: int | None,  # the id of its request; `None` for the session's own stream
        heard: Callable[[str, Params], Awaitable[None]],
        questions: Questions,
        strays: Strays,
    ) -> None:
        self.last: str | None = None
        self.retry_s = UPSTREAM_RETRY_SECONDS
        self.events = 0
        self.is_answered = False  # even if the answer cannot be read
        self._number = number
        self._heard = heard
        self._questions = questions
        self._strays = strays

    async def answer(self, response: Response) -> Message | None:
        """The answer to the request; `None` if the response ends without one."""
        while (event := await response.event()) is not None:
            self._note(event)
            if event.data and event.type == "message" and (answer := await self._take(event.data)) is not None:
                return answer
        return None

    def is_answer(self, message: Message) -> bool:
        """Whether a message answers the request; an error about a message that was not read has no id."""
        if message.method is not None or self._number is None:
            return False
        return message.id == self._number or (message.id is None and "error" in message.body)

    def _note(self, event: Event) -> None:
        self.events += 1
        self.last = self.last if event.id is None else event.id or None
        self.retry_s = self.retry_s if event.retry_s is None else event.retry_s

    async def _take(self, data: bytes) -> Message | None:
        try:
            message = await codec.read_aside(data)
        except UpstreamError:
            if self._number is not None and codec.answered(data) == self._number:
                self.is_answered = True
                raise
            self._strays.add("an event that is no message")
            return None
        if self.is_answer(message):
            self.is_answered = True
            return message
        if message.method is None:
            self._strays.add("an answer that nobody waits for")
        elif message.id is not None:
            if not self._questions.put(message):
                self._strays.add("a question that is open already, or one too many")
        elif message.method == "notifications/cancelled":
            self._questions.take_back(message.params)
        else:
            await self._heard(message.method, message.params)
        return None


async def hear_session(endpoint: Endpoint, stream: Stream, is_open: Callable[[bool], None]) -> None:
    """Read the session's own stream, and resume it when it breaks; return if the upstream has none."""
    loop = asyncio.get_running_loop()
    failures = 0
    while True:
        await endpoint.nobody_resumes()
        before, began = stream.events, loop.time()
        try:
            if not await _hear_once(endpoint, stream, is_open):
                return
        except UpstreamError:
            # Not resumed: the event that was too large would come again.
            stream.last = None
        delay = min(stream.retry_s * 2**failures, MAX_UPSTREAM_RETRY_SECONDS)
        # A quiet stream that a proxy ends after a while is no failure.
        is_good = stream.events > before or loop.time() - began > MAX_UPSTREAM_RETRY_SECONDS
        failures = 0 if is_good else min(failures + 1, 10)
        await asyncio.sleep(delay)


async def _hear_once(endpoint: Endpoint, stream: Stream, is_open: Callable[[bool], None]) -> bool:
    response = await endpoint.get(stream.last)
    try:
        if response.status == 200 and response.is_stream:
            is_open(True)
            try:
                await stream.answer(response)
            finally:
                is_open(False)
            return True
        return response.status >= 500
    finally:
        response.close()
