"""HTTP/1.1 answers, read with httptools: what `reading.py` says, where it is installed.

It is a C library, and an answer of 200 kB takes h11 four times as long. It refuses more of what could be read in two
ways than h11 does, as a length and chunks at once.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import httptools

from louver.gateway.reading import END, Head, NotHttp
from louver.limits import MAX_HTTP_HEAD

if TYPE_CHECKING:
    from louver.gateway.reading import Part


class ByHttptools:
    """Reads with httptools."""

    def __init__(self) -> None:
        self.is_last = True
        self._parser = httptools.HttpResponseParser(self)
        self._parts: deque[Part] = deque()
        self._body: list[bytes] = []
        self._headers: dict[bytes, bytes] = {}
        self._fault: NotHttp | None = None
        self._has_head = False
        self._lasts_until_close = False
        self._is_over = False
        self._fruitless = 0

    def feed(self, data: bytes) -> None:
        """Take in what has come; nothing is the end of the connection."""
        if not data:
            self._ended()
            return
        before = len(self._parts)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._failed(is_cut=False)
        self._put_body()
        self._fruitless = 0 if len(self._parts) > before else self._fruitless + len(data)
        if self._fruitless > MAX_HTTP_HEAD:
            self._failed(is_cut=False)

    def next(self) -> Part | None:
        """The next part, if it has come.

        Raises:
            NotHttp: What has come is no answer.
        """
        if self._parts:
            return self._parts.popleft()
        if self._fault is not None:
            raise self._fault
        return None

    # What httptools calls

    def on_message_begin(self) -> None:
        """An answer begins; a second one is more than was asked for."""
        self._headers = {}
        self.is_last = True

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or one after the body, which nobody asks for."""
        self._headers[name.lower()] = value.rstrip(b" \t")

    def on_headers_complete(self) -> None:
        """The body comes next, if this is not an interim answer."""
        status = self._parser.get_status_code()
        is_known = self._headers.get(b"transfer-encoding", b"chunked").lower() == b"chunked"
        if status < 100 or status == 101 or self._parser.get_http_version() not in ("1.0", "1.1") or not is_known:
            self._failed(is_cut=False)
        elif status >= 200 and not self._is_over:
            self._has_head = True
            self._lasts_until_close = self._headers.keys().isdisjoint((b"content-length", b"transfer-encoding"))
            self._parts.append(Head(status, self._headers))
            self._headers = {}

    def on_body(self, data: bytes) -> None:
        """A part of the body."""
        if self._has_head and not self._is_over:
            self._body.append(data)

    def on_message_complete(self) -> None:
        """The end of an answer."""
        if self._has_head and not self._is_over:
            self.is_last = not self._parser.should_keep_alive()
            self._over()

    # Within

    def _ended(self) -> None:
        if self._has_head and self._lasts_until_close and not self._is_over:
            self._over()
        else:
            self._failed(is_cut=True)

    def _over(self) -> None:
        self._put_body()
        self._parts.append(END)
        self._is_over = True

    def _put_body(self) -> None:
        """One part of all that has come at once: pieces can be tiny."""
        if self._body:
            self._parts.append(b"".join(self._body))
            self._body.clear()

    def _failed(self, *, is_cut: bool) -> None:
        self.is_last = True
        if not self._is_over:
            self._fault = self._fault or NotHttp(is_cut=is_cut)
