"""HTTP/1.1 answers are read, by whomever, in whatever pieces they come."""

from __future__ import annotations

import pytest

from louver.http1 import parser
from louver.http1.fast_heads import PlainHeads, plain_response
from louver.http1.parser import END, NOT_HTTP, TRUNCATED, Head, HttptoolsParser, PlainFirstParser
from louver.limits import MAX_HTTP_HEAD, MAX_UPSTREAM_PENDING


class Fault(Exception):
    """What comes is not read, or not to its end."""


def plain_first():
    """What reads the first answer of a connection."""
    return PlainFirstParser(PlainHeads(plain_response))


EACH = [HttptoolsParser, plain_first]
OK = b"HTTP/1.1 200 OK\r\n"

each = pytest.mark.parametrize("made", EACH)
EVERY_WAY = [(made, size) for made in EACH for size in (1, 7, 100_000)]
"""Who reads, and in pieces of how many bytes."""


def parts(made, came, size=100_000, end=False):
    """What is read, bodies joined, and whether the connection can be used no more."""
    reading, found, body = made(), [], b""
    pieces = [came[start : start + size] for start in range(0, len(came), size)]
    for piece in [*pieces, *([b""] if end else [])]:
        reading.feed(piece)
        if found and found[-1] is END:
            continue
        while reading.parts:
            part = reading.parts.popleft()
            assert found or isinstance(part, Head), "an answer begins with its head"
            if isinstance(part, bytes):
                body += part
                continue
            found += [body, part] if part is END else [part]
            if part is END:
                break
        else:
            if reading.fault is not None:
                raise Fault(reading.fault)
    return found, reading.is_last


CHUNKS = b"3;x=1\r\nabc\r\n2\r\nde\r\n0\r\nX-T: 1\r\n\r\n"
INTERIM = b"HTTP/1.1 100 Continue\r\nx: 1\r\n\r\n"
ANSWERS = {
    "of a length": (OK + b"Content-Length: 5\r\nX-A:  b c \t\r\n\r\nhello", b"hello", False),
    "in chunks": (
        OK + b"transfer-encoding: chunked\r\n\r\n" + CHUNKS,
        b"abcde",
        False,
    ),
    "empty": (OK + b"content-length: 0\r\n\r\n", b"", False),
    "of a status without a body": (b"HTTP/1.1 204 None\r\n\r\n", b"", False),
    "after an interim one": (
        INTERIM + OK + b"content-length: 2\r\n\r\nab",
        b"ab",
        False,
    ),
    "the last": (OK + b"connection: close\r\ncontent-length: 2\r\n\r\nab", b"ab", True),
    "of HTTP/1.0": (b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nab", b"ab", True),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_read(name):
    """RFC 9112, sections 6 and 7."""
    came, body, is_last = ANSWERS[name]
    for made, size in EVERY_WAY:
        (head, found, end), last = parts(made, came, size)
        assert isinstance(head, Head)
        assert head.status == (204 if "204" in str(came) else 200)
        assert (found, end, last) == (body, END, is_last), (made, size)


@each
def test_headers_are_named_in_lower_case_without_space_around_their_values(made):
    """RFC 9110, section 5.5; what comes after a body changes nothing of them."""
    (head, *_), _ = parts(made, ANSWERS["of a length"][0])
    assert head.headers == {b"content-length": b"5", b"x-a": b"b c"}
    (head, *_), _ = parts(made, ANSWERS["in chunks"][0])
    assert head.headers == {b"transfer-encoding": b"chunked"}


def test_a_body_may_end_with_its_connection():
    """RFC 9112, section 6.3."""
    for made, size in EVERY_WAY:
        (_, body, end), last = parts(made, OK + b"\r\nabc", size, end=True)
        assert (body, end, last) == (b"abc", END, True), (made, size)


@each
def test_more_than_was_asked_for_ends_the_connection(made):
    """Ours: nobody knows whose answer it would be."""
    for said in (b"", b"ab"):
        for more in (OK, b"x"):
            (_, body, end), last = parts(made, OK + b"content-length: %d\r\n\r\n" % len(said) + said + more)
            assert (body, end, last) == (said, END, True)


CUT = [OK, OK + b"content-length: 5\r\n\r\nab", OK + b"transfer-encoding: chunked\r\n\r\n5\r\nab", b""]


@each
@pytest.mark.parametrize("came", CUT)
def test_an_answer_that_is_cut_is_told_so(made, came):
    """Ours."""
    with pytest.raises(Fault, match=TRUNCATED):
        parts(made, came, end=True)


WRONG = {
    "garbage": b"garbage\r\n\r\n",
    "HTTP/2": b"HTTP/2.0 200 OK\r\ncontent-length: 3\r\n\r\nabc",
    "a length and chunks": OK + b"content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
    "chunks and a length": OK + b"transfer-encoding: chunked\r\ncontent-length: 1\r\n\r\n1\r\na\r\n0\r\n\r\n",
    "two lengths": OK + b"content-length: 1\r\ncontent-length: 2\r\n\r\nab",
    "a length that is none": OK + b"content-length: +1\r\n\r\na",
    "a space before the colon": OK + b"x : a\r\ncontent-length: 0\r\n\r\n",
    "another coding": OK + b"transfer-encoding: gzip, chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
    "a chunk without a size": OK + b"transfer-encoding: chunked\r\n\r\nx\r\nabc\r\n",
    "another protocol": b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
}


@pytest.mark.whole
@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_answer_is_told(name):
    """Ours: what could be read in two ways is not read at all."""
    for made, size in EVERY_WAY:
        with pytest.raises(Fault, match=NOT_HTTP):
            parts(made, WRONG[name], size)


ENDLESS = {
    "a status": b"HTTP/1.1 200 " + b"x" * MAX_HTTP_HEAD,
    "a header": OK + b"x: " + b"y" * MAX_HTTP_HEAD,
    "headers": OK + b"x: y\r\n" * (MAX_HTTP_HEAD // 6),
    "trailers": OK + b"transfer-encoding: chunked\r\n\r\n0\r\n" + b"x: y\r\n" * (MAX_HTTP_HEAD // 6 + 10),
}


@each
@pytest.mark.parametrize("name", ENDLESS)
def test_what_has_no_end_is_not_waited_for(made, name):
    """Ours: `MAX_HTTP_HEAD`."""
    with pytest.raises(Fault, match=NOT_HTTP):
        parts(made, ENDLESS[name] + b"\t", 1000)


@pytest.mark.parametrize(
    "fields", [b"content-length: 5\r\n", b"Connection: Keep-Alive\r\nContent-Length: 5\r\nx: y z\r\n"]
)
@pytest.mark.parametrize(("at", "more"), [(0, b"more"), (1, b""), (4, b"more")])
def test_a_plain_answer_needs_no_other_reader(fields, at, more, monkeypatch):
    """Ours: its head has come as one, as heads do."""
    monkeypatch.setattr(parser.httptools, "HttpResponseParser", None)
    first = plain_first()
    head = OK + fields + b"\r\n"
    for piece in (head + b"hello"[:at], b"hello"[at:]):
        first.feed(piece)
    found = [*first.parts]
    first.parts.clear()
    assert (found[0].status, found[0].headers[b"content-length"], found[-1]) == (200, b"5", END)
    assert (b"".join(found[1:-1]), first.is_last) == (b"hello", False)
    first.feed(more)
    assert ([*first.parts], first.fault, first.is_last) == ([], None, True)


@pytest.mark.parametrize(
    ("fields", "waits"),
    [
        (b"content-type: application/json\r\ncontent-length: 5\r\n\r\n", True),
        (b"content-type: Text/Event-Stream\r\ncontent-length: 5\r\n\r\n", False),
        (b"content-length: %d\r\n\r\n" % (MAX_UPSTREAM_PENDING + 1), False),
        (b"content-length: 0\r\n\r\n", False),
        (b"transfer-encoding: chunked\r\n\r\n5\r\nhe", False),
    ],
)
def test_a_short_body_is_awaited_whole(fields, waits):
    """Ours: its reader wakes up once. Events are delivered at once, and a long body in parts."""
    first = plain_first()
    first.feed(OK + fields)
    assert first.awaits_body == waits
    first.feed(b"llo")
    assert first.awaits_body == waits
    first.feed(b"lo")
    assert not first.awaits_body
