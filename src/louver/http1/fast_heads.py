r"""The heads of plain HTTP/1.1 messages, which nearly all are.

    POST /mcp HTTP/1.1\r\n                  HTTP/1.1 200 OK\r\n
    host: 127.0.0.1:8000\r\n                content-type: application/json\r\n
    content-length: 154\r\n\r\n             content-length: 98\r\n\r\n

Plain is what can be read in one way only: written as above, each field once, with a length, without a coding, another
protocol, or a word on the connection but that it is kept. Such a head is read by one regular expression, at a tenth of
what h11 takes; one that is as the last on its connection was, not at all. The rest is not refused here: it is for who
knows all of HTTP.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from louver.limits import MAX_HTTP_HEAD

if TYPE_CHECKING:
    from collections.abc import Callable


class PlainHead(NamedTuple):
    """A head.

    Args:
        target: The path that is requested; of an answer nothing.
        fields: Values by their names in lower case, as they came one after the other.
        length: Of the body, in bytes.
        end: Where the body begins.
    """

    target: bytes
    fields: dict[bytes, bytes]
    length: int
    end: int


class PlainHeads:
    """The heads on one connection, of which most are like the one before.

    Args:
        read: Reads the head that data begin with, as `plain_request` and `plain_answer` do.
    """

    def __init__(self, read: Callable[[bytes], PlainHead | None]) -> None:
        self._read = read
        self._text = b""
        self._last: PlainHead | None = None

    def read(self, data: bytes) -> PlainHead | None:
        """The head that the data begin with; `None` if that is not plain, or not whole."""
        # Its text ends with an empty line: what comes behind that is not of the head.
        if self._last is None or not data.startswith(self._text):
            self._last = self._read(data)
            self._text = b"" if self._last is None else data[: self._last.end]
        return self._last


def plain_request(data: bytes) -> PlainHead | None:
    """The head of a POST that the data begin with; `None` if that is not plain, or not whole."""
    head = _head(_REQUEST.match(data))
    return None if head is None or b"host" not in head.fields else head


def plain_answer(data: bytes) -> PlainHead | None:
    """Likewise, of an answer of status 200."""
    return _head(_ANSWER.match(data))


_FIELDS: Final = rb"((?:[A-Za-z0-9-]++: [!-~](?:[ -~]*[!-~])?\r\n)+)\r\n"
_REQUEST: Final = re.compile(rb"POST (/[A-Za-z0-9/._~-]*+) HTTP/1\.1\r\n" + _FIELDS)
_ANSWER: Final = re.compile(rb"HTTP/1\.1 200 OK()\r\n" + _FIELDS)
_FIELD: Final = re.compile(rb"([^:]++): (.*)\r\n")
_NOT_PLAIN: Final = frozenset((b"transfer-encoding", b"upgrade", b"expect", b"trailer"))
_KEPT: Final = b"keep-alive"
_MOST_DIGITS: Final = 9


def _head(found: re.Match[bytes] | None) -> PlainHead | None:
    if found is None or found.end() > MAX_HTTP_HEAD:
        return None
    pairs = _FIELD.findall(found[2])
    fields = {name.lower(): value for name, value in pairs}
    length = fields.get(b"content-length", b"")
    if not length.isdigit() or len(length) > _MOST_DIGITS:
        return None
    if len(fields) != len(pairs) or not _NOT_PLAIN.isdisjoint(fields):
        return None
    if fields.get(b"connection", _KEPT).lower() != _KEPT:
        return None
    return PlainHead(found[1], fields, int(length), found.end())
