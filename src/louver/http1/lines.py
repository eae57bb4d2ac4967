r"""Bytes as they come, as lines: each byte is looked at once, and a line has a bound.

    b"ab", b"c\nd"  ->  [], [b"abc"]      and "d" is kept for what comes next

A line ends with a line feed. It is not for texts: it knows nothing of characters.
"""

from __future__ import annotations

from louver.jsonrpc.strict_json import too_large
from louver.limits import MAX_UPSTREAM_BYTES


class Lines:
    """The reader of one stream.

    Args:
        most: Longest line, in bytes.
    """

    def __init__(self, most: int = MAX_UPSTREAM_BYTES) -> None:
        self._most = most
        self._buffer = bytearray()
        self._searched = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that are whole now, without their ends.

        Raises:
            UpstreamTooLarge: One is too long.
        """
        self._buffer += data
        found: list[bytes] = []
        start = 0
        while (end := self._buffer.find(b"\n", max(self._searched, start))) >= 0:
            self._check(end - start)
            # A slice of the view: the buffer would copy twice.
            found.append(bytes(memoryview(self._buffer)[start:end]))
            start = self._searched = end + 1
        del self._buffer[:start]
        self._searched = len(self._buffer)
        self._check(self._searched)
        return found

    def _check(self, length: int) -> None:
        if length > self._most:
            raise too_large()
