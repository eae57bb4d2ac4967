"""The transport over Streamable HTTP, one message a POST.

    -> POST {"id": 3, "method": "tools/call", ...}
    <- 200 {"id": 3, "result": {...}}                  or events, among them {"id": 3, "result": {...}}
    <- id: 7, retry: 500, and the stream ends          2025: resumed by a GET after that time

    -> GET                                             2025: messages that name no call (`event_stream.py`)
    -> DELETE                                          2025: the end of the session

If a stream ends without an answer and cannot be resumed, the upstream may still work on the request.
A broken connection or an answer that is too large fails one call; the end of the session fails them all.
"""

from __future__ import annotations

import asyncio
import logging
from itertools import count
from typing import TYPE_CHECKING, Any

from louver.concurrency.background import BackgroundTasks
from louver.concurrency.budget import stray_messages, unsent_messages
from louver.concurrency.deadlines import Interruptible
from louver.errors import UpstreamError, UpstreamInvalidOutput, UpstreamTimeout, UpstreamUnavailable
from louver.gateway.back.transports.budgets import UpstreamBudgets
from louver.gateway.back.transports.endpoint import CREDENTIAL_STATUSES, Endpoint, read_message, refusal
from louver.gateway.back.transports.event_stream import EVENT_STREAM, EventStream, is_answer, read_session_stream
from louver.gateway.back.transports.server_requests import ServerRequests
from louver.limits import UPSTREAM_GOODBYE_SECONDS, UPSTREAM_SEND_SECONDS
from louver.wire.jsonrpc import codec

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from louver.gateway.back.transports.endpoint import Credentials
    from louver.gateway.back.transports.transport import Call, Listener
    from louver.http1.connection import Response
    from louver.wire.jsonrpc.codec import Message, Params

MAX_RESUMPTIONS = 5
"""Attempts in a row to resume the stream of a call without a new event."""


_CLOSED = "the connection is closed"


class HttpTransport:
    wants_headers = True

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        listener: Listener,
        budgets: UpstreamBudgets | None = None,  # shared by all transports of the upstream
        logger: logging.Logger | None = None,
        credentials: Credentials | None = None,  # besides the headers
    ) -> None:
        self._logger = logger or logging.getLogger("louver.upstream")
        self._budgets = budgets or UpstreamBudgets()
        self._endpoint = Endpoint(url, headers or {}, self._budgets, self._on_session_lost, credentials)
        self._listener = listener
        self._ids = count(1)
        self._pending: set[Interruptible] = set()
        self._closed_reason: str | None = None
        self._closing: asyncio.Task[None] | None = None
        self._tasks = BackgroundTasks(self._logger)
        self.stray_messages = stray_messages(self._logger)
        self._unsent = unsent_messages(self._logger)

    @property
    def is_stateful(self) -> bool:
        return self._endpoint.has_session

    async def open(self) -> None:
        """Prepare; the first call connects."""
        self._endpoint.open()

    def set_version(self, version: str | None) -> None:
        self._endpoint.set_version(version)

    async def listen(self) -> None:
        """Open the session's own stream; in 2026-07-28 `subscriptions/listen` is a call."""
        if not self._endpoint.is_modern:
            stream = self._event_stream(None, self._on_notification, self._listener.on_request)
            self._tasks.start(read_session_stream(self._endpoint, stream, self._listener.on_listening))

    async def call(self, call: Call) -> dict[str, Any]:
        if call.block is None:
            with Interruptible() as block:
                return await self.call(call._replace(block=block))
        request_id = next(self._ids)
        message = codec.request(request_id, call.method, call.params)
        self._begin(call, call.block)
        stream: EventStream | None = None
        is_settled = False  # the upstream does not work on it any more, as far as is known
        try:
            endpoint = self._endpoint
            is_anonymous = endpoint.credentials is not None and endpoint.credentials.is_off
            response = await endpoint.post(message, call.method, call.params, call.headers, is_anonymous=is_anonymous)
            if is_anonymous and response.status in CREDENTIAL_STATUSES and await endpoint.can_authorize(response):
                response = await endpoint.post(message, call.method, call.params, call.headers)
            is_settled = response.status != 200
            if not is_settled and response.media_type == EVENT_STREAM:
                stream = self._event_stream(request_id, call.on_notification, call.on_request)
            if not is_settled and response.media_type == "application/json":
                answer = await codec.read_in_thread(await response.body())
                if answer.id != request_id or answer.method is not None:
                    _check_answer(answer, request_id)
            else:
                answer = await self._answer(response, request_id, stream)
            if answer is None:
                assert stream is not None, "only a stream ends without an answer"
                with self._endpoint.resuming():
                    answer = await self._resume(call, request_id, stream)
            is_settled = True
        except UpstreamError as error:
            error.goes_on = error.goes_on or (stream is not None and not stream.is_answered)
            is_settled = not error.goes_on
            raise
        finally:
            if stream is not None:
                stream.cancel_requests()
            # In 2026-07-28 the end of the connection cancels a call; in 2025 it means nothing.
            is_settled = is_settled or self._closed_reason is not None or self._endpoint.is_modern
            if not is_settled and call.method not in codec.NEVER_CANCELLED:
                self._tasks.start(self._cancel(request_id))
            self._end(call, call.block)
        return answer.result()

    def _begin(self, call: Call, block: Interruptible) -> None:
        if self._closed_reason is not None:
            raise UpstreamUnavailable(self._closed_reason)
        if call.peer is not None and not self._budgets.calls.take(call.peer):
            limit = self._budgets.calls.limit
            raise UpstreamUnavailable(f"one client has at most {limit} calls of the upstream at once", limit=limit)
        self._pending.add(block)

    def _end(self, call: Call, block: Interruptible) -> None:
        self._pending.discard(block)
        if call.peer is not None:
            self._budgets.calls.give_back(call.peer)

    async def _answer(self, response: Response, request_id: int, stream: EventStream | None) -> Message | None:
        """The answer in a response; `None` if that is a stream that ends without one."""
        try:
            if response.status != 200:
                raise await refusal(response)
            if stream is None or response.media_type != EVENT_STREAM:
                answer = await read_message(response)
                _check_answer(answer, request_id)
                return answer
            answer = await stream.answer(response)
        except BaseException:  # cancellation must close the response too
            response.close()
            raise
        # Its connection can be reused once its end is read; the answer does not wait for that.
        self._tasks.start(response.finish())
        return answer

    async def _resume(self, call: Call, request_id: int, stream: EventStream) -> Message:
        attempts_left = MAX_RESUMPTIONS
        while attempts_left and stream.last_event_id is not None and not self._endpoint.is_modern:
            await call.on_pause()
            await asyncio.sleep(stream.retry_s)
            before = stream.event_count
            try:
                response = await self._endpoint.get(stream.last_event_id)
                answer = await self._answer(response, request_id, stream)
            except UpstreamUnavailable as error:
                if "status" in error.fields:
                    raise
                answer = None
            if answer is not None:
                return answer
            attempts_left = MAX_RESUMPTIONS if stream.event_count > before else attempts_left - 1
        raise UpstreamUnavailable("the upstream's stream has ended without an answer")

    def _event_stream(
        self,
        request_id: int | None,
        on_notification: Callable[[str, Params], Awaitable[None]],
        on_request: Callable[[str, Params], Awaitable[dict[str, Any]]],
    ) -> EventStream:
        server_requests = ServerRequests(on_request, self._send, self._tasks, self._budgets.questions, self._unsent)
        return EventStream(request_id, on_notification, server_requests, self.stray_messages, self._budgets.turnstile)

    async def notify(self, method: str, params: Params) -> None:
        if not self._budgets.notifications.take():
            limit = self._budgets.notifications.limit
            raise UpstreamUnavailable(f"the upstream has not accepted {limit} earlier notifications", limit=limit)
        try:
            status = await self._send(codec.notification(method, params), method, params)
        finally:
            self._budgets.notifications.give_back()
        if status >= 300:
            raise UpstreamUnavailable(f"the upstream does not take a notification: HTTP {status}", status=status)

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

    async def _send(self, message: bytes, method: str | None = None, params: Params = None) -> int:
        """Send a message that has no answer, and return the HTTP status; the wait for its turn counts too."""
        if self._closed_reason is not None:
            raise UpstreamUnavailable(self._closed_reason)
        with Interruptible() as block:
            self._pending.add(block)
            try:
                async with asyncio.timeout(UPSTREAM_SEND_SECONDS), self._budgets.sends:
                    response = await self._endpoint.post(message, method, params)
                    await response.finish()
                    return response.status
            except TimeoutError:
                problem = f"the upstream has not accepted a message in {UPSTREAM_SEND_SECONDS:g} s"
                raise UpstreamTimeout(problem) from None
            finally:
                self._pending.discard(block)

    async def _cancel(self, request_id: int) -> None:
        try:
            async with asyncio.timeout(UPSTREAM_GOODBYE_SECONDS):
                await self.notify("notifications/cancelled", {"requestId": request_id})
        except TimeoutError:
            self._unsent.add("a cancellation")
        except UpstreamError as error:
            self._unsent.add(f"a cancellation: {error}")

    async def _on_notification(self, method: str, params: Params) -> None:
        try:
            await self._listener.on_notification(method, params)
        except Exception as error:  # noqa: BLE001 - the next one may be for another client
            self._logger.error("a notification could not be delivered: %s", type(error).__name__)


def _check_answer(answer: Message, request_id: int) -> None:
    if not is_answer(answer, request_id):
        raise UpstreamInvalidOutput("the upstream answers another request than it was sent")
