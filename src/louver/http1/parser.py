r"""Parsers of HTTP/1.1 responses.

    feed(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhel"), feed(b"lo")
    parts == deque([Head(200, {b"content-length": b"5"}), b"hel", b"lo", END])

Plain responses are parsed here; chunked and all others by httptools.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

import httptools

from louver.core.cached import cached_property
from louver.limits import MAX_HTTP_HEAD, MAX_UPSTREAM_PENDING

if TYPE_CHECKING:
    from louver.http1.fast_heads import PlainHeads

TRUNCATED: Final = "the upstream cannot be reached: its connection has ended before its answer did"
NOT_HTTP: Final = "the upstream cannot be reached: its answer is not HTTP/1.1"


class Head(NamedTuple):
    status: int
    headers: dict[bytes, bytes]  # by lower-case name


class EndOfMessage: ...


END: Final = EndOfMessage()
Part = Head | bytes | EndOfMessage


class HttptoolsParser:
    def __init__(self) -> None:
        self.parts: deque[Part] = deque()  # not taken yet
        self.fault: str | None = None  # comes after the parts
        self.is_last = True  # the connection cannot be used for another response
        self.awaits_body = False  # the rest of a short body is still to come: its reader can wait for all of it
        self._body: list[bytes] = []
        self._headers: dict[bytes, bytes] = {}
        self._has_head = False
        self._is_close_delimited = False
        self._is_complete = False
        self._bytes_without_part = 0

    @cached_property
    def _parser(self) -> httptools.HttpResponseParser:
        return httptools.HttpResponseParser(self)

    def feed(self, data: bytes) -> None:
        if not data:
            self._on_eof()
            return
        before = len(self.parts)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._fail(NOT_HTTP)
        self._flush_body()
        self._bytes_without_part = 0 if len(self.parts) > before else self._bytes_without_part + len(data)
        if self._bytes_without_part > MAX_HTTP_HEAD:
            self._fail(NOT_HTTP)

    def end(self) -> None:
        """Nothing more is read: the parser of httptools and this one no longer hold each other."""
        self.__dict__.pop("_parser", None)

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
            self._fail(NOT_HTTP)
        elif status >= 200 and not self._is_complete:
            self._has_head = True
            self._is_close_delimited = self._headers.keys().isdisjoint((b"content-length", b"transfer-encoding"))
            self.parts.append(Head(status, self._headers))
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
            self._fail(TRUNCATED)

    def _complete(self) -> None:
        self._flush_body()
        self.parts.append(END)
        self._is_complete = True

    def _flush_body(self) -> None:
        """Make one part of all pieces of a read: they can be tiny."""
        if self._body:
            self.parts.append(b"".join(self._body))
            self._body.clear()

    def _fail(self, fault: str) -> None:
        self.is_last = True
        if not self._is_complete:
            self.fault = self.fault or fault


class PlainFirstParser(HttptoolsParser):
    """Reads a plain response, and leaves any other to httptools."""

    def __init__(self, heads: PlainHeads) -> None:
        super().__init__()
        self._heads = heads
        self._is_plain: bool | None = None  # not known yet
        self._is_short = False
        self._body_left = 0

    def feed(self, data: bytes) -> None:
        if not self._is_plain:
            if self._is_plain is False or (head := self._heads.read(data)) is None:
                self._is_plain = False
                super().feed(data)
                return
            self._is_plain, self.is_last, self._body_left = True, False, head.length
            is_stream = b"event-stream" in head.fields.get(b"content-type", b"").lower()
            self._is_short = head.length <= MAX_UPSTREAM_PENDING and not is_stream
            self.parts.append(Head(200, head.fields))
            if not head.length:
                self.parts.append(END)
            data = data[head.end :]
        elif not data:
            self.is_last, self.fault = True, TRUNCATED if self._body_left else None
        # Bytes beyond the body belong to no request.
        self.is_last |= len(data) > self._body_left
        if self._body_left and data:
            part = data[: self._body_left]
            self.parts.append(part)
            self._body_left -= len(part)
            if not self._body_left:
                self.parts.append(END)
        self.awaits_body = self._is_short and self._body_left > 0
