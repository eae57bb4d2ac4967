"""Event store: SSE events sent over HTTP, so that a 2025-11-25 client can resume a broken stream (`Last-Event-ID`).

A session can replay only its own events. All sessions share one bound; the largest session loses its events first,
so one client cannot evict another's. A stream can be resumed after its old texts are evicted, unless its final
response is one of them: then the client must send the request again.
"""

from __future__ import annotations

import re
from collections import OrderedDict, deque
from itertools import count
from typing import TYPE_CHECKING, Final
from weakref import finalize

from mcp.server.streamable_http import EventMessage, EventStore
from mcp_types import JSONRPCError, JSONRPCResponse, jsonrpc_message_adapter

from louver.core.json import compact
from louver.limits import MAX_EVENT_BYTES, MAX_EVENTS

if TYPE_CHECKING:
    from mcp.server.streamable_http import EventCallback
    from mcp_types import JSONRPCMessage


_NUMBER: Final = re.compile("[0-9]{1,15}")


class _SessionEvents:
    """The stored events of one session."""

    def __init__(self) -> None:
        # Event number -> (the SDK's stream id, whether the event is the response that ends the stream).
        self.events: OrderedDict[int, tuple[str, bool]] = OrderedDict()
        # Texts not yet evicted. An event without a message only opens a stream and has no text.
        self.texts: OrderedDict[int, bytes] = OrderedDict()
        self.size = 0  # of the texts, in bytes

    def evict_text(self) -> int:
        """Evict the oldest text and return its size."""
        _, text = self.texts.popitem(last=False)
        self.size -= len(text)
        return len(text)

    def evict_event(self) -> int:
        """Evict the oldest event and return the size of its text."""
        number, _ = self.events.popitem(last=False)
        # No older event has a text, so the oldest text is this event's.
        return self.evict_text() if number in self.texts else 0

    def since(self, number: int) -> tuple[str, list[tuple[int, bytes]]] | None:
        """Return an event's stream and the later events on it; `None` if the stream cannot be resumed."""
        if number not in self.events:
            return None
        stream, _ = self.events[number]
        rest = {
            each: ends
            for each, (event_stream, ends) in self.events.items()
            if event_stream == stream and each >= number
        }
        if any(ends and each not in self.texts for each, ends in rest.items()):
            return None
        return stream, [(each, self.texts[each]) for each in rest if each > number and each in self.texts]


class EventBuffer:
    """The latest events of all sessions, in memory."""

    def __init__(self) -> None:
        self._sessions: set[_SessionEvents] = set()
        # The garbage collector finalizes a session at any point and in any thread, so it only appends here.
        self._finalized: deque[_SessionEvents] = deque()
        self._numbers = count(1)
        self._event_count = 0
        self._text_bytes = 0

    def session_store(self) -> EventStore:
        """Return a store for one new session; its events are dropped when the store is garbage-collected."""
        session = _SessionEvents()
        self._sessions.add(session)
        store = _SessionEventStore(self, session)
        finalize(store, self._finalized.append, session)
        return store

    def store(self, session: _SessionEvents, stream: str, message: JSONRPCMessage | None) -> str:
        """Store an event of a session and return its id."""
        self._drop_finalized()
        number = next(self._numbers)
        session.events[number] = (stream, isinstance(message, JSONRPCResponse | JSONRPCError))
        self._event_count += 1
        if message is not None:
            session.texts[number] = text = _text(message)
            session.size += len(text)
            self._text_bytes += len(text)
        self._make_room(number)
        return str(number)

    def _make_room(self, latest: int) -> None:
        while self._event_count > MAX_EVENTS:
            self._text_bytes -= max(self._sessions, key=lambda kept: len(kept.events)).evict_event()
            self._event_count -= 1
        while self._text_bytes > MAX_EVENT_BYTES:
            # Among equally large sessions, spare the one that has just stored the latest event.
            largest = max(self._sessions, key=lambda kept: (kept.size, latest not in kept.texts))
            if largest.texts.keys() <= {latest}:
                break
            self._text_bytes -= largest.evict_text()

    def _drop_finalized(self) -> None:
        while self._finalized:
            session = self._finalized.popleft()
            self._sessions.remove(session)
            self._event_count -= len(session.events)
            self._text_bytes -= session.size


class _SessionEventStore(EventStore):
    def __init__(self, buffer: EventBuffer, session: _SessionEvents) -> None:
        self._buffer = buffer
        self._session = session

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        return self._buffer.store(self._session, stream_id, message)

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        """Replay the later events of the stream; return its id, or `None` if it cannot be resumed."""
        found = self._session.since(int(last_event_id) if _NUMBER.fullmatch(last_event_id) else 0)
        if found is None:
            return None
        stream, texts = found
        for number, text in texts:
            await send_callback(EventMessage(jsonrpc_message_adapter.validate_json(text), str(number)))
        return stream


def _text(message: JSONRPCMessage) -> bytes:
    if isinstance(message, JSONRPCResponse):
        return compact({"jsonrpc": "2.0", "id": message.id, "result": message.result}).encode()
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode()
