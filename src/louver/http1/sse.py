r"""Parser of server-sent events, as in the HTML standard.

    b"id: 5\nretry: 500\ndata: {...}\n\n"   ->   Event(data=b"{...}", id="5", retry_s=0.5)

An event without data says after which id, and when, to resume the stream. The bounds of size and `retry` are ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from louver.http1.lines import LineDecoder, too_large
from louver.limits import MAX_UPSTREAM_BYTES, MAX_UPSTREAM_RETRY_SECONDS, MIN_UPSTREAM_RETRY_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_EVENT_ID = 1024
"""Longest event id that is kept for resuming a stream, in bytes: it is sent as a header."""


_BOM = b"\xef\xbb\xbf"

# Returns that are found one by one, in a tenth of the time of `replace`: a large event has three or four.
_MAX_CR_SPLITS = 16


@dataclass(slots=True)
class SseEvent:
    data: bytes = b""  # the message; empty if there is none
    id: str | None = None  # resume after this one
    retry_s: float | None = None
    type: str = "message"


class SseDecoder:
    def __init__(self) -> None:
        self._lines = LineDecoder()
        self._has_begun = False
        self._is_after_cr = False
        self._event = SseEvent()
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[SseEvent]:
        """The events that are complete now."""
        for line in self._lines.feed(self._normalize_newlines(chunk)):
            if not self._has_begun:
                self._has_begun = True
                line = line.removeprefix(_BOM)
            if line:
                self._process_line(line)
            elif (event := self._dispatch()) is not None:
                yield event

    def _normalize_newlines(self, chunk: bytes) -> bytes:
        """The bytes with a line feed for every line end."""
        if self._is_after_cr and chunk:
            # A line feed after a return at the end of a chunk is the same line end.
            self._is_after_cr = False
            chunk = chunk.removeprefix(b"\n")
        self._is_after_cr |= chunk.endswith(b"\r")
        pieces, start = list[bytes](), 0
        while (end := chunk.find(b"\r", start)) >= 0 and len(pieces) < _MAX_CR_SPLITS:
            pieces.append(chunk[start:end])
            start = end + (2 if chunk.startswith(b"\n", end + 1) else 1)
        rest = chunk[start:]
        if end >= 0:
            rest = rest.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return b"\n".join([*pieces, rest])

    def _process_line(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"data":
                self._size += len(value) + 1
                if self._size > MAX_UPSTREAM_BYTES:
                    raise too_large()
                self._data.append(value)
            case b"id" if len(value) <= MAX_EVENT_ID and value.isascii() and b"\0" not in value:
                self._event.id = value.decode()
            case b"retry" if value.isdigit() and len(value) < 16:
                wanted_s = max(int(value) / 1000, MIN_UPSTREAM_RETRY_SECONDS)
                self._event.retry_s = min(wanted_s, MAX_UPSTREAM_RETRY_SECONDS)
            case b"event":
                self._event.type = value.decode("utf-8", "replace") or "message"
            case _:
                pass

    def _dispatch(self) -> SseEvent | None:
        event, data = self._event, self._data
        self._event, self._data, self._size = SseEvent(), [], 0
        event.data = b"\n".join(data)
        return event if data or event.id is not None or event.retry_s is not None else None
