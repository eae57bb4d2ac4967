"""The two kinds of connections, whatever their transport.

HandshakeConnection    2025-11-25 and earlier: opened by `initialize`, remembers its client, can ask it
StatelessConnection    2026-07-28: one request, which describes its client; it asks by its result
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import contextmanager, suppress
from itertools import count
from typing import TYPE_CHECKING, Any

from louver.concurrency.offload import Cancellation
from louver.core.json import is_object
from louver.gateway.front.respond import forward_notification, respond
from louver.steps.call_record import CallRecord
from louver.steps.request import Request
from louver.wire.jsonrpc import codec
from louver.wire.jsonrpc.codec import normalized_id
from louver.wire.jsonrpc.errors import CONNECTION_CLOSED, INVALID_REQUEST, JsonRpcError
from louver.wire.jsonrpc.inbound import is_id
from louver.wire.mcp import LATEST_HANDSHAKE_VERSION, TOOLS_CHANGED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

    from louver.steps.request import Identity, Next
    from louver.wire.jsonrpc.codec import RequestId

    Send = Callable[[bytes, RequestId | None], Awaitable[None]]  # a message, and the request whose stream it goes to

CLOSING_S = 5.0
"""How long the end of a connection may take, in seconds."""


logger = logging.getLogger(__name__)


class InFlightRequests:
    """The requests of a client that are being answered, by their id; an id that comes back as a text is the same."""

    def __init__(self) -> None:
        self._cancellations: dict[RequestId, Cancellation] = {}

    @contextmanager
    def track(self, request_id: RequestId) -> Generator[Cancellation]:
        """Within the block a request can be cancelled."""
        cancellation = self._cancellations[request_id] = Cancellation()
        try:
            yield cancellation
        finally:
            # A client may use an id twice.
            if self._cancellations.get(request_id) is cancellation:
                del self._cancellations[request_id]

    def cancel(self, request_id: object) -> bool:
        """Cancel a request; `False` if it is not being answered."""
        if not is_id(request_id):
            return False
        for each in (request_id, normalized_id(request_id), str(request_id)):
            if each in self._cancellations:
                self._cancellations[each].cancel()
                return True
        return False

    def cancel_all(self) -> None:
        for cancellation in self._cancellations.values():
            cancellation.cancel()


class StatelessConnection:
    is_open = True
    opening = None

    def __init__(self, send: Send, shared: dict[str, Any] | None = None) -> None:
        self.state: dict[str, Any] = {}
        self.shared = shared
        self._send = send

    def when_closed(self, callback: Callable[[], Awaitable[None]]) -> None:
        """Nothing: only the clients of handshakes leave."""

    async def notify(self, method: str, params: dict[str, Any] | None, request_id: RequestId | None = None) -> None:
        await self._send(codec.notification(method, params), request_id)

    async def ask(
        self, method: str, params: dict[str, Any] | None, request_id: RequestId | None = None
    ) -> dict[str, Any]:
        raise JsonRpcError(INVALID_REQUEST, f"{method!r} cannot be sent: 2026-07-28 asks by the result of a request")

    def on_tools_changed(self, callback: Callable[[], None]) -> None:
        """Nothing: this revision sends changes to subscribers only."""


class HandshakeConnection:
    shared = None

    def __init__(self, answer: Next, send: Send, tag: str = "") -> None:
        self.tag = tag  # begins the ids of its questions
        self.state: dict[str, Any] = {}
        self.opening: dict[str, Any] | None = None
        self.version = LATEST_HANDSHAKE_VERSION
        self._answer = answer
        self._send = send
        self._initialized = asyncio.Event()
        self._in_flight = InFlightRequests()
        self._questions: dict[RequestId, asyncio.Future[dict[str, Any]]] = {}
        self._question_ids = count(1)
        self._on_closed: list[Callable[[], Awaitable[None]]] = []
        self._on_tools_changed: Callable[[], None] | None = None
        self._closed: JsonRpcError | None = None

    @property
    def is_open(self) -> bool:
        return self.opening is not None

    async def respond(
        self,
        message: dict[str, Any],
        identity: Identity,
        address: str | None = None,
        pause: Callable[[], Awaitable[None]] | None = None,
        record: CallRecord | None = None,
    ) -> bytes | None:
        """The response to a request; None if the client has cancelled it."""
        params: dict[str, Any] = message.get("params") or {}
        method, request_id, record = message["method"], message["id"], record or CallRecord()
        request = Request(method, params, request_id, self.version, self, identity, address, pause, record=record)
        answer = self._answer_and_open if method == "initialize" else self._answer
        with self._in_flight.track(request_id) as cancellation:
            response = await cancellation.run(respond(answer, request))
        return None if response is None else response[0]

    async def reopen(self, params: dict[str, Any], identity: Identity, address: str | None = None) -> None:
        """Open it by the params of an `initialize` that another replica has answered."""
        await self._answer_and_open(Request("initialize", params, 0, self.version, self, identity, address))
        self._initialized.set()

    async def receive(self, message: dict[str, Any], identity: Identity, address: str | None = None) -> None:
        """Take in a notification, or the response to a question."""
        method: str | None = message.get("method")
        if method is None:
            self.resolve(message["id"], message)
            return
        params: dict[str, Any] = message.get("params") or {}
        if method == "notifications/initialized":
            self._initialized.set()
        elif method == "notifications/cancelled":
            self._in_flight.cancel(params.get("requestId"))
        request = Request(method, params, None, self.version, self, identity, address)
        await forward_notification(self._answer, request)

    def cancel(self, request_id: object) -> bool:
        """Cancel a request of the client; `False` if it is not answered here."""
        return self._in_flight.cancel(request_id)

    async def notify(self, method: str, params: dict[str, Any] | None, request_id: RequestId | None = None) -> None:
        if method == TOOLS_CHANGED and self._on_tools_changed is not None:
            self._on_tools_changed()
        await self._send(codec.notification(method, params), request_id)

    async def ask(
        self, method: str, params: dict[str, Any] | None, request_id: RequestId | None = None
    ) -> dict[str, Any]:
        if request_id is None:
            await self._initialized.wait()
        if self._closed is not None:
            raise self._closed
        number = next(self._question_ids)
        question = f"{self.tag}{number}" if self.tag else number
        answer = self._questions[question] = asyncio.get_running_loop().create_future()
        try:
            await self._send(codec.request(question, method, params), request_id)
            return await answer
        except asyncio.CancelledError:
            with suppress(Exception):  # the client may have left, and the cancellation goes first
                async with asyncio.timeout(CLOSING_S):
                    await self._send(codec.notification("notifications/cancelled", {"requestId": question}), request_id)
            raise
        finally:
            del self._questions[question]

    def resolve(self, question: RequestId, response: dict[str, Any] | JsonRpcError) -> None:
        """Give a question its response; nothing happens if nothing waits for it."""
        answer = self._questions.get(normalized_id(question))
        if answer is None or answer.done():
            return
        if isinstance(response, JsonRpcError):
            answer.set_exception(response)
        elif is_object(error := response.get("error")):
            answer.set_exception(JsonRpcError(error["code"], error["message"], error.get("data")))
        else:
            answer.set_result(response["result"])

    def when_closed(self, callback: Callable[[], Awaitable[None]]) -> None:
        self._on_closed.append(callback)

    def on_tools_changed(self, callback: Callable[[], None]) -> None:
        self._on_tools_changed = callback

    def stop_asking(self, message: str = "Connection closed") -> None:
        """Fail the open questions, and all further ones."""
        self._closed = JsonRpcError(CONNECTION_CLOSED, message)
        self._initialized.set()
        for question in list(self._questions):
            self.resolve(question, self._closed)

    async def close(self) -> None:
        """Cancel the open requests, and tell who waits for the end."""
        self.stop_asking()
        self._in_flight.cancel_all()
        callbacks, self._on_closed = self._on_closed, []
        for callback in reversed(callbacks):
            try:
                async with asyncio.timeout(CLOSING_S):
                    await callback()
            except Exception as error:  # noqa: BLE001 - the other callbacks still run
                logger.error("a connection is not closed cleanly: %s", type(error).__name__)

    async def _answer_and_open(self, request: Request) -> dict[str, Any]:
        result = await self._answer(request)
        self.opening, self.version = request.params, result["protocolVersion"]
        return result
