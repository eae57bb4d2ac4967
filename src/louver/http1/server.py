"""An HTTP/1.1 server protocol for `uvicorn.Config(http=...)`: one request at a time, with deadlines.

Plain POST requests are parsed here, all others by h11; head and body of a response leave in one write. Requests that
arrive early wait, and past a bound the client is not read from. A connection is closed if a head, a body or the reading
of a response takes too long, and if it is idle while a new client finds no place. httptools is unsuitable here: it
accepts trailers as headers, upgrade requests without their body, and requests without a host.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import Counter
from functools import lru_cache
from heapq import nsmallest
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import unquote

import h11

from louver.concurrency.budget import BudgetByKey
from louver.http1.fast_heads import PlainHeads, plain_request
from louver.limits import MAX_HTTP_HEAD, MAX_PEER_UNREAD_BYTES

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, MutableMapping

    from uvicorn import Config
    from uvicorn.server import ServerState

    Message = MutableMapping[str, Any]
    App = Callable[[Any, Any, Any], Awaitable[None]]

EVICTED_SHARE = 64
"""One in so many connections of clients is closed if it is idle and a burst finds no room: looking takes long."""

CLIENT_SILENCE_S = 30.0
"""How long the head of a request may take, a body may pause, and a response may go unread, in seconds; then the
connection is closed."""

MIN_BODY_RATE = 1024
"""Slowest body of a client after `CLIENT_SILENCE_S`, in bytes a second: a modem is faster, and Apache asks for 500."""

MAX_SMALL_CHUNKS = 1000
MIN_CHUNK_BYTES = 64
"""Chunks of a client's body; further ones have at least so many bytes on average. Each takes some 5 µs to read."""


logger = logging.getLogger(__name__)

# Bytes that are sent without waiting for more: asyncio's high-water mark.
_MAX_BUFFERED: Final = 64 * 1024

# Bytes that may wait for the application before reading from the client pauses.
_MOST_WAITING: Final = 64 * 1024

_REFUSAL: Final = (
    b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: 30\r\n"
    b"connection: close\r\n\r\nInvalid HTTP request received."
)


class PlainFirstProtocol(asyncio.Protocol):
    """The protocol of one connection."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        unread: BudgetByKey | None = None,  # bytes by address, for all connections
        **_: Any,
    ) -> None:
        self.tasks = server_state.tasks
        self.cycle: Cycle | None = None
        self.timeout_task: asyncio.TimerHandle | None = None
        self._config = config
        self._app: App = cast("Any", config).loaded_app
        self._state = server_state
        self._app_state = app_state
        self._loop = asyncio.get_running_loop()
        self._heads = PlainHeads(plain_request)
        # Missing bytes of a plain request's body, the parser of any other request, and bytes after it.
        self._body_left = 0
        self._parser: h11.Connection | None = None
        # The chunks of that request's body, and the bytes in them.
        self._chunks = self._chunked = 0
        self._pipelined = b""
        self.is_paused = False
        self.writable = asyncio.Event()
        self.writable.set()
        self._unread_budget = BudgetByKey(MAX_PEER_UNREAD_BYTES) if unread is None else unread
        self._unread = 0
        self.idle_since = self._loop.time()
        # Whether the deadline of a head runs: further bytes of it do not renew that.
        self._awaits_head = False
        self._body_due = 0.0

    @property
    def is_idle(self) -> bool:
        """Whether no request is being answered; its head may have begun."""
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport = BufferedTransport(transport)
        self._server = _address(transport.get_extra_info("sockname"))
        self._client = _address(transport.get_extra_info("peername"))
        self.host = "" if self._client is None else self._client[0]
        connections: set[Any] = self._state.connections
        most = self._config.limit_concurrency
        if most is not None and len(connections) + 1 >= most:
            logger.warning("a client is sent away: %d are connected", len(connections))
            if not _evict_idle(connections):
                # Not registered: it must not count.
                self.transport.close()
                return
        connections.add(self)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        connections: set[Any] = self._state.connections
        connections.discard(self)
        self._expect_nothing()
        if self.cycle is not None:
            self.cycle.leave()
        self.resume_writing()

    def pause_writing(self) -> None:
        self.writable.clear()
        unread = self.transport.unread()
        if self._unread_budget.take(self.host, unread):
            self._unread = unread
            self.transport.abort_if_unread()
        else:
            logger.warning("a client is cut off: its address has not read %d bytes", self._unread_budget.limit)
            self.transport.abort()

    def resume_writing(self) -> None:
        if self._unread:
            self._unread_budget.give_back(self.host, self._unread)
            self._unread = 0
        self.writable.set()

    def data_received(self, data: bytes) -> None:
        self._pipelined += data
        self._read()

    def shutdown(self) -> None:
        """Close, after the current response if there is one."""
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()
        else:
            self.cycle.keep_alive = False

    def read_on(self) -> None:
        """Resume reading once the application has taken what was received."""
        if self.is_paused and len(self._pipelined) <= _MOST_WAITING:
            self.is_paused = False
            self.transport.resume_reading()

    def on_response(self) -> None:
        """The response is complete: go on with the next request."""
        self._state.total_requests += 1
        self.transport.flush()
        if self.transport.is_closing():
            return
        self.idle_since = self._loop.time()
        self._close_at(self.idle_since + self._config.timeout_keep_alive)
        self._read()
        self.read_on()

    # Requests

    def _read(self) -> None:
        """Parse the received bytes, up to the end of a request."""
        if self._body_left:
            self._read_body()
        elif self._parser is not None:
            self._parse(self._parser)
        while self._pipelined and self._is_free() and not self.transport.is_closing():
            head = self._heads.read(self._pipelined)
            if head is not None and head.length <= _MOST_WAITING:
                self._pipelined = self._pipelined[head.end :]
                self._body_left = head.length
                self._start_request("POST", head.target, [*head.fields.items()])
                self._read_body()
            else:
                self.cycle = None
                self._parser = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HTTP_HEAD)
                self._parse(self._parser)
        waiting = 0 if self.cycle is None or self.cycle.response_complete else len(self.cycle.body)
        if max(waiting, len(self._pipelined)) > _MOST_WAITING and not self.is_paused:
            self.is_paused = True
            self.transport.pause_reading()

    def _is_free(self) -> bool:
        """Whether the next request can be read."""
        return self.is_idle and not self._body_left and self._parser is None

    def _read_body(self) -> None:
        """Take in the body of a plain request; after the response it is dropped."""
        assert self.cycle is not None, "a body is that of a request"
        body, self._pipelined = self._pipelined[: self._body_left], self._pipelined[self._body_left :]
        self._body_left -= len(body)
        if self.cycle.response_complete:
            return
        self.cycle.body += body
        if self._body_left:
            self._expect_body(len(body))
        else:
            self._end_of_request(self.cycle)

    def _parse(self, parser: h11.Connection) -> None:
        data, self._pipelined = self._pipelined, b""
        if not data:
            return
        try:
            parser.receive_data(data)
            while (event := parser.next_event()) is not h11.NEED_DATA:
                if isinstance(event, h11.Request):
                    self._begin_parsed(event, parser)
                elif isinstance(event, h11.Data):
                    self._count_chunk(event)
                    self._take(event.data)
                elif isinstance(event, h11.EndOfMessage):
                    self._parser, self._pipelined = None, parser.trailing_data[0]
                    assert self.cycle is not None, "what ends is a request"
                    self._end_of_request(self.cycle)
                    return
        except h11.RemoteProtocolError:
            self._refuse()
            return
        if self.cycle is None:
            self._expect_head()
        else:
            self._expect_body(len(data))

    def _begin_parsed(self, request: h11.Request, parser: h11.Connection) -> None:
        headers = list(request.headers)
        names = {name for name, _ in headers}
        if request.method == b"CONNECT" or {b"content-length", b"transfer-encoding"} <= names:
            # A proxy may see the end of such a request elsewhere.
            raise h11.RemoteProtocolError("a tunnel, or two lengths")
        version = request.http_version.decode("ascii")
        cycle = self._start_request(request.method.decode("ascii"), request.target, headers, version)
        self._chunks = self._chunked = 0
        cycle.awaits_continue = parser.they_are_waiting_for_100_continue
        connection = b",".join(value for name, value in headers if name == b"connection")
        cycle.keep_alive = version == "1.1" and b"close" not in _words(connection)

    def _count_chunk(self, data: h11.Data) -> None:
        """Refuse a body in small chunks, whether or not anybody reads it."""
        self._chunks += data.chunk_start
        self._chunked += len(data.data)
        if self._chunks > MAX_SMALL_CHUNKS + self._chunked // MIN_CHUNK_BYTES:
            raise h11.RemoteProtocolError("too many small chunks")

    def _take(self, data: bytes) -> None:
        """Take in a part of the body; after the response it is dropped."""
        assert self.cycle is not None, "a body is that of a request"
        if not self.cycle.response_complete:
            self.cycle.awaits_continue = False
            self.cycle.body += data
            self.cycle.message_event.set()

    def _end_of_request(self, cycle: Cycle) -> None:
        if not cycle.response_complete:
            self._expect_nothing()
        cycle.more_body = False
        cycle.message_event.set()

    def _start_request(
        self, method: str, target: bytes, headers: list[tuple[bytes, bytes]], version: str = "1.1"
    ) -> Cycle:
        """Start the application on a request."""
        path, _, query = target.partition(b"?")
        scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": self._config.asgi_version, "spec_version": "2.3"},
            "http_version": version,
            "server": self._server,
            "client": self._client,
            "scheme": "http",
            "method": method,
            "root_path": "",
            "path": unquote(path.decode("ascii")),
            "raw_path": path,
            "query_string": query,
            "headers": headers,
            "state": self._app_state.copy(),
        }
        cycle = self.cycle = Cycle(self, scope, self._state.default_headers)
        self._awaits_head = False
        self._body_due = self._loop.time() + CLIENT_SILENCE_S
        task = self._loop.create_task(cycle.run(self._app))
        task.add_done_callback(self.tasks.discard)
        self.tasks.add(task)
        return cycle

    def _refuse(self) -> None:
        """Refuse malformed data and close the connection."""
        logger.warning("Invalid HTTP request received.")
        self._parser = None
        if self.cycle is None or not self.cycle.response_started:
            self.transport.write(_REFUSAL)
        if self.cycle is not None:
            self.cycle.leave()
        self.transport.close()

    # Deadlines

    def _expect_head(self) -> None:
        """Close the connection unless a whole head arrives in time."""
        if not self._awaits_head:
            self._awaits_head = True
            self._close_at(self._loop.time() + CLIENT_SILENCE_S)

    def _expect_body(self, received: int) -> None:
        """Close the connection if the body arrives too slowly: bytes buy time, but none for a later silence."""
        self._body_due = min(self._body_due + received / MIN_BODY_RATE, self._loop.time() + CLIENT_SILENCE_S)
        self._close_at(self._body_due)

    def _close_at(self, due: float) -> None:
        self._expect_nothing()
        self.timeout_task = self._loop.call_at(due, self.transport.close)

    def _expect_nothing(self) -> None:
        if self.timeout_task is not None:
            self.timeout_task.cancel()
            self.timeout_task = None


def _evict_idle(connections: set[PlainFirstProtocol]) -> bool:
    """Close idle connections, of the addresses that have most of them the oldest; `False` if there is none."""
    idle = [each for each in connections if each.is_idle]
    by_host = Counter(each.host for each in idle)
    # Several: looking at all of them for each client of a burst takes longer than serving it does.
    number = max(1, len(connections) // EVICTED_SHARE)
    evicted = nsmallest(number, idle, key=lambda each: (-by_host[each.host], each.idle_since))
    for each in evicted:
        # Now, not when its end is noticed: the next client of a burst needs another place.
        connections.discard(each)
        each.transport.abort()
    return bool(evicted)


def _address(name: tuple[Any, ...] | None) -> tuple[str, int] | None:
    return None if name is None else (name[0], name[1])


class BufferedTransport:
    """A transport that joins small writes: it sends on `flush`, at the latest in the event loop's next iteration."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self.is_closing = transport.is_closing
        self.pause_reading = transport.pause_reading
        self.resume_reading = transport.resume_reading
        self.abort = transport.abort
        self.unread = transport.get_write_buffer_size  # bytes that were sent, but for those still in parts
        self._transport = transport
        self._parts: list[Any] = []
        self._size = 0
        self._written = 0  # bytes in all
        self._stall_timer: asyncio.TimerHandle | None = None

    def write(self, data: bytes) -> None:
        if not data:
            return
        if not self._parts:
            asyncio.get_running_loop().call_soon(self.flush)
        self._parts.append(data)
        self._size += len(data)
        if self._size > _MAX_BUFFERED:
            self.flush()

    def writelines(self, parts: Iterable[bytes]) -> None:
        """Send these now, after earlier writes."""
        self._parts += parts
        self.flush()

    def close(self) -> None:
        """Flush and close; a client that does not read is cut off after a while."""
        self.flush()
        self._transport.close()
        self.abort_if_unread()

    def abort_if_unread(self) -> None:
        """Abort once the client has read nothing for `CLIENT_SILENCE_S`, until it has read everything."""
        if self._stall_timer is None and (unread := self.unread()):
            check = self._abort_if_stalled
            self._stall_timer = asyncio.get_running_loop().call_later(CLIENT_SILENCE_S, check, self._written - unread)

    def _abort_if_stalled(self, read_before: int) -> None:
        """Abort if the client has read nothing meanwhile."""
        self._stall_timer = None
        unread = self.unread()
        if unread and self._written - unread == read_before:
            self._transport.abort()
        else:
            self.abort_if_unread()

    def flush(self) -> None:
        if self._parts:
            parts, self._parts, self._size = self._parts, [], 0
            data = b"".join(parts)
            self._written += len(data)
            # Not `writelines`, which from Python 3.12 on does not tell a writer to wait.
            self._transport.write(data)


class Cycle:
    """One request and its response."""

    def __init__(
        self, front: PlainFirstProtocol, scope: dict[str, Any], default_headers: list[tuple[bytes, bytes]]
    ) -> None:
        self.body = bytearray()
        self.more_body = True
        self.awaits_continue = False
        self.message_event = asyncio.Event()
        self.disconnected = self.response_started = self.response_complete = False
        self._front = front
        self._transport = front.transport
        self._scope = scope
        self._default_headers = default_headers
        self._is_old = scope["http_version"] != "1.1"
        self.keep_alive = True
        # Missing bytes of the response body; `None` for a chunked one.
        self._left: int | None = None
        # Sent with the first part of the body. The head of a chunked response, which may take long, is sent at once.
        self._head = b""

    def leave(self) -> None:
        """The client has disconnected."""
        if not self.response_complete:
            self.disconnected = True
        self.message_event.set()

    async def run(self, app: App) -> None:
        try:
            await app(self._scope, self.receive, self.send)
        except BaseException as error:  # noqa: BLE001 - the client gets a response, and other connections go on
            # By its type alone: its message may hold a value.
            logger.error("an application has failed: %s", type(error).__name__)
        else:
            if not (self.disconnected or self.response_complete):
                logger.error("an application has not answered to the end")
        if self.response_started and not self.response_complete:
            self._transport.close()
        elif not self.response_started:
            await self._fail()

    async def _fail(self) -> None:
        headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
        await self.send({"type": "http.response.start", "status": 500, "headers": headers})
        await self.send({"type": "http.response.body", "body": b"Internal Server Error"})

    async def receive(self) -> Message:
        """The next ASGI message: a part of the body, or the disconnect."""
        if self.awaits_continue and not self.response_started and not self.disconnected:
            self.awaits_continue = False
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if not self.disconnected and not self.response_complete:
            self._front.read_on()
            await self.message_event.wait()
            self.message_event.clear()
        if self.disconnected or self.response_complete:
            return {"type": "http.disconnect"}
        body, self.body = self.body, bytearray()
        return {"type": "http.request", "body": bytes(body), "more_body": self.more_body}

    async def send(self, message: Message) -> None:
        """Send an ASGI message; RuntimeError if it is invalid, or out of order."""
        if not self.disconnected and not self._front.writable.is_set():
            await self._front.writable.wait()
        if self.disconnected:
            return
        if message["type"] == "http.response.start" and not self.response_started:
            self._send_head(message["status"], message.get("headers", ()))
        elif message["type"] == "http.response.body" and self.response_started and not self.response_complete:
            self._send_body(message.get("body", b""), is_last=not message.get("more_body", False))
        else:
            raise RuntimeError(f"{message['type']} is not what comes next of an answer")

    def _send_head(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        if not 200 <= status < 600:
            raise RuntimeError("an answer has a status from 200 to 599")
        lines = [b"HTTP/1.1 %d %s\r\n" % (status, _PHRASES.get(status, b""))]
        length = connection = None
        for name, value in (*self._default_headers, *headers):
            known = name.lower()
            if known == b"transfer-encoding":
                continue  # set by this server
            if known == b"connection":
                connection = value
                continue
            if known == b"content-length":
                if length is not None or not value.isdigit():
                    raise RuntimeError("an answer has one length")
                length = int(value)
            lines.append(_header_line(name, value))
        if status in _WITHOUT_BODY:
            length = 0
        elif length is None and not self._is_old:
            lines.append(b"transfer-encoding: chunked\r\n")
        if (connection := self._connection(connection)) is not None:
            lines.append(_header_line(b"connection", connection))
        lines.append(b"\r\n")
        head = b"".join(lines)
        self.response_started = True
        self._left = length
        if length is None:
            self._transport.write(head)
        else:
            self._head = head

    def _connection(self, header: bytes | None) -> bytes | None:
        """The `connection` header, if any; the application may request `close`."""
        if header is not None and b"close" in _words(header):
            self.keep_alive = False
            return header
        if self.awaits_continue:
            # The body may never arrive.
            self.keep_alive = False
        return header if self.keep_alive else b"close"

    def _send_body(self, body: bytes, *, is_last: bool) -> None:
        head, self._head = self._head, b""
        if self._scope["method"] == "HEAD":
            self._transport.write(head)
        elif self._left is None and self._is_old:
            self._transport.write(body)
        elif self._left is None:
            chunk = b"%x\r\n%s\r\n" % (len(body), body) if body else b""
            self._transport.write(chunk + b"0\r\n\r\n" if is_last else chunk)
        elif len(body) > self._left or (is_last and len(body) < self._left):
            self._head = head
            raise RuntimeError("the body of the answer is not as long as its head says")
        else:
            self._left -= len(body)
            self._transport.writelines((head, body))
        if is_last:
            self.response_complete = True
            self.body.clear()
            self.message_event.set()
            if not self.keep_alive:
                self._transport.close()
            self._front.on_response()


_PHRASES: Final = {status.value: status.phrase.encode() for status in HTTPStatus}
_WITHOUT_BODY: Final = (204, 304)
_VALUE: Final = rb"(?:[^\0\s]+(?:[ \t]+[^\0\s]+)*)?"
_LINE: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+: " + _VALUE + rb"\r\n")


@lru_cache
def _header_line(name: bytes, value: bytes) -> bytes:
    """The bytes of a header line; most repeat from response to response."""
    line = b"%s: %s\r\n" % (name, value)
    if _LINE.fullmatch(line) is None:
        raise RuntimeError("a header of the answer is none of HTTP")
    return line


def _words(value: bytes) -> list[bytes]:
    """The items of a list header, in lower case."""
    return [word.strip() for word in value.lower().split(b",")]
