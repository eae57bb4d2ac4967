r"""Splits a byte stream into lines of bounded length, and looks at each byte once.

b"ab", b"c\nd"  ->  [], [b"abc"]      "d" waits for more
"""

from __future__ import annotations

from louver.errors import UpstreamTooLarge
from louver.limits import MAX_UPSTREAM_BYTES


def too_large() -> UpstreamTooLarge:
    return UpstreamTooLarge(f"the upstream's answer is over {MAX_UPSTREAM_BYTES} bytes", limit=MAX_UPSTREAM_BYTES)


class LineDecoder:
    def __init__(self, limit: int = MAX_UPSTREAM_BYTES) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._searched = 0

    def feed(self, data: bytes) -> list[bytes]:
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
        if length > self._limit:
            raise too_large()
