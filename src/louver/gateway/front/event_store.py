"""Event store: SSE events sent over HTTP, so that a 2025-11-25 client can resume a broken stream (`Last-Event-ID`).

    POST {"id": 7, ...}       -> a stream of this session, with an event 3; other sessions have one of their own
    GET, Last-Event-ID: 3     -> the later events of that stream, for the caller that it was opened for

All sessions share one bound. The owner who holds the most loses events first, of its largest session, so one client
cannot evict another's. A stream can be resumed after its old texts are evicted, unless its final response is one of
them: then the client must send the request again.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Hashable
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from louver.wire.jsonrpc.codec import RequestId

MAX_EVENTS = 10_000
MAX_EVENT_BYTES = 1024 * 1024
"""HTTP events that are kept for clients that resume a stream, and their bytes; the latest event is always kept."""


class StoredStream(NamedTuple):
    """One stream of a session; no later one is equal, also if its request has the same id."""

    number: int
    request_id: RequestId | None  # `None` for the messages that belong to no request
    caller: Hashable  # for whom its messages are: the identity, and what the policies show to it


class Missed(NamedTuple):
    stream: StoredStream
    events: list[tuple[int, bytes]]  # number and text
    is_ended: bool  # whether the last of them is the response


class SessionEvents:
    """The stored events of one session."""

    def __init__(self, store: EventStore, owner: Hashable, first: int) -> None:
        self.owner = owner
        # Event number -> (stream, whether the event is the response that ends the stream).
        self.sent: OrderedDict[int, tuple[StoredStream, bool]] = OrderedDict()
        # Texts not yet evicted. An event without a message only opens a stream and has no text.
        self.texts: OrderedDict[int, bytes] = OrderedDict()
        self.size = 0  # of the texts, in bytes
        # Of this session alone: a number tells nothing of other sessions.
        self._numbers = count(first)
        self._store = store

    def store(self, stream: StoredStream, message: bytes | None, *, is_response: bool = False) -> int:
        """Store an event and return its number; without a message it opens the stream."""
        number = next(self._numbers)
        self._store.add(self, number, stream, message, is_response=is_response)
        return number

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
        self._counts = Counter[Hashable]()  # events by owner
        self._sizes = Counter[Hashable]()  # bytes by owner
        self._count = 0
        self._bytes = 0

    def open_session(self, owner: Hashable = None, first: int = 1) -> SessionEvents:
        """The events of a session, numbered from `first`."""
        events = SessionEvents(self, owner, first)
        self._sessions.add(events)
        return events

    def close_session(self, events: SessionEvents) -> None:
        """Drop the events of a session."""
        if events in self._sessions:
            self._sessions.remove(events)
            self._change(events, -len(events.sent), -events.size)
            # A session is part of cycles, which the garbage collector may find late.
            events.sent.clear()
            events.texts.clear()

    def add(
        self, events: SessionEvents, number: int, stream: StoredStream, message: bytes | None, *, is_response: bool
    ) -> None:
        """Add an event of a session that is open."""
        if events not in self._sessions:
            return
        events.sent[number] = (stream, is_response)
        self._change(events, 1, 0)
        if message is not None:
            events.texts[number] = message
            events.size += len(message)
            self._change(events, 0, len(message))
        self._evict(events)

    def _change(self, events: SessionEvents, count: int, size: int) -> None:
        self._count += count
        self._bytes += size
        self._counts[events.owner] += count
        self._sizes[events.owner] += size
        if not self._counts[events.owner]:
            del self._counts[events.owner], self._sizes[events.owner]

    def _evict(self, latest: SessionEvents) -> None:
        """Evict what is over the bounds, but not the text that `latest` has just stored."""
        while self._count > MAX_EVENTS:
            most = max(self._sessions, key=lambda events: (self._counts[events.owner], len(events.sent)))
            self._change(most, -1, -most.evict_event())
        while self._bytes > MAX_EVENT_BYTES:
            # Among equally large sessions, spare the one that has just stored an event.
            largest = max(
                self._sessions,
                key=lambda events: (self._sizes[events.owner], events.size, events is not latest),
            )
            if len(largest.texts) <= (largest is latest):
                break
            self._change(largest, 0, -largest.evict_text())
