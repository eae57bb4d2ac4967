"""Event store: SSE events sent over HTTP, so that a 2025-11-25 client can resume a broken stream (`Last-Event-ID`).

    POST {"id": 7, ...}        -> stream "7" of this session, its first event 41; another session may have a "7" too
    GET, Last-Event-ID: 41     -> the later events of that stream; none if event 41 is another session's

A session can replay only its own events. All sessions share one bound; the largest session loses its events first,
so one client cannot evict another's. A stream can be resumed after its old texts are evicted, unless its final
response is one of them: then the client must send the request again.
"""

from __future__ import annotations

from collections import OrderedDict
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from louver.limits import MAX_EVENT_BYTES, MAX_EVENTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.jsonrpc.codec import RequestId


class Missed(NamedTuple):
    stream: RequestId | None
    events: list[tuple[int, bytes]]  # number and text
    is_ended: bool  # whether the last of them is the response


class SessionEvents:
    """The stored events of one session."""

    def __init__(self, store: Callable[[SessionEvents, RequestId | None, bytes | None, bool], int]) -> None:
        # Event number -> (stream, whether the event is the response that ends the stream).
        self.sent: OrderedDict[int, tuple[RequestId | None, bool]] = OrderedDict()
        # Texts not yet evicted. An event without a message only opens a stream and has no text.
        self.texts: OrderedDict[int, bytes] = OrderedDict()
        self.size = 0  # of the texts, in bytes
        self._store = store

    def store(self, stream: RequestId | None, message: bytes | None, *, is_response: bool = False) -> int:
        """Store an event and return its number; without a message it opens the stream."""
        return self._store(self, stream, message, is_response)

    def since(self, number: int) -> Missed | None:
        """The later events on the stream of an event; `None` if the stream cannot be resumed."""
        if number not in self.sent:
            return None
        stream, is_ended = self.sent[number]
        later = {each: ends for each, (of, ends) in self.sent.items() if of == stream and each > number}
        if any(ends and each not in self.texts for each, ends in {number: is_ended, **later}.items()):
            return None
        events = [(each, self.texts[each]) for each in later if each in self.texts]
        return Missed(stream, events, is_ended or any(later.values()))

    def evict_text(self) -> int:
        """Evict the oldest text and return its size."""
        _, text = self.texts.popitem(last=False)
        self.size -= len(text)
        return len(text)

    def evict_event(self) -> int:
        """Evict the oldest event and return the size of its text."""
        number, _ = self.sent.popitem(last=False)
        # No older event has a text, so the oldest text is this event's.
        return self.evict_text() if number in self.texts else 0


class EventStore:
    """The latest events of all sessions, in memory."""

    def __init__(self) -> None:
        self._sessions: set[SessionEvents] = set()
        self._numbers = count(1)
        self._count = 0
        self._bytes = 0

    def open_session(self) -> SessionEvents:
        events = SessionEvents(self._store)
        self._sessions.add(events)
        return events

    def close_session(self, events: SessionEvents) -> None:
        """Drop the events of a session."""
        if events in self._sessions:
            self._sessions.remove(events)
            self._count -= len(events.sent)
            self._bytes -= events.size
            # A session is part of cycles, which the garbage collector may find late.
            events.sent.clear()
            events.texts.clear()

    def _store(self, events: SessionEvents, stream: RequestId | None, message: bytes | None, is_response: bool) -> int:
        number = next(self._numbers)
        if events not in self._sessions:
            return number
        events.sent[number] = (stream, is_response)
        self._count += 1
        if message is not None:
            events.texts[number] = message
            events.size += len(message)
            self._bytes += len(message)
        self._evict(number)
        return number

    def _evict(self, latest: int) -> None:
        while self._count > MAX_EVENTS:
            self._bytes -= max(self._sessions, key=lambda events: len(events.sent)).evict_event()
            self._count -= 1
        while self._bytes > MAX_EVENT_BYTES:
            # Among equally large sessions, spare the one that has just stored the latest event.
            largest = max(self._sessions, key=lambda events: (events.size, latest not in events.texts))
            if largest.texts.keys() <= {latest}:
                break
            self._bytes -= largest.evict_text()
