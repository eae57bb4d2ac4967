r"""One plain request and its answer, as an application has them: uvicorn's cycle, which h11 has no part in.

    start, 200, [(b"content-length", b"2")]    nothing yet
    body, b"ok"                                HTTP/1.1 200 OK\r\ndate: ...\r\ncontent-length: 2\r\n\r\nok
    start, 200, []                             HTTP/1.1 200 OK\r\ndate: ...\r\ntransfer-encoding: chunked\r\n\r\n
    body, b"ok", and there is more             2\r\nok\r\n

What becomes of an application's errors is uvicorn's to say.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, RequestResponseCycle

if TYPE_CHECKING:
    from collections.abc import Iterable

    from uvicorn._types import ASGISendEvent


class PlainCycle(RequestResponseCycle):
    """One request and its answer; the request is a POST."""

    _head = b""
    """Of the answer, until it is written."""

    _left: int | None = None
    """Bytes that the body still has to have; `None` where it is sent in chunks."""

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
            self._begin(message["status"], message.get("headers", ()))
        elif message["type"] == "http.response.body" and self.response_started and not self.response_complete:
            self._go_on(message.get("body", b""), is_last=not message.get("more_body", False))
        else:
            raise RuntimeError(f"{message['type']} is not what comes next of an answer")

    def _begin(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        lines = [b"HTTP/1.1 %d %s\r\n" % (status, STATUS_PHRASES[status])]
        length = None
        is_closed = not self.keep_alive
        for name, value in (*self.default_headers, *headers):
            known = name.lower()
            if known == b"transfer-encoding":
                continue  # it is the server's to say
            if known == b"content-length":
                length = int(value)
            elif known == b"connection":
                is_closed = is_closed or value.lower() == b"close"
                continue
            lines.append(b"%s: %s\r\n" % (name, value))
        if status in _WITHOUT_BODY:
            length = 0
        elif length is None:
            lines.append(b"transfer-encoding: chunked\r\n")
        if is_closed:
            lines.append(b"connection: close\r\n")
        head = b"".join(lines)
        if _HEAD.fullmatch(head) is None or head.count(b"\n") != len(lines):
            raise RuntimeError("a header of the answer is none of HTTP")
        self.response_started = True
        self.keep_alive = not is_closed
        self._left = length
        self._head = head + b"\r\n"
        if length is None:
            self._write(b"")

    def _go_on(self, body: bytes, *, is_last: bool) -> None:
        if self._left is None:
            chunk = b"%x\r\n%s\r\n" % (len(body), body) if body else b""
            self._write(chunk + b"0\r\n\r\n" if is_last else chunk)
        else:
            self._left -= len(body)
            if self._left < 0 or (is_last and self._left):
                raise RuntimeError("the body of the answer is not as long as its head says")
            self._write(body)
        if is_last:
            self.response_complete = True
            self.message_event.set()
            if not self.keep_alive:
                self.transport.close()
            self.on_response()

    def _write(self, data: bytes) -> None:
        head, self._head = self._head, b""
        self.transport.write(head + data)


_WITHOUT_BODY: Final = (204, 304)
_HEAD: Final = re.compile(rb"HTTP[^\r\n]*\r\n(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+: [^\0\r\n]*\r\n)*")
