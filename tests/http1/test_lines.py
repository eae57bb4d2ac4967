"""Lines and events are the same however their bytes are cut, and bounded."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from louver.errors import UpstreamTooLarge
from louver.http1 import sse
from louver.http1.lines import LineDecoder
from louver.http1.sse import SseDecoder, SseEvent

EVENTS = (
    "\ufeff: a comment\n\n"
    "event: other\nid: 1\ndata: a\ndata:b\ndata:  c\n\n"
    "id: 2\nretry: 500\ndata: \n\n"
    "data\n\n"
    "retry: soon\nid: no\0\nunknown: x\n\n"
    "retry: 99999999\n\n"
    "retry: 0\n\n"
    "id\ndata: d\n\n"
    "data: never whole"
).encode()

READ = [
    SseEvent(b"a\nb\n c", "1", None, "other"),
    SseEvent(b"", "2", 0.5),
    SseEvent(b""),
    SseEvent(b"", None, 30.0),
    SseEvent(b"", None, 0.1),
    SseEvent(b"d", ""),
]


@st.composite
def cuts(draw, whole):
    """The pieces of some bytes."""
    at = sorted(draw(st.lists(st.integers(0, len(whole)))))
    return [whole[start:end] for start, end in pairwise([0, *at, len(whole)])]


@given(st.data(), st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_events_are_read_however_they_are_cut(data, end):
    """The HTML standard, "Server-sent events"; a wait is at least 0.1 s and at most 30 s, which is ours."""
    reader = SseDecoder()
    pieces = data.draw(cuts(EVENTS.replace(b"\n", end)))
    assert [event for piece in pieces for event in reader.feed(piece)] == READ


@given(st.data(), st.lists(st.sampled_from([b"\n", b"\r\n", b"\r"]), max_size=30))
def test_a_stream_may_end_its_lines_in_all_ways(data, ends):
    """Likewise; few or many."""
    reader = SseDecoder()
    pieces = data.draw(cuts(b"".join(b"data: %d%b%b" % (number, end, end) for number, end in enumerate(ends))))
    found = [event.data for piece in pieces for event in reader.feed(piece)]
    assert found == [b"%d" % number for number in range(len(ends))]


@given(st.data(), st.lists(st.binary(max_size=5).map(lambda line: line.replace(b"\n", b""))))
def test_lines_are_read_however_they_are_cut(data, lines):
    reader = LineDecoder(5)
    pieces = data.draw(cuts(b"".join(line + b"\n" for line in lines) + b"rest"))
    assert [line for piece in pieces for line in reader.feed(piece)] == lines


@pytest.mark.parametrize("pieces", [[b"ok\n123456\n"], [b"123456"], [b"123", b"456"], [b"12345", b"6\n"]])
def test_a_line_over_the_bound_is_refused(pieces):
    """Ours: whole or not, so that an endless one is no more than its bound."""
    *first, last = pieces
    reader = LineDecoder(5)
    assert [reader.feed(piece) for piece in first] == [[] for _ in first]
    with pytest.raises(UpstreamTooLarge):
        reader.feed(last)


def test_an_event_of_many_lines_has_the_bound_of_one(monkeypatch):
    """Ours."""
    monkeypatch.setattr(sse, "MAX_UPSTREAM_BYTES", 100)
    with pytest.raises(UpstreamTooLarge):
        list(SseDecoder().feed(b"data: 12345678\n" * 12))


def test_an_id_that_is_no_header_is_left_out():
    """Ours: it would be sent back as one."""
    read = list(SseDecoder().feed("id: é\ndata: a\n\nid: ".encode() + b"x" * 1025 + b"\ndata: b\n\n"))
    assert [event.id for event in read] == [None, None]
