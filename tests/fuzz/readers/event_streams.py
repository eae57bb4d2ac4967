"""Server-sent events: as the HTML standard reads them, in whatever pieces they come; no input is an error."""

from __future__ import annotations

import re

from louver.http1.sse import MAX_EVENT_ID, SseDecoder, SseEvent
from louver.limits import MAX_UPSTREAM_RETRY_SECONDS, MIN_UPSTREAM_RETRY_SECONDS

from . import pieces


def check(data: bytes) -> None:
    text, parts = pieces(data)
    decoder = SseDecoder()
    assert [event for part in parts for event in decoder.feed(part)] == list(_events(text))


def _events(text: bytes):
    """HTML standard, 9.2.6, "Interpreting an event stream"; that ids and waits are bounded is ours."""
    event, data = SseEvent(), []
    # What follows the last line end is no line yet.
    for line in re.split(rb"\r\n|\n|\r", text.removeprefix(b"\xef\xbb\xbf"))[:-1]:
        if not line:
            if data or event.id is not None or event.retry_s is not None:
                event.data = b"\n".join(data)
                yield event
            event, data = SseEvent(), []
            continue
        name, value = re.fullmatch(rb"([^:]*)(?:: ?(.*))?", line, re.DOTALL).groups(b"")
        if name == b"data":
            data.append(value)
        elif name == b"event":
            event.type = value.decode(errors="replace") or "message"
        elif name == b"id" and re.fullmatch(rb"[\x01-\x7f]{,%d}" % MAX_EVENT_ID, value):
            event.id = value.decode("ascii")
        elif name == b"retry" and re.fullmatch(rb"[0-9]{1,15}", value):
            event.retry_s = min(max(int(value) / 1000, MIN_UPSTREAM_RETRY_SECONDS), MAX_UPSTREAM_RETRY_SECONDS)
