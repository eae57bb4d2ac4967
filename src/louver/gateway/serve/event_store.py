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


class _Kept:
    """The stored events of one session."""

    def __init__(self) -> None:
        # Event number -> (the SDK's stream id, whether the event is the response that ends the stream).
        self.sent: OrderedDict[int, tuple[str, bool]] = OrderedDict()
        # Texts not yet evicted. An event without a message only opens a stream and has no text.
        self.texts: OrderedDict[int, bytes] = OrderedDict()
        self.size = 0  # of the texts, in bytes

    def lose_text(self) -> int:
        """Evict the oldest text and return its size."""
        _, text = self.texts.popitem(last=False)
        self.size -= len(text)
        return len(text)

    def lose_event(self) -> int:
        """Evict the oldest event and return the size of its text."""
        number, _ = self.sent.popitem(last=False)
        # No older event has a text, so the oldest text is this event's.
        return self.lose_text() if number in self.texts else 0

    def since(self, number: int) -> tuple[str, list[tuple[int, bytes]]] | None:
        """Return an event's stream and the later events on it; `None` if the stream cannot be resumed."""
        if number not in self.sent:
            return None
        stream, _ = self.sent[number]
        rest = {each: ends for each, (of, ends) in self.sent.items() if of == stream and each >= number}
        if any(ends and each not in self.texts for each, ends in rest.items()):
            return None
        return stream, [(each, self.texts[each]) for each in rest if each > number and each in self.texts]


class Events:
    """The latest events of all sessions, in memory."""

    def __init__(self) -> None:
        self._sessions: set[_Kept] = set()
        # The garbage collector finalizes a session at any point and in any thread, so it only appends here.
        self._gone: deque[_Kept] = deque()
        self._numbers = count(1)
        self._held = 0
        self._bytes = 0

    def of_one_session(self) -> EventStore:
        """Return a store for one new session; its events are dropped when the store is garbage-collected."""
        kept = _Kept()
        self._sessions.add(kept)
        session = _OfSession(self, kept)
        finalize(session, self._gone.append, kept)
        return session

    def keep(self, kept: _Kept, stream: str, message: JSONRPCMessage | None) -> str:
        """Store an event of a session and return its id."""
        self._forget_gone()
        number = next(self._numbers)
        kept.sent[number] = (stream, isinstance(message, JSONRPCResponse | JSONRPCError))
        self._held += 1
        if message is not None:
            kept.texts[number] = text = _text(message)
            kept.size += len(text)
            self._bytes += len(text)
        self._make_room(number)
        return str(number)

    def _make_room(self, latest: int) -> None:
        while self._held > MAX_EVENTS:
            self._bytes -= max(self._sessions, key=lambda kept: len(kept.sent)).lose_event()
            self._held -= 1
        while self._bytes > MAX_EVENT_BYTES:
            # Among equally large sessions, spare the one that has just stored the latest event.
            most = max(self._sessions, key=lambda kept: (kept.size, latest not in kept.texts))
            if most.texts.keys() <= {latest}:
                break
            self._bytes -= most.lose_text()

    def _forget_gone(self) -> None:
        while self._gone:
            kept = self._gone.popleft()
            self._sessions.remove(kept)
            self._held -= len(kept.sent)
            self._bytes -= kept.size


class _OfSession(EventStore):
    def __init__(self, events: Events, kept: _Kept) -> None:
        self._events = events
        self._kept = kept

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        return self._events.keep(self._kept, stream_id, message)

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        """Replay the later events of the stream; return its id, or `None` if it cannot be resumed."""
        found = self._kept.since(int(last_event_id) if _NUMBER.fullmatch(last_event_id) else 0)
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
