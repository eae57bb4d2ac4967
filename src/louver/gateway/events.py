"""What was sent on each stream over HTTP, for a client that takes one up again where it broke off.

A client of 2025-11-25 names the last event that it has had (`Last-Event-ID`) and gets those after it. Only the
latest are kept, of all streams together and as the bytes that they are on the wire; a client that comes too late
asks again.
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


class Events(EventStore):
    """The latest events, in memory."""

    def __init__(self) -> None:
        self._sent: OrderedDict[int, tuple[str, bytes]] = OrderedDict()
        self._count = 0
        self._bytes = 0

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        """Keep an event; its id."""
        self._count += 1
        text = _text(message)
        self._sent[self._count] = (stream_id, text)
        self._bytes += len(text)
        while len(self._sent) > 1 and (len(self._sent) > MAX_EVENTS or self._bytes > MAX_EVENT_BYTES):
            _, (_, oldest) = self._sent.popitem(last=False)
            self._bytes -= len(oldest)
        return str(self._count)

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        """Send what came after an event on its stream; the stream, if the event is still known."""
        last = int(last_event_id) if last_event_id.isdecimal() else 0
        if last not in self._sent:
            return None
        stream, _ = self._sent[last]
        for number, (of, text) in list(self._sent.items()):
            # An event without a message only opens a stream.
            if of == stream and number > last and text:
                await send_callback(EventMessage(jsonrpc_message_adapter.validate_json(text), str(number)))
        return stream


def _text(message: JSONRPCMessage | None) -> bytes:
    if message is None:
        return b""
    if isinstance(message, JSONRPCResponse):
        return compact({"jsonrpc": "2.0", "id": message.id, "result": message.result}).encode()
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode()
