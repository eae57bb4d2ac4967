"""The HTTP/1.1 that clients are spoken to in: uvicorn's, by h11, but plain requests are read at once.

    -> POST /mcp HTTP/1.1, ...                  plain: no h11; what is not plain is for h11, and so is all that follows
    <- HTTP/1.1 200 OK, headers                 two messages of the application's, one write of the socket's:
    <- {"jsonrpc": "2.0", "id": 3, ...}         sending is what takes long

One request is read at a time. What comes while it is answered waits; if that is much, the client is not read from,
nor seen to go. A connection on which something is not plain, or comes ahead, is h11's from then on. One on which the
rest of a request does not come is closed, as is one more than there may be.

httptools is not asked: with it uvicorn takes the fields behind a body for headers, a request that asks for another
protocol for one without a body, and what names no host: all of which a proxy before it may see otherwise. And it reads
requests before those that came first are answered, without a bound; who runs is then not told that its client has gone.
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


_AT_ONCE: Final = 64 * 1024
"""What is sent without waiting for more, in bytes: as much as makes asyncio tell a writer to wait."""

_UNFINISHED: Final = (h11.IDLE, h11.SEND_BODY)
"""The states of a client that has not said all of a request."""


class Front(H11Protocol):
    """What speaks with one client."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The client is there."""
        self._together = Together(transport)
        self._heads = PlainHeads(plain_request)
        self._is_plain = True
        self._missing = 0
        self._ahead = b""
        super().connection_made(self._together)  # type: ignore[arg-type]
        if self.limit_concurrency is not None and len(self.connections) >= self.limit_concurrency:
            # It does not count: uvicorn would refuse those who are there.
            self.connections.discard(self)
            self.logger.warning("a client is sent away: %d are connected", len(self.connections))
            self._together.close()
        else:
            self._expect_more()

    def data_received(self, data: bytes) -> None:
        """The client has said something."""
        if not self._is_plain:
            self._leave_plain(data)
            return
        if self._missing:
            # Of a request that has been answered, the rest does not keep the connection from being idle.
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
        """All of an answer is written."""
        self._together.flush()
        super().on_response_complete()
        if self.transport.is_closing():
            return
        if self._ahead:
            self._leave_plain(self._ahead)
        elif not self.cycle.response_complete and self.conn.their_state is h11.SEND_BODY:
            # Of the next request, which came ahead, the rest has not come.
            self._expect_more()

    def _plain(self, data: bytes) -> PlainHead | None:
        """The head of a plain request, if no more than that and its body have come, and the body is not large."""
        head = self._heads.read(data)
        if head is None or head.length > HIGH_WATER_LIMIT or len(data) - head.end > head.length:
            return None
        return head

    def _expect_more(self) -> None:
        """Close the connection unless the client says more, in time."""
        self._unset_keepalive_if_required()
        self.timeout_keep_alive_task = self.loop.call_later(CLIENT_SILENCE_S, self._together.close)

    def _begin(self, head: PlainHead) -> None:
        """Have a request answered, as uvicorn does where no root path is set."""
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
        """Take in what is of the body; the rest is not."""
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
        """Have h11 read all that comes, beginning with this."""
        self._is_plain, self._ahead = False, b""
        try:
            super().data_received(data)
            if self.conn.their_state in _UNFINISHED:
                self._expect_more()
        finally:
            # uvicorn may refuse what has come and then fail: asyncio ends the connection at once.
            self._together.flush()


class Together:
    """A transport, as far as uvicorn uses it, that sends together what is written one part after the other.

    It sends when it is told that this is all, and at the latest in the event loop's next turn.

    Args:
        transport: The one that sends.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self.get_extra_info = transport.get_extra_info
        self.is_closing = transport.is_closing
        self.pause_reading = transport.pause_reading
        self.resume_reading = transport.resume_reading
        self._transport = transport
        self._parts: list[Any] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        """Send something, soon."""
        if not data:
            return
        if not self._parts:
            asyncio.get_running_loop().call_soon(self.flush)
        self._parts.append(data)
        self._size += len(data)
        if self._size > _AT_ONCE:
            self.flush()

    def writelines(self, parts: Iterable[bytes]) -> None:
        """Send these at once, after what was written."""
        self._parts += parts
        self.flush()

    def close(self) -> None:
        """Send what was written, and end; what nobody reads is sent to nobody."""
        self.flush()
        self._transport.close()
        self._give_up_later()

    def _give_up_later(self) -> None:
        if unread := self._transport.get_write_buffer_size():
            asyncio.get_running_loop().call_later(CLIENT_SILENCE_S, self._give_up, unread)

    def _give_up(self, before: int) -> None:
        """End at once if nothing has been read meanwhile."""
        if self._transport.get_write_buffer_size() < before:
            self._give_up_later()
        else:
            self._transport.abort()

    def flush(self) -> None:
        """Send what was written."""
        if self._parts:
            parts, self._parts, self._size = self._parts, [], 0
            # Not `writelines`, which from Python 3.12 on does not tell a writer to wait.
            self._transport.write(b"".join(parts))


class PlainCycle(RequestResponseCycle):
    """One request and its answer; the request is a POST, whose body is small."""

    _left: int | None = None
    """Bytes that the body still has to have; `None` where it is sent in chunks."""

    _head = b""
    """What is sent with the next part of the body. A body in chunks may be long in coming: its head is sent at once."""

    async def receive(self) -> ASGIReceiveEvent:
        """What has come of the request, or that the client has gone. No reading waits for this, as it does with h11."""
        if not self.disconnected and not self.response_complete:
            await self.message_event.wait()
            self.message_event.clear()
        if self.disconnected or self.response_complete:
            return {"type": "http.disconnect"}
        body, self.body = self.body, bytearray()
        return {"type": "http.request", "body": bytes(body), "more_body": self.more_body}

    async def send(self, message: ASGISendEvent) -> None:
        """Answer.

        Raises:
            RuntimeError: This cannot be said, or not now.
        """
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
                continue  # it is the server's to say
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
        """What is told of the connection, if anything is: its end an application can want, or the server."""
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
    """A header as it is sent. Of one answer nearly all are those of the one before."""
    line = b"%s: %s\r\n" % (name, value)
    if _LINE.fullmatch(line) is None:
        raise RuntimeError("a header of the answer is none of HTTP")
    return line
