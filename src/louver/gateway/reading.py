r"""HTTP/1.1 answers, read from bytes as they come.

    feed(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhel"), feed(b"lo")
    next() -> Head(200, {b"content-length": b"5"}), b"hel", b"lo", END, and `None` while there is nothing more

httptools reads, where it is installed: it is a C library, and an answer of 200 kB takes h11 four times as long. It
refuses more of what could be read in two ways than h11 does, as a length and chunks at once.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from louver.limits import MAX_HTTP_HEAD

if TYPE_CHECKING:
    from typing import Protocol

    class Reader(Protocol):
        """Reads one answer."""

        @property
        def is_last(self) -> bool:
            """Once it has been read: whether the connection cannot be used for another."""
            ...

        def feed(self, data: bytes) -> None:
            """Take in what has come; nothing is the end of the connection."""
            ...

        def next(self) -> Part | None:
            """The next part, if it has come.

            Raises:
                NotHttp: What has come is no answer.
            """
            ...


try:
    import httptools
except ImportError:
    httptools = None


@dataclass(frozen=True, slots=True)
class Head:
    """What comes before a body.

    Args:
        status: The status code.
        headers: By their names in lower case.
    """

    status: int
    headers: dict[bytes, bytes]


class End:
    """The end of an answer."""


END: Final = End()
Part = Head | bytes | End


class NotHttp(Exception):
    """What has come is no answer.

    Args:
        is_cut: Whether it could have become one, had the connection not ended.
    """

    def __init__(self, *, is_cut: bool) -> None:
        super().__init__()
        self.is_cut = is_cut


_NEITHER: Final = "without httptools h11 reads"


def reader() -> Reader:
    """Reads the next answer of a connection."""
    if httptools is not None:
        return ByHttptools()
    # Imported only now: where httptools is, nothing else needs h11.
    from louver.gateway.reading_h11 import ByH11

    return ByH11()


class ByHttptools:
    """Reads with httptools."""

    def __init__(self) -> None:
        assert httptools is not None, _NEITHER
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
        assert httptools is not None, _NEITHER
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
