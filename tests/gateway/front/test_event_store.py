"""What was sent can be had again, as far as it is still kept."""

from __future__ import annotations

import pytest

from louver.gateway.front import event_store
from louver.gateway.front.event_ids import EventId
from louver.gateway.front.event_store import EventStore


def again(kept, last):
    """The stream of an event, and what a client gets that names it."""
    missed = kept.since(last)
    return (None, []) if missed is None else (missed.stream, [text for _, text in missed.events])


def test_what_came_after_an_event_on_its_stream_is_sent_again():
    """2025-11-25, "Resumability and Redelivery"."""
    kept = EventStore().open_session()
    opened = kept.store("a", None)
    said = b'{"jsonrpc":"2.0","method":"x/y"}'
    answer = b'{"jsonrpc":"2.0","id":1,"result":{}}'
    kept.store("a", said)
    kept.store("b", answer, is_response=True)
    kept.store("a", answer, is_response=True)
    assert again(kept, opened) == ("a", [said, answer])


def test_a_session_knows_no_events_of_another():
    """2025-11-25, "Resumability and Redelivery": streams are a session's own. The SDK calls two of them the same."""
    events = EventStore()
    one, other = events.open_session(), events.open_session()
    opened = one.store("7", None)
    answer = b'{"jsonrpc":"2.0","id":7,"result":{}}'
    other.store("7", answer, is_response=True)
    assert again(one, opened) == ("7", [])
    # Its own event of that number, which is the last of its stream.
    assert again(other, opened) == ("7", [])
    assert again(other, opened + 1) == (None, [])
    one.store("7", answer, is_response=True)
    assert again(one, opened) == ("7", [answer])


@pytest.mark.parametrize("last", ["", "x", "-1", "²", 5000 * "9"])
def test_an_event_that_a_client_makes_up_is_none(last):
    """Ours: Python reads no number of so many digits, and would say so by an error."""
    kept = EventStore().open_session()
    kept.store("a", None)
    assert again(kept, EventId.read(last).number) == (None, [])


def test_the_bytes_that_are_kept_are_bounded(monkeypatch):
    """Ours: ten thousand large answers would be gigabytes; the latest can always be had."""
    monkeypatch.setattr(event_store, "MAX_EVENT_BYTES", 1000)
    kept = EventStore().open_session()
    opened = [kept.store("a", None)]
    for number in range(3):
        answer = answer_of(number, 600)
        opened.append(kept.store("a", answer, is_response=True))
    assert [(again(kept, each))[0] for each in opened] == [None, None, None, "a"]


def answer_of(number, size=0):
    return b'{"jsonrpc":"2.0","id":%d,"result":{"text":"%b"}}' % (number, b"x" * size)


def test_what_one_session_is_answered_takes_nothing_from_another(monkeypatch):
    """Ours: who holds the most loses first, and the latest is kept beside what the others hold."""
    monkeypatch.setattr(event_store, "MAX_EVENT_BYTES", 1000)
    all_events = EventStore()
    one, large, third = (all_events.open_session() for _ in range(3))
    opened = one.store("a", None)
    one.store("a", answer_of(1), is_response=True)
    of_large = [large.store("b", answer_of(number, 5000), is_response=True) for number in range(3)]
    assert [(again(large, each))[0] for each in of_large] == [None, None, "b"]
    third.store("c", answer_of(2), is_response=True)
    assert again(one, opened) == ("a", [answer_of(1)])
    assert (again(large, of_large[-1]))[0] is None


def test_the_bytes_of_however_many_sessions_are_bounded(monkeypatch):
    """Ours: as many as of one, beside the latest."""
    monkeypatch.setattr(event_store, "MAX_EVENT_BYTES", 1000)
    all_events = EventStore()
    sessions = [all_events.open_session() for _ in range(50)]
    opened = [each.store("a", None) for each in sessions]
    for each in sessions:
        each.store("a", answer_of(1, 100), is_response=True)
    found = [again(each, last) for each, last in zip(sessions, opened, strict=True)]
    assert sum(len(said) for _, said in found) * 100 <= 1000
    assert found[-1] == ("a", [answer_of(1, 100)])


def test_of_two_sessions_that_hold_as_much_the_one_of_before_loses(monkeypatch):
    """Ours: else both would be kept, over the bound. Which of them is looked at first is by chance."""
    monkeypatch.setattr(event_store, "MAX_EVENT_BYTES", 200)
    rounds = [EventStore() for _ in range(100)]
    of_rounds = [(each.open_session(), each.open_session()) for each in rounds]
    for one, other in of_rounds:
        opened = [each.store("a", None) for each in (one, other)]
        one.store("a", answer_of(1, 100), is_response=True)
        other.store("a", answer_of(1, 100), is_response=True)
        assert again(one, opened[0]) == (None, [])
        assert again(other, opened[1]) == ("a", [answer_of(1, 100)])


def test_the_events_of_however_many_sessions_are_bounded(monkeypatch):
    """Ours: those without a text too; the session that has the most of them loses its oldest."""
    monkeypatch.setattr(event_store, "MAX_EVENTS", 10)
    all_events = EventStore()
    one, many = (all_events.open_session() for _ in range(2))
    opened = one.store("a", None)
    of_many = [many.store("b", None) for _ in range(20)]
    assert again(one, opened) == ("a", [])
    assert [(again(many, each))[0] for each in of_many] == [None] * 11 + ["b"] * 9


def test_a_stream_whose_answer_is_to_come_can_be_taken_up_whatever_of_it_is_lost(monkeypatch):
    """Ours: the answer is worth more than what was said on the way; once it is lost, a client asks again."""
    monkeypatch.setattr(event_store, "MAX_EVENT_BYTES", 1000)
    kept = EventStore().open_session()
    said = b"x" * 600
    events_had = [kept.store("a", None)] + [kept.store("a", said) for _ in range(2)]
    kept.store("a", answer_of(1), is_response=True)
    assert [again(kept, each) for each in events_had] == [("a", [said, answer_of(1)])] * 2 + [("a", [answer_of(1)])]
    for number in range(2):
        kept.store("b", answer_of(number, 600), is_response=True)
    assert [(again(kept, each))[0] for each in events_had] == [None] * 3


def test_an_event_id_tells_nothing_of_other_sessions():
    """Ours: one count for all would tell how busy the others are."""
    all_events = EventStore()
    one, other = (all_events.open_session() for _ in range(2))
    of_one = []
    for _ in range(3):
        of_one.append(one.store("a", None))
        other.store("b", None)
    assert of_one == [1, 2, 3]


def test_many_sessions_of_one_owner_take_nothing_from_another(monkeypatch):
    """Ours: who holds the most in all loses first, in however small sessions."""
    monkeypatch.setattr(event_store, "MAX_EVENT_BYTES", 1000)
    all_events = EventStore()
    mine = all_events.open_session("mine")
    opened = mine.store("a", None)
    mine.store("a", answer_of(1, 400), is_response=True)
    for number in range(50):
        many = all_events.open_session("other")
        many.store("b", answer_of(number, 50), is_response=True)
    assert again(mine, opened) == ("a", [answer_of(1, 400)])


def test_nothing_is_kept_of_a_session_that_is_over(monkeypatch):
    """Ours: else the small answers of those who have gone would leave no room for those who are there."""
    monkeypatch.setattr(event_store, "MAX_EVENT_BYTES", 1000)
    all_events = EventStore()
    gone = [all_events.open_session() for _ in range(20)]
    for each in gone:
        each.store("a", answer_of(1), is_response=True)
    here = all_events.open_session()
    for each in gone:
        all_events.close_session(each)
    opened = here.store("a", None)
    for _ in range(2):
        here.store("a", answer_of(2, 400), is_response=True)
    assert again(here, opened) == ("a", [answer_of(2, 400)] * 2)


def test_a_session_that_is_over_stores_nothing_more():
    """Ours: what its calls still say would be counted for nobody."""
    all_events = EventStore()
    session = all_events.open_session()
    opened = session.store("a", None)
    all_events.close_session(session)
    all_events.close_session(session)
    session.store("a", answer_of(1), is_response=True)
    assert again(session, opened) == (None, [])
    assert (all_events._count, all_events._bytes) == (0, 0)
