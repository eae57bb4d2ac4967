"""What was sent on each stream over HTTP, for a client that takes one up again where it broke off.

A client of 2025-11-25 names the last event that it has had (`Last-Event-ID`) and gets those after it, if it is one of
its own session. Only the latest are kept, of all sessions together and as the bytes that they are on the wire. What is
over the bounds is taken from the session that holds the most: nobody loses an event to what another is answered.

An event whose text is lost is still known, so a stream whose answer is to come can be taken up. Of one whose answer is
lost nothing can be had; a client that comes too late asks again.
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
    """What is kept of one session."""

    def __init__(self) -> None:
        self.sent: OrderedDict[int, tuple[str, bool]] = OrderedDict()
        """By event: what the SDK calls its stream, and whether it is the answer that ends it."""
        self.texts: OrderedDict[int, bytes] = OrderedDict()
        """Those that are not lost; an event without a message, which only opens a stream, has none."""
        self.size = 0
        """The bytes of the texts."""

    def lose_text(self) -> int:
        """Lose the oldest text; its size."""
        _, text = self.texts.popitem(last=False)
        self.size -= len(text)
        return len(text)

    def lose_event(self) -> int:
        """Lose the oldest event; the size of its text."""
        number, _ = self.sent.popitem(last=False)
        # Nothing that is older has a text.
        return self.lose_text() if number in self.texts else 0

    def since(self, number: int) -> tuple[str, list[tuple[int, bytes]]] | None:
        """The stream of an event, and what came after it there: ids and texts; `None` if it cannot be taken up."""
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
        # The collector finds whoever has gone in the midst of anything, and in any thread: it only says so.
        self._gone: deque[_Kept] = deque()
        self._numbers = count(1)
        self._held = 0
        self._bytes = 0

    def of_one_session(self) -> EventStore:
        """What keeps the events of a new session here until it goes itself, and knows no other's."""
        kept = _Kept()
        self._sessions.add(kept)
        session = _OfSession(self, kept)
        finalize(session, self._gone.append, kept)
        return session

    def keep(self, kept: _Kept, stream: str, message: JSONRPCMessage | None) -> str:
        """Keep an event of a session; its id."""
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
            # Of several that hold as much, another before the one whose latest is kept.
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
        """Keep an event; its id."""
        return self._events.keep(self._kept, stream_id, message)

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        """Send what came after an event on its stream; the stream, if that can be taken up."""
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
