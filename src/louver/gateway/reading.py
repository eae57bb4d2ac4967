r"""HTTP/1.1 answers, read from bytes as they come.

    feed(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhel"), feed(b"lo")
    next() -> Head(200, {b"content-length": b"5"}), b"hel", b"lo", END, and `None` while there is nothing more

Plain answers are read here. Those in chunks and all others are read by httptools, where it is installed, else by h11.
"""

from __future__ import annotations

from collections import deque
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from louver.gateway.plain_http import PlainHeads, plain_answer

if TYPE_CHECKING:
    from collections.abc import Callable


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


class Head(NamedTuple):
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


class PlainFirst:
    """Reads a plain answer, and leaves any other to another reader.

    Args:
        heads: The heads on its connection.
        other: Makes that reader.
    """

    def __init__(self, heads: PlainHeads, other: Callable[[], Reader]) -> None:
        self._heads = heads
        self._make_other = other
        self._other: Reader | None = None
        self._parts: deque[Part] = deque()
        self._has_begun = False
        self._missing = 0
        self._is_last = False
        self._is_cut = False

    @property
    def is_last(self) -> bool:
        """Once it has been read: whether the connection cannot be used for another."""
        return self._is_last if self._other is None else self._other.is_last

    def feed(self, data: bytes) -> None:
        """Take in what has come; nothing is the end of the connection."""
        if self._other is not None:
            self._other.feed(data)
        elif self._has_begun and not data:
            self._is_last, self._is_cut = True, self._missing > 0
        elif self._has_begun:
            self._read_body(data)
        elif (head := self._heads.read(data)) is not None:
            self._has_begun = True
            self._missing = head.length
            self._parts.append(Head(200, head.fields))
            if not head.length:
                self._parts.append(END)
            if len(data) > head.end:
                self._read_body(data[head.end :])
        else:
            self._other = self._make_other()
            self._other.feed(data)

    def next(self) -> Part | None:
        """The next part, if it has come.

        Raises:
            NotHttp: What has come is no answer.
        """
        if self._other is not None:
            return self._other.next()
        if self._parts:
            return self._parts.popleft()
        if self._is_cut:
            raise NotHttp(is_cut=True)
        return None

    def _read_body(self, data: bytes) -> None:
        """What comes after the head. More than the body is an answer to nobody."""
        if len(data) > self._missing:
            self._is_last = True
        if self._missing:
            part = data[: self._missing]
            self._parts.append(part)
            self._missing -= len(part)
            if not self._missing:
                self._parts.append(END)


def readers() -> Callable[[], Reader]:
    """What reads the next answer of a connection, again and again."""
    heads = PlainHeads(plain_answer)
    return lambda: PlainFirst(heads, _made)


def _made() -> Reader:
    return _other()()


@cache
def _other() -> type[Reader]:
    # Imported only now: many gateways meet plain answers alone.
    if find_spec("httptools") is None:
        from louver.gateway.reading_h11 import ByH11

        return ByH11
    from louver.gateway.reading_httptools import ByHttptools

    return ByHttptools
