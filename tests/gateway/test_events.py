"""What was sent can be had again, as far as it is still kept."""

from __future__ import annotations

import pytest
from mcp_types import JSONRPCNotification, JSONRPCResponse

from louver.gateway import events
from louver.gateway.events import Events

pytestmark = pytest.mark.anyio


async def again(kept, last):
    """What a client gets that names an event."""
    found = []

    async def send(event):
        found.append(event.message)

    return await kept.replay_events_after(last, send), found


async def test_what_came_after_an_event_on_its_stream_is_sent_again():
    """2025-11-25, "Resumability and Redelivery"."""
    kept = Events().of_one_session()
    opened = await kept.store_event("a", None)
    said = JSONRPCNotification(jsonrpc="2.0", method="x/y", params={"none": None})
    answer = JSONRPCResponse(jsonrpc="2.0", id=1, result={"big": 2**70, "none": None, "text": "é😀"})
    await kept.store_event("a", said)
    await kept.store_event("b", answer)
    await kept.store_event("a", answer)
    assert await again(kept, opened) == ("a", [said, answer])


async def test_a_session_knows_no_events_of_another():
    """2025-11-25, "Resumability and Redelivery": streams are a session's own. The SDK calls two of them the same."""
    events = Events()
    one, other = events.of_one_session(), events.of_one_session()
    opened = await one.store_event("7", None)
    answer = JSONRPCResponse(jsonrpc="2.0", id=7, result={})
    await other.store_event("7", answer)
    assert await again(one, opened) == ("7", [])
    assert await again(other, opened) == (None, [])
    await one.store_event("7", answer)
    assert await again(one, opened) == ("7", [answer])


async def test_the_bytes_that_are_kept_are_bounded(monkeypatch):
    """Ours: ten thousand large answers would be gigabytes; the latest can always be had."""
    monkeypatch.setattr(events, "MAX_EVENT_BYTES", 1000)
    kept = Events().of_one_session()
    opened = [await kept.store_event("a", None)]
    for number in range(3):
        answer = JSONRPCResponse(jsonrpc="2.0", id=number, result={"text": "x" * 600})
        opened.append(await kept.store_event("a", answer))
    assert [(await again(kept, each))[0] for each in opened] == [None, None, None, "a"]
