"""What was sent can be had again, as far as it is still kept."""

from __future__ import annotations

import gc

import pytest
from mcp_types import JSONRPCNotification, JSONRPCResponse

from louver.gateway.serve import event_store
from louver.gateway.serve.event_store import EventBuffer

pytestmark = pytest.mark.anyio


async def again(kept, last):
    """What a client gets that names an event."""
    found = []

    async def send(event):
        found.append(event.message)

    return await kept.replay_events_after(last, send), found


async def test_what_came_after_an_event_on_its_stream_is_sent_again():
    """2025-11-25, "Resumability and Redelivery"."""
    kept = EventBuffer().session_store()
    opened = await kept.store_event("a", None)
    said = JSONRPCNotification(jsonrpc="2.0", method="x/y", params={"none": None})
    answer = JSONRPCResponse(jsonrpc="2.0", id=1, result={"big": 2**70, "none": None, "text": "é😀"})
    await kept.store_event("a", said)
    await kept.store_event("b", answer)
    await kept.store_event("a", answer)
    assert await again(kept, opened) == ("a", [said, answer])


async def test_a_session_knows_no_events_of_another():
    """2025-11-25, "Resumability and Redelivery": streams are a session's own. The SDK calls two of them the same."""
    events = EventBuffer()
    one, other = events.session_store(), events.session_store()
    opened = await one.store_event("7", None)
    answer = JSONRPCResponse(jsonrpc="2.0", id=7, result={})
    await other.store_event("7", answer)
    assert await again(one, opened) == ("7", [])
    assert await again(other, opened) == (None, [])
    await one.store_event("7", answer)
    assert await again(one, opened) == ("7", [answer])


@pytest.mark.parametrize("last", ["", "x", "-1", "²", 5000 * "9"])
async def test_an_event_that_a_client_makes_up_is_none(last):
    """Ours: Python reads no number of so many digits, and would say so by an error."""
    kept = EventBuffer().session_store()
    await kept.store_event("a", None)
    assert await again(kept, last) == (None, [])


async def test_the_bytes_that_are_kept_are_bounded(monkeypatch):
    """Ours: ten thousand large answers would be gigabytes; the latest can always be had."""
    monkeypatch.setattr(event_store, "MAX_EVENT_BYTES", 1000)
    kept = EventBuffer().session_store()
    opened = [await kept.store_event("a", None)]
    for number in range(3):
        answer = JSONRPCResponse(jsonrpc="2.0", id=number, result={"text": "x" * 600})
        opened.append(await kept.store_event("a", answer))
    assert [(await again(kept, each))[0] for each in opened] == [None, None, None, "a"]


def answer_of(number, size=0):
    return JSONRPCResponse(jsonrpc="2.0", id=number, result={"text": "x" * size})


async def test_what_one_session_is_answered_takes_nothing_from_another(monkeypatch):
    """Ours: who holds the most loses first, and the latest is kept beside what the others hold."""
    monkeypatch.setattr(event_store, "MAX_EVENT_BYTES", 1000)
    all_events = EventBuffer()
    one, large, third = (all_events.session_store() for _ in range(3))
    opened = await one.store_event("a", None)
    await one.store_event("a", answer_of(1))
    of_large = [await large.store_event("b", answer_of(number, 5000)) for number in range(3)]
    assert [(await again(large, each))[0] for each in of_large] == [None, None, "b"]
    await third.store_event("c", answer_of(2))
    assert await again(one, opened) == ("a", [answer_of(1)])
    assert (await again(large, of_large[-1]))[0] is None


async def test_the_bytes_of_however_many_sessions_are_bounded(monkeypatch):
    """Ours: as many as of one, beside the latest."""
    monkeypatch.setattr(event_store, "MAX_EVENT_BYTES", 1000)
    all_events = EventBuffer()
    sessions = [all_events.session_store() for _ in range(50)]
    opened = [await each.store_event("a", None) for each in sessions]
    for each in sessions:
        await each.store_event("a", answer_of(1, 100))
    found = [await again(each, last) for each, last in zip(sessions, opened, strict=True)]
    assert sum(len(said) for _, said in found) * 100 <= 1000
    assert found[-1] == ("a", [answer_of(1, 100)])


async def test_of_two_sessions_that_hold_as_much_the_one_of_before_loses(monkeypatch):
    """Ours: else both would be kept, over the bound. Which of them is looked at first is by chance."""
    monkeypatch.setattr(event_store, "MAX_EVENT_BYTES", 200)
    rounds = [EventBuffer() for _ in range(100)]
    of_rounds = [(each.session_store(), each.session_store()) for each in rounds]
    for one, other in of_rounds:
        opened = [await each.store_event("a", None) for each in (one, other)]
        await one.store_event("a", answer_of(1, 100))
        await other.store_event("a", answer_of(1, 100))
        assert await again(one, opened[0]) == (None, [])
        assert await again(other, opened[1]) == ("a", [answer_of(1, 100)])


async def test_the_events_of_however_many_sessions_are_bounded(monkeypatch):
    """Ours: those without a text too; the session that has the most of them loses its oldest."""
    monkeypatch.setattr(event_store, "MAX_EVENTS", 10)
    all_events = EventBuffer()
    one, many = (all_events.session_store() for _ in range(2))
    opened = await one.store_event("a", None)
    of_many = [await many.store_event("b", None) for _ in range(20)]
    assert await again(one, opened) == ("a", [])
    assert [(await again(many, each))[0] for each in of_many] == [None] * 11 + ["b"] * 9


async def test_a_stream_whose_answer_is_to_come_can_be_taken_up_whatever_of_it_is_lost(monkeypatch):
    """Ours: the answer is worth more than what was said on the way; once it is lost, a client asks again."""
    monkeypatch.setattr(event_store, "MAX_EVENT_BYTES", 1000)
    kept = EventBuffer().session_store()
    said = JSONRPCNotification(jsonrpc="2.0", method="x/y", params={"text": "x" * 600})
    events_had = [await kept.store_event("a", None)] + [await kept.store_event("a", said) for _ in range(2)]
    await kept.store_event("a", answer_of(1))
    assert [await again(kept, each) for each in events_had] == [("a", [said, answer_of(1)])] * 2 + [
        ("a", [answer_of(1)])
    ]
    for number in range(2):
        await kept.store_event("b", answer_of(number, 600))
    assert [(await again(kept, each))[0] for each in events_had] == [None] * 3


async def test_nothing_is_kept_of_a_session_that_is_over(monkeypatch):
    """Ours: else the small answers of those who have gone would leave no room for those who are there."""
    monkeypatch.setattr(event_store, "MAX_EVENT_BYTES", 1000)
    all_events = EventBuffer()
    gone = [all_events.session_store() for _ in range(20)]
    for each in gone:
        await each.store_event("a", answer_of(1))
    here = all_events.session_store()
    del each, gone
    gc.collect()
    opened = await here.store_event("a", None)
    for _ in range(2):
        await here.store_event("a", answer_of(2, 400))
    assert await again(here, opened) == ("a", [answer_of(2, 400)] * 2)


@pytest.mark.parametrize("loses", ["evict_text", "evict_event"])
async def test_what_is_kept_is_counted_right_though_a_session_goes_meanwhile(loses, monkeypatch):
    """Ours: the collector comes when it wants; what were never taken off would in the end leave room for nothing."""
    before = getattr(event_store._SessionEvents, loses)

    def lose(kept):
        gc.collect()
        return before(kept)

    monkeypatch.setattr(event_store._SessionEvents, loses, lose)
    monkeypatch.setattr(event_store, "MAX_EVENTS", 4)
    monkeypatch.setattr(event_store, "MAX_EVENT_BYTES", 1000)
    all_events = EventBuffer()
    here, gone = (all_events.session_store() for _ in range(2))
    gone.itself = gone
    await gone.store_event("a", answer_of(1, 600))
    del gone
    for _ in range(4):
        await here.store_event("a", answer_of(2, 600))
    opened = await here.store_event("b", None)
    for _ in range(2):
        await here.store_event("b", answer_of(3, 400))
    assert await again(here, opened) == ("b", [answer_of(3, 400)] * 2)
