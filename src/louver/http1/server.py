"""The HTTP/1.1 server: uvicorn's h11 protocol, with a fast path for plain requests.

One plain request at a time is read without h11. After anything else, such as a pipelined request, h11 reads the rest
of the connection. Head and body of a response are one write, since writing is slow. An incomplete request, and a
connection over the limit, are closed. uvicorn's httptools protocol is not used: it takes trailers for headers, ignores
the body of an upgrade request, accepts requests without a host, and reads pipelined requests without a bound.
"""

from __future__ import annotations

import asyncio
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, cast

import h11
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol, RequestResponseCycle

from louver.http1.fast_heads import PlainHeads, plain_request
from louver.limits import CLIENT_SILENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterable

    from uvicorn._types import ASGIReceiveEvent, ASGISendEvent

    from louver.http1.fast_heads import PlainHead


# Bytes that are sent without waiting for more: the size at which asyncio pauses a writer.
_AT_ONCE: Final = 64 * 1024

# States of a client that has not sent a whole request.
_UNFINISHED: Final = (h11.IDLE, h11.SEND_BODY)


class Front(H11Protocol):
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._together = Together(transport)
        self._heads = PlainHeads(plain_request)
        self._is_plain = True
        self._missing = 0
        self._ahead = b""
        super().connection_made(self._together)  # type: ignore[arg-type]
        if self.limit_concurrency is not None and len(self.connections) >= self.limit_concurrency:
            # It does not count: uvicorn would refuse requests of the clients that are connected.
            self.connections.discard(self)
            self.logger.warning("a client is sent away: %d are connected", len(self.connections))
            self._together.close()
        else:
            self._expect_more()

    def data_received(self, data: bytes) -> None:
        if not self._is_plain:
            self._leave_plain(data)
            return
        if self._missing:
            # The rest of an answered request does not keep the connection from being idle.
            data = self._read_body(data)
        if not data:
            return
        if self.cycle and not self.cycle.response_complete:
            self._ahead += data
            if len(self._ahead) > HIGH_WATER_LIMIT:
                self.flow.pause_reading()
        elif (head := self._plain(data)) is not None:
            self._begin(head)
            self._read_body(data[head.end :])
        else:
            self._leave_plain(data)

    def on_response_complete(self) -> None:
        self._together.flush()
        super().on_response_complete()
        if self.transport.is_closing():
            return
        if self._ahead:
            self._leave_plain(self._ahead)
        elif not self.cycle.response_complete and self.conn.their_state is h11.SEND_BODY:
            # The next request has arrived only in part.
            self._expect_more()

    def _plain(self, data: bytes) -> PlainHead | None:
        """The head of a plain request with a small body, if no more than the request has arrived."""
        head = self._heads.read(data)
        if head is None or head.length > HIGH_WATER_LIMIT or len(data) - head.end > head.length:
            return None
        return head

    def _expect_more(self) -> None:
        """Close the connection unless more data arrives in time."""
        self._unset_keepalive_if_required()
        self.timeout_keep_alive_task = self.loop.call_later(CLIENT_SILENCE_S, self._together.close)

    def _begin(self, head: PlainHead) -> None:
        self._unset_keepalive_if_required()
        self._missing = head.length
        scope: Any = {
            "type": "http",
            "asgi": {"version": self.config.asgi_version, "spec_version": "2.3"},
            "http_version": "1.1",
            "server": self.server,
            "client": self.client,
            "scheme": self.scheme,
            "method": "POST",
            "root_path": "",
            "path": head.target.decode("ascii"),
            "raw_path": head.target,
            "query_string": b"",
            "headers": list(head.fields.items()),
            "state": self.app_state.copy(),
        }
        cycle = self.cycle = PlainCycle(
            scope=scope,
            conn=self.conn,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=self.access_log,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            on_response=self.on_response_complete,
        )
        app = cast("Any", self.app)  # pyright: ignore[reportUnknownMemberType]
        task = self.loop.create_task(cycle.run_asgi(app))
        task.add_done_callback(self.tasks.discard)
        self.tasks.add(task)

    def _read_body(self, data: bytes) -> bytes:
        """Take in bytes of the body, and return the rest."""
        body, rest = data[: self._missing], data[self._missing :]
        self._missing -= len(body)
        self.cycle.body += body
        if self.cycle.response_complete:
            return rest
        if self._missing:
            self._expect_more()
        else:
            self._unset_keepalive_if_required()
            self.cycle.more_body = False
            self.cycle.message_event.set()
        return rest

    def _leave_plain(self, data: bytes) -> None:
        """Let h11 read from here on."""
        self._is_plain, self._ahead = False, b""
        try:
            super().data_received(data)
            if self.conn.their_state in _UNFINISHED:
                self._expect_more()
        finally:
            # uvicorn may write a refusal and then fail: asyncio ends the connection at once.
            self._together.flush()


class Together:
    """A transport for uvicorn that joins writes; they are sent on `flush`, at the latest in the loop's next turn."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self.get_extra_info = transport.get_extra_info
        self.is_closing = transport.is_closing
        self.pause_reading = transport.pause_reading
        self.resume_reading = transport.resume_reading
        self._transport = transport
        self._parts: list[Any] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        if not data:
            return
        if not self._parts:
            asyncio.get_running_loop().call_soon(self.flush)
        self._parts.append(data)
        self._size += len(data)
        if self._size > _AT_ONCE:
            self.flush()

    def writelines(self, parts: Iterable[bytes]) -> None:
        self._parts += parts
        self.flush()

    def close(self) -> None:
        """Flush and close; abort if the client does not read."""
        self.flush()
        self._transport.close()
        self._give_up_later()

    def _give_up_later(self) -> None:
        if unread := self._transport.get_write_buffer_size():
            asyncio.get_running_loop().call_later(CLIENT_SILENCE_S, self._give_up, unread)

    def _give_up(self, before: int) -> None:
        if self._transport.get_write_buffer_size() < before:
            self._give_up_later()
        else:
            self._transport.abort()

    def flush(self) -> None:
        if self._parts:
            parts, self._parts, self._size = self._parts, [], 0
            # Not `writelines`: from Python 3.12 on it does not pause a writer.
            self._transport.write(b"".join(parts))


class PlainCycle(RequestResponseCycle):
    """One plain POST with a small body, and its response."""

    # Bytes that the body still needs; `None` if it is chunked.
    _left: int | None = None

    # Sent with the first part of the body. A chunked body may take long: its head is sent at once.
    _head = b""

    async def receive(self) -> ASGIReceiveEvent:
        """The body of the request, or its disconnect. Unlike with h11, reading does not wait for this."""
        if not self.disconnected and not self.response_complete:
            await self.message_event.wait()
            self.message_event.clear()
        if self.disconnected or self.response_complete:
            return {"type": "http.disconnect"}
        body, self.body = self.body, bytearray()
        return {"type": "http.request", "body": bytes(body), "more_body": self.more_body}

    async def send(self, message: ASGISendEvent) -> None:
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            return
        if message["type"] == "http.response.start" and not self.response_started:
            self._send_head(message["status"], message.get("headers", ()))
        elif message["type"] == "http.response.body" and self.response_started and not self.response_complete:
            self._send_body(message.get("body", b""), is_last=not message.get("more_body", False))
        else:
            raise RuntimeError(f"{message['type']} is not what comes next of an answer")

    def _send_head(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        if status < 200:
            raise RuntimeError("an answer has a status from 200 on")
        lines = [b"HTTP/1.1 %d %s\r\n" % (status, STATUS_PHRASES[status])]
        length = connection = None
        for name, value in (*self.default_headers, *headers):
            known = name.lower()
            if known == b"transfer-encoding":
                continue  # the server sets it
            if known == b"connection":
                connection = value
                continue
            if known == b"content-length":
                if length is not None or not value.isdigit():
                    raise RuntimeError("an answer has one length")
                length = int(value)
            lines.append(_line(name, value))
        if status in _WITHOUT_BODY:
            length = 0
        elif length is None:
            lines.append(b"transfer-encoding: chunked\r\n")
        if (connection := self._connection(connection)) is not None:
            lines.append(_line(b"connection", connection))
        lines.append(b"\r\n")
        head = b"".join(lines)
        self.response_started = True
        self._left = length
        if length is None:
            self.transport.write(head)
        else:
            self._head = head

    def _connection(self, said: bytes | None) -> bytes | None:
        """The `connection` header, if any: the application or the server may close."""
        words = [] if said is None else [word.strip() for word in said.lower().split(b",")]
        if b"close" in words:
            self.keep_alive = False
            return said
        return said if self.keep_alive else b"close"

    def _send_body(self, body: bytes, *, is_last: bool) -> None:
        if self._left is None:
            chunk = b"%x\r\n%s\r\n" % (len(body), body) if body else b""
            self.transport.write(chunk + b"0\r\n\r\n" if is_last else chunk)
        elif len(body) > self._left or (is_last and len(body) < self._left):
            raise RuntimeError("the body of the answer is not as long as its head says")
        else:
            self._left -= len(body)
            head, self._head = self._head, b""
            self.transport.writelines((head, body))
        if is_last:
            self.response_complete = True
            self.message_event.set()
            if not self.keep_alive:
                self.transport.close()
            self.on_response()


_WITHOUT_BODY: Final = (204, 304)
_VALUE: Final = rb"(?:[^\0\s]+(?:[ \t]+[^\0\s]+)*)?"
_LINE: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+: " + _VALUE + rb"\r\n")


@lru_cache
def _line(name: bytes, value: bytes) -> bytes:
    """A header line, cached: nearly all headers are those of the response before."""
    line = b"%s: %s\r\n" % (name, value)
    if _LINE.fullmatch(line) is None:
        raise RuntimeError("a header of the answer is none of HTTP")
    return line
