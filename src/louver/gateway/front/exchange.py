"""One HTTP request and its response, over ASGI.

application/json     the whole response
text/event-stream    events, one for each message, until the last
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from starlette.requests import ClientDisconnect

from louver.gateway.front.respond import on_one_line
from louver.limits import MAX_CLIENT_LINE
from louver.steps.call_record import CallRecord
from louver.steps.request import ANONYMOUS
from louver.steps.telemetry import metrics
from louver.wire.jsonrpc.codec import error_response
from louver.wire.jsonrpc.errors import INTERNAL_ERROR, INVALID_REQUEST, JsonRpcError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.types import Receive, Scope, Send

    from louver.concurrency.budget import BudgetByKey
    from louver.steps.request import Identity

    Header = tuple[bytes, bytes]

RETRY_LATER_S = 1
"""When a client that is over its budget should try again, in whole seconds."""


IDENTITY: Final = "louver.identity"
"""The entry of the ASGI scope with the identity of the caller, where clients need tokens."""

FORWARDED_HEADER: Final = "louver-forwarded"
"""Marks a request that another replica has passed on; it is not passed on again."""

_STREAM: Final = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"connection", b"keep-alive"),
    (b"x-accel-buffering", b"no"),
)
_JSON: Final = (b"content-type", b"application/json")
_RETRY_LATER: Final = (b"retry-after", b"%d" % RETRY_LATER_S)
_TEXT: Final = (b"content-type", b"text/plain; charset=utf-8")


class TooManyUnfinished(Exception): ...


class HttpExchange:
    def __init__(self, scope: Scope, receive: Receive, send: Send, headers: Mapping[str, str]) -> None:
        self.method: str = scope["method"]
        self.headers = headers
        self.identity: Identity = scope.get(IDENTITY, ANONYMOUS)
        client: tuple[str, int] | None = scope.get("client")
        self.address = "none" if client is None else client[0]
        self.peer = self.identity.peer(self.address)
        self.receive = receive
        self.scope = scope
        self.record = CallRecord()  # of the request that it brings
        self.size = 0  # of the body that was read, in bytes
        self.is_stream = False
        self.has_ended = False
        self.raw_headers: Sequence[Header] = scope["headers"]
        self._send = send

    def accepts(self, media_type: str) -> bool:
        """Whether the client accepts it, by name or by a wildcard; other parameters of `Accept` do not matter."""
        accept = self.headers.get("accept", "")
        wildcards = (media_type, f"{media_type.partition('/')[0]}/*", "*/*")
        return any(each.partition(";")[0].strip().lower() in wildcards for each in accept.split(","))

    @property
    def accepts_both(self) -> bool:
        """Whether the response may be JSON as well as a stream."""
        return self.accepts("application/json") and self.accepts("text/event-stream")

    def repeated(self, names: Sequence[str], prefix: str) -> str | None:
        """A header that stands more than once, of those that may not."""
        if len(self.headers) == len(self.raw_headers):
            return None
        seen: set[bytes] = set()
        for name, _ in self.raw_headers:
            text = name.decode("latin-1").lower()
            if name in seen and (text in names or text.startswith(prefix)):
                return text
            seen.add(name)
        return None

    async def body(self, budget: BudgetByKey) -> bytes | None:
        """The body; None if it is over `MAX_CLIENT_LINE` bytes. ClientDisconnect if it does not arrive.

        TooManyUnfinished if the client's unfinished bodies have too many bytes.
        """
        length = self.headers.get("content-length", "")
        if length.isascii() and length.isdigit() and (len(length) > 9 or int(length) > MAX_CLIENT_LINE):
            return None
        body, counted = bytearray(), 0
        try:
            while True:
                message = await self.receive()
                if message["type"] == "http.disconnect":
                    raise ClientDisconnect
                body += message.get("body", b"")
                if len(body) > MAX_CLIENT_LINE:
                    return None
                if not message.get("more_body"):
                    return bytes(body)
                if not budget.take(self.peer, len(body) - counted):
                    raise TooManyUnfinished
                counted = len(body)
        finally:
            if counted:
                budget.give_back(self.peer, counted)

    async def left(self) -> None:
        """Wait until the client disconnects."""
        while (await self.receive())["type"] != "http.disconnect":
            pass

    async def respond(self, status: int, body: bytes, *headers: Header) -> None:
        """Send the whole response, as JSON."""
        await self._respond(status, body, _JSON, *headers)

    async def respond_text(self, status: int, text: str = "", *headers: Header) -> None:
        await self._respond(status, text.encode(), *((_TEXT,) if text else ()), *headers)

    async def respond_as(self, media_type: bytes, body: bytes, *headers: Header, status: int = 200) -> None:
        await self._respond(status, body, (b"content-type", media_type), *headers)

    async def refuse(self, status: int, message: str, *headers: Header, code: int = INVALID_REQUEST) -> None:
        """Send an error that belongs to no request."""
        await self.respond(status, error_response(None, JsonRpcError(code, message)), *headers)

    async def refuse_for_now(self, status: int, message: str, *headers: Header) -> None:
        """Refuse what may be served later."""
        if (found := metrics()) is not None:
            found.count_refusal(status)
        await self.refuse(status, message, _RETRY_LATER, *headers, code=INTERNAL_ERROR)

    async def start_stream(self, *headers: Header) -> None:
        self.is_stream = True
        await self.start(200, [*_STREAM, *headers])

    async def start(self, status: int, headers: Sequence[Header]) -> None:
        await self._send({"type": "http.response.start", "status": status, "headers": [*headers]})

    async def write(self, part: bytes) -> None:
        """Send a part of the stream."""
        if not self.has_ended:
            await self._send({"type": "http.response.body", "body": part, "more_body": True})

    async def end(self, part: bytes = b"") -> None:
        if not self.has_ended:
            self.has_ended = True
            await self._send({"type": "http.response.body", "body": part})

    async def _respond(self, status: int, body: bytes, *headers: Header) -> None:
        await self.start(status, [(b"content-length", b"%d" % len(body)), *headers])
        await self.end(body)


PING: Final = b": ping\r\n\r\n"


def event(message: bytes, event_id: str = "") -> bytes:
    """A message as an event."""
    data = b"event: message\r\ndata: " + on_one_line(message) + b"\r\n\r\n"
    return b"id: %s\r\n%s" % (event_id.encode(), data) if event_id else data


def folded(headers: tuple[Header, ...]) -> Mapping[str, str]:
    """The headers by name; of a repeated one, the first."""
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in reversed(headers)}
