r"""Fast reading of plain HTTP/1.1 heads, which nearly all are.

    POST /mcp HTTP/1.1\r\n                       HTTP/1.1 200 OK\r\n
    content-length: 154\r\n\r\n                  content-length: 98\r\n\r\n

A plain head has only one reading: each field once, a length, no transfer coding, no upgrade. One regular expression
reads it in a tenth of h11's time. All other messages are left to a full parser.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from louver.limits import MAX_HTTP_HEAD

if TYPE_CHECKING:
    from collections.abc import Callable


class PlainHead(NamedTuple):
    target: bytes  # the path; empty in a response
    fields: dict[bytes, bytes]  # by lower-case name, in order
    length: int  # of the body
    end: int  # where the body begins


class PlainHeads:
    """The heads on one connection. A head with the same text as the last one is not parsed again."""

    def __init__(self, read: Callable[[bytes], PlainHead | None]) -> None:
        self._read = read
        self._text = b""
        self._last: PlainHead | None = None

    def read(self, data: bytes) -> PlainHead | None:
        """The head at the start of the data; `None` if it is not plain, or not whole."""
        # The text ends with an empty line: bytes after that are not part of the head.
        if self._last is None or not data.startswith(self._text):
            self._last = self._read(data)
            self._text = b"" if self._last is None else data[: self._last.end]
        return self._last


def plain_request(data: bytes) -> PlainHead | None:
    head = _parse_head(_REQUEST.match(data))
    return None if head is None or b"host" not in head.fields else head


def plain_response(data: bytes) -> PlainHead | None:
    return _parse_head(_RESPONSE.match(data))


_FIELDS: Final = rb"((?:[A-Za-z0-9-]++: [!-~](?:[ -~]*[!-~])?\r\n)+)\r\n"
_REQUEST: Final = re.compile(rb"POST (/[A-Za-z0-9/._~-]*+) HTTP/1\.1\r\n" + _FIELDS)
_RESPONSE: Final = re.compile(rb"HTTP/1\.1 200 OK()\r\n" + _FIELDS)
_FIELD: Final = re.compile(rb"(?<![^\n])([^:\n]++): (.*)\r\n")
_NOT_PLAIN: Final = frozenset((b"transfer-encoding", b"upgrade", b"expect", b"trailer"))
_KEEP_ALIVE: Final = b"keep-alive"
_MAX_LENGTH_DIGITS: Final = 9


def _parse_head(found: re.Match[bytes] | None) -> PlainHead | None:
    if found is None or found.end() > MAX_HTTP_HEAD:
        return None
    pairs = _FIELD.findall(found[2])
    fields = {name.lower(): value for name, value in pairs}
    length = fields.get(b"content-length", b"")
    if not length.isdigit() or len(length) > _MAX_LENGTH_DIGITS:
        return None
    if len(fields) != len(pairs) or not _NOT_PLAIN.isdisjoint(fields):
        return None
    if fields.get(b"connection", _KEEP_ALIVE).lower() != _KEEP_ALIVE:
        return None
    return PlainHead(found[1], fields, int(length), found.end())
