"""What was sent on each stream over HTTP, for a client that takes one up again where it broke off.

A client of 2025-11-25 names the last event that it has had (`Last-Event-ID`) and gets those after it, if it is one of
its own session. Only the latest are kept, of all streams together and as the bytes that they are on the wire; a client
that comes too late asks again.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from mcp.server.streamable_http import EventMessage, EventStore
from mcp_types import JSONRPCResponse, jsonrpc_message_adapter

from louver.core.json import compact
from louver.limits import MAX_EVENT_BYTES, MAX_EVENTS

if TYPE_CHECKING:
    from mcp.server.streamable_http import EventCallback
    from mcp_types import JSONRPCMessage


_Stream = tuple["_OfSession", str]
"""Whose a stream is, and what the SDK calls it."""


class Events:
    """The latest events of all sessions, in memory."""

    def __init__(self) -> None:
        self._sent: OrderedDict[int, tuple[_Stream, bytes]] = OrderedDict()
        self._count = 0
        self._bytes = 0

    def of_one_session(self) -> EventStore:
        """What keeps the events of a new session here, and knows no other's."""
        return _OfSession(self)

    def keep(self, stream: _Stream, message: JSONRPCMessage | None) -> str:
        """Keep an event; its id."""
        self._count += 1
        text = _text(message)
        self._sent[self._count] = (stream, text)
        self._bytes += len(text)
        while len(self._sent) > 1 and (len(self._sent) > MAX_EVENTS or self._bytes > MAX_EVENT_BYTES):
            _, (_, oldest) = self._sent.popitem(last=False)
            self._bytes -= len(oldest)
        return str(self._count)

    def stream_of(self, number: int) -> _Stream | None:
        """The stream of an event, if that is still known."""
        return self._sent[number][0] if number in self._sent else None

    def after(self, number: int, stream: _Stream) -> list[tuple[int, bytes]]:
        """What came after an event on a stream: ids and texts."""
        return [(each, text) for each, (of, text) in self._sent.items() if of == stream and each > number]


class _OfSession(EventStore):
    def __init__(self, events: Events) -> None:
        self._events = events

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        """Keep an event; its id."""
        return self._events.keep((self, stream_id), message)

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        """Send what came after an event on its stream; the stream, if the event is still known."""
        last = int(last_event_id) if last_event_id.isdecimal() else 0
        stream = self._events.stream_of(last)
        if stream is None or stream[0] is not self:
            return None
        for number, text in self._events.after(last, stream):
            # An event without a message only opens a stream.
            if text:
                await send_callback(EventMessage(jsonrpc_message_adapter.validate_json(text), str(number)))
        return stream[1]


def _text(message: JSONRPCMessage | None) -> bytes:
    if message is None:
        return b""
    if isinstance(message, JSONRPCResponse):
        return compact({"jsonrpc": "2.0", "id": message.id, "result": message.result}).encode()
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode()
