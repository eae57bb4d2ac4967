r"""One plain request and its answer, as an application has them: uvicorn's cycle, which h11 has no part in.

    start, 200, [(b"content-length", b"2")]    HTTP/1.1 200 OK\r\ndate: ...\r\ncontent-length: 2\r\n\r\n
    body, b"ok"                                ok
    start, 200, []                             HTTP/1.1 200 OK\r\ndate: ...\r\ntransfer-encoding: chunked\r\n\r\n
    body, b"ok", and there is more             2\r\nok\r\n

What becomes of an application's errors is uvicorn's to say.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, RequestResponseCycle

if TYPE_CHECKING:
    from collections.abc import Iterable

    from uvicorn._types import ASGIReceiveEvent, ASGISendEvent


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
