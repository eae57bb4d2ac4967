"""One call over HTTP: a POST and its answer, which is JSON or on an event stream (`event_stream.py`).

    -> POST {"id": 3, "method": "tools/call", ...}
    <- 200 {"id": 3, "result": {...}}                  or events, among them {"id": 3, "result": {...}}
    <- id: 7, retry: 500, and the stream ends          2025: resumed by a GET after that time

If a stream ends without an answer and cannot be resumed, the upstream may still work on the request.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from louver.errors import UpstreamError, UpstreamInvalidOutput, UpstreamUnavailable
from louver.jsonrpc import codec
from louver.limits import MAX_RESUMPTIONS

if TYPE_CHECKING:
    from louver.concurrency.background import BackgroundTasks
    from louver.gateway.transports.endpoint import Endpoint
    from louver.gateway.transports.event_stream import EventStream
    from louver.gateway.transports.response import Response
    from louver.gateway.transports.transport import Call
    from louver.jsonrpc.codec import Message


class Exchange:
    def __init__(
        self, endpoint: Endpoint, request_id: int, call: Call, stream: EventStream, tasks: BackgroundTasks
    ) -> None:
        self.ended = False  # the upstream does not work on it any more, as far as is known
        self._is_streamed = False
        self._endpoint = endpoint
        self._request_id = request_id
        self._call = call
        self._stream = stream
        self._tasks = tasks

    async def result(self) -> dict[str, Any]:
        try:
            answer = await self._post()
            if answer is None:
                with self._endpoint.resuming():
                    answer = await self._resume()
        except UpstreamError as error:
            error.goes_on = error.goes_on or (self._is_streamed and not self._stream.is_answered)
            self.ended = not error.goes_on
            raise
        self.ended = True
        return answer.result()

    async def _post(self) -> Message | None:
        call = self._call
        request = codec.request(self._request_id, call.method, call.params)
        response = await self._endpoint.post(request, call.method, call.params, call.headers)
        self.ended = response.status != 200
        self._is_streamed = not self.ended and response.is_stream
        return await self._read_answer(response)

    async def _resume(self) -> Message:
        stream = self._stream
        attempts_left = MAX_RESUMPTIONS
        while attempts_left and stream.last_event_id is not None and not self._endpoint.is_modern:
            await self._call.on_pause()
            await asyncio.sleep(stream.retry_s)
            before = stream.event_count
            try:
                answer = await self._read_answer(await self._endpoint.get(stream.last_event_id))
            except UpstreamUnavailable as error:
                if "status" in error.fields:
                    raise
                answer = None
            if answer is not None:
                return answer
            attempts_left = MAX_RESUMPTIONS if stream.event_count > before else attempts_left - 1
        raise UpstreamUnavailable("the upstream's stream has ended without an answer")

    async def _read_answer(self, response: Response) -> Message | None:
        try:
            if response.status != 200:
                raise await response.refusal()
            if not response.is_stream:
                return self._check_answer(await response.message())
            answer = await self._stream.answer(response)
        except BaseException:  # cancellation must close the response too
            response.close()
            raise
        # Its connection can be reused once its end is read; the answer does not wait for that.
        self._tasks.start(response.finish())
        return answer

    def _check_answer(self, message: Message) -> Message:
        if not self._stream.is_answer(message):
            raise UpstreamInvalidOutput("the upstream answers another request than it was sent")
        return message
