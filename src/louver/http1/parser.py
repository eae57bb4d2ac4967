r"""Parsers of HTTP/1.1 responses.

    feed(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhel"), feed(b"lo")
    next() -> Head(200, {b"content-length": b"5"}), b"hel", b"lo", END, and `None` while there is nothing more

Plain responses are parsed here; chunked and all others by httptools.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

import httptools

from louver.http1.fast_heads import PlainHeads, plain_response
from louver.limits import MAX_HTTP_HEAD

if TYPE_CHECKING:
    from collections.abc import Callable


class Head(NamedTuple):
    status: int
    headers: dict[bytes, bytes]  # by lower-case name


class EndOfMessage: ...


END: Final = EndOfMessage()
Part = Head | bytes | EndOfMessage


class InvalidHttp(Exception):
    """The bytes are not a response; `is_cut` if only because the connection ended."""

    def __init__(self, *, is_truncated: bool) -> None:
        super().__init__()
        self.is_truncated = is_truncated


class PlainFirstParser:
    """Reads a plain response, and leaves any other to httptools."""

    def __init__(self, heads: PlainHeads) -> None:
        self._heads = heads
        self._fallback: HttptoolsParser | None = None
        self._parts: deque[Part] = deque()
        self._has_begun = False
        self._body_left = 0
        self._is_last = False
        self._is_truncated = False

    @property
    def is_last(self) -> bool:
        return self._is_last if self._fallback is None else self._fallback.is_last

    def feed(self, data: bytes) -> None:
        if self._fallback is not None:
            self._fallback.feed(data)
        elif self._has_begun and not data:
            self._is_last, self._is_truncated = True, self._body_left > 0
        elif self._has_begun:
            self._read_body(data)
        elif (head := self._heads.read(data)) is not None:
            self._has_begun = True
            self._body_left = head.length
            self._parts.append(Head(200, head.fields))
            if not head.length:
                self._parts.append(END)
            if len(data) > head.end:
                self._read_body(data[head.end :])
        else:
            self._fallback = HttptoolsParser()
            self._fallback.feed(data)

    def next(self) -> Part | None:
        if self._fallback is not None:
            return self._fallback.next()
        if self._parts:
            return self._parts.popleft()
        if self._is_truncated:
            raise InvalidHttp(is_truncated=True)
        return None

    def _read_body(self, data: bytes) -> None:
        """Take in bytes after the head. Bytes beyond the body belong to no request."""
        if len(data) > self._body_left:
            self._is_last = True
        if self._body_left:
            part = data[: self._body_left]
            self._parts.append(part)
            self._body_left -= len(part)
            if not self._body_left:
                self._parts.append(END)


def parser_factory() -> Callable[[], PlainFirstParser]:
    """Makes the parser for each response of one connection."""
    heads = PlainHeads(plain_response)
    return lambda: PlainFirstParser(heads)


class HttptoolsParser:
    def __init__(self) -> None:
        self.is_last = True
        self._parser = httptools.HttpResponseParser(self)
        self._parts: deque[Part] = deque()
        self._body: list[bytes] = []
        self._headers: dict[bytes, bytes] = {}
        self._fault: InvalidHttp | None = None
        self._has_head = False
        self._is_close_delimited = False
        self._is_complete = False
        self._bytes_without_part = 0

    def feed(self, data: bytes) -> None:
        if not data:
            self._on_eof()
            return
        before = len(self._parts)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._fail(is_truncated=False)
        self._flush_body()
        self._bytes_without_part = 0 if len(self._parts) > before else self._bytes_without_part + len(data)
        if self._bytes_without_part > MAX_HTTP_HEAD:
            self._fail(is_truncated=False)

    def next(self) -> Part | None:
        if self._parts:
            return self._parts.popleft()
        if self._fault is not None:
            raise self._fault
        return None

    # Callbacks of httptools

    def on_message_begin(self) -> None:
        """A response begins; a second one was not requested."""
        self._headers = {}
        self.is_last = True

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header; or a trailer, which is ignored."""
        self._headers[name.lower()] = value.rstrip(b" \t")

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        is_known = self._headers.get(b"transfer-encoding", b"chunked").lower() == b"chunked"
        if status < 100 or status == 101 or self._parser.get_http_version() not in ("1.0", "1.1") or not is_known:
            self._fail(is_truncated=False)
        elif status >= 200 and not self._is_complete:
            self._has_head = True
            self._is_close_delimited = self._headers.keys().isdisjoint((b"content-length", b"transfer-encoding"))
            self._parts.append(Head(status, self._headers))
            self._headers = {}

    def on_body(self, data: bytes) -> None:
        if self._has_head and not self._is_complete:
            self._body.append(data)

    def on_message_complete(self) -> None:
        if self._has_head and not self._is_complete:
            self.is_last = not self._parser.should_keep_alive()
            self._complete()

    # Internals

    def _on_eof(self) -> None:
        if self._has_head and self._is_close_delimited and not self._is_complete:
            self._complete()
        else:
            self._fail(is_truncated=True)

    def _complete(self) -> None:
        self._flush_body()
        self._parts.append(END)
        self._is_complete = True

    def _flush_body(self) -> None:
        """Make one part of all pieces of a read: they can be tiny."""
        if self._body:
            self._parts.append(b"".join(self._body))
            self._body.clear()

    def _fail(self, *, is_truncated: bool) -> None:
        self.is_last = True
        if not self._is_complete:
            self._fault = self._fault or InvalidHttp(is_truncated=is_truncated)
