r"""Parser of server-sent events, as in the HTML standard.

    b"id: 5\nretry: 500\ndata: {...}\n\n"   ->   Event(data=b"{...}", id="5", retry_s=0.5)

An event without data says after which id, and when, to resume the stream. The bounds of size and `retry` are ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from louver.http1.lines import LineDecoder
from louver.jsonrpc.strict_json import too_large
from louver.limits import (
    MAX_EVENT_ID,
    MAX_LINES_A_TURN,
    MAX_UPSTREAM_BYTES,
    MAX_UPSTREAM_RETRY_SECONDS,
    MIN_UPSTREAM_RETRY_SECONDS,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_BOM = b"\xef\xbb\xbf"

# Returns that are found one by one, in a tenth of the time of `replace`: a large event has three or four.
_MAX_CR_SPLITS = 16


# Lines that take as long to read as the message of an event takes to be processed.
_EVENT_COST = 250


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

    def feed(self, chunk: bytes) -> Iterator[SseEvent | None]:
        """The events that are complete now, and `None` where other tasks should have a turn."""
        is_dense = chunk.count(b"\n") + chunk.count(b"\r") > MAX_LINES_A_TURN
        size = MAX_LINES_A_TURN if is_dense else len(chunk)
        work = 0
        for start in range(0, len(chunk), size or 1):
            for line in self._lines.feed(self._normalize_newlines(chunk[start : start + size])):
                work += 1
                if (event := self._process(line)) is not None:
                    work += _EVENT_COST
                    yield event
                if work > MAX_LINES_A_TURN:
                    work = 0
                    yield None

    def _process(self, line: bytes) -> SseEvent | None:
        """The event that a line ends."""
        if not self._has_begun:
            self._has_begun = True
            line = line.removeprefix(_BOM)
        if not line:
            return self._dispatch()
        self._process_field(line)
        return None

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

    def _process_field(self, line: bytes) -> None:
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
