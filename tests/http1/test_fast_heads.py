"""What is taken for a plain head is read as h11 reads it; all else is left to who knows all of HTTP."""

from __future__ import annotations

import h11
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from louver.http1.fast_heads import PlainHeads, plain_request, plain_response
from louver.limits import MAX_HTTP_HEAD

POST = b"POST /mcp HTTP/1.1\r\n"
OK = b"HTTP/1.1 200 OK\r\n"
LINES = [
    b"host: h",
    b"Host: h:80",
    b"content-length: 3",
    b"Content-Length: 0",
    b"content-length: 003",
    b"content-length: 4, 4",
    b"content-length: +3",
    b"content-length: 3 ",
    b"content-length:3",
    b"content-length : 3",
    b"content_length: 3",
    b"transfer-encoding: chunked",
    b"Transfer-Encoding: identity",
    b"transfer-encoding : chunked",
    b"connection: keep-alive",
    b"connection: close",
    b"connection: Keep-Alive, upgrade",
    b"upgrade: h2c",
    b"expect: 100-continue",
    b"trailer: x",
    b"x: y",
    b"X: y  z",
    b"x:  y",
    b"x:\ty",
    b"x: y\t",
    b"x: \xe9",
    b"x: a\0b",
    b"x: a\rb",
    b"x: a\nb",
    b" folded",
    b"x:",
    b"x: ",
    b": y",
    b"x",
    b"",
]
FIRST = [
    POST,
    OK,
    b"POST /a%20b HTTP/1.1\r\n",
    b"POST /mcp?x=1 HTTP/1.1\r\n",
    b"POST http://h/mcp HTTP/1.1\r\n",
    b"POST * HTTP/1.1\r\n",
    b"POST  /mcp HTTP/1.1\r\n",
    b"POST /mcp HTTP/1.0\r\n",
    b"POST /mcp HTTP/1.1\n",
    b"POST //h/../mcp HTTP/1.1\r\n",
    b"post /mcp HTTP/1.1\r\n",
    b"GET /mcp HTTP/1.1\r\n",
    b"HTTP/1.0 200 OK\r\n",
    b"HTTP/1.1 204 No Content\r\n",
    b"HTTP/1.1 200 \r\n",
    b"HTTP/1.1 100 Continue\r\n",
]
heads = st.builds(
    lambda first, lines, ends, rest: first + b"".join(map(b"".join, zip(lines, ends, strict=False))) + b"\r\n" + rest,
    st.sampled_from(FIRST),
    st.lists(st.sampled_from(LINES), max_size=6),
    st.lists(st.sampled_from([b"\r\n"] * 8 + [b"\n", b"\r"]), min_size=6, max_size=6),
    st.sampled_from([b"", b"abc", b"abcdef", POST]),
)
changed = st.builds(
    lambda head, at, byte: head[: at % len(head)] + byte + head[at % len(head) + 1 :],
    heads,
    st.integers(0, 200),
    st.binary(max_size=2),
)


def framing(fields):
    """How h11 says that the body is framed, of fields that it has taken."""
    told = [value for name, value in fields if name == b"content-length"]
    return None if any(name == b"transfer-encoding" for name, _ in fields) else told


@given(heads | changed)
@example(POST + b"host: h\r\ncontent-length: 3\r\n\r\nabc")
def test_a_plain_request_is_what_h11_reads(data):
    """RFC 9112: nobody before or behind may read it otherwise."""
    head = plain_request(data)
    if head is None:
        return
    http = h11.Connection(h11.SERVER)
    http.receive_data(data)
    request = http.next_event()
    assert isinstance(request, h11.Request)
    assert (request.method, request.target, request.http_version) == (b"POST", head.target, b"1.1")
    assert list(request.headers) == list(head.fields.items())
    assert framing(request.headers) == [head.fields[b"content-length"]]
    assert not http.they_are_waiting_for_100_continue
    body = b""
    while isinstance(event := http.next_event(), h11.Data):
        body += event.data
    assert body == data[head.end :][: head.length]
    assert isinstance(event, h11.EndOfMessage) == (len(data) >= head.end + head.length)
    if isinstance(event, h11.EndOfMessage):
        assert http.their_state is h11.DONE, "the connection lives"


@given(heads | changed)
@example(OK + b"content-length: 3\r\n\r\nabc")
def test_a_plain_answer_is_what_h11_reads(data):
    """Likewise."""
    head = plain_response(data)
    if head is None:
        return
    http = h11.Connection(h11.CLIENT)
    http.send(h11.Request(method="POST", target="/", headers=[("host", "h"), ("content-length", "0")]))
    http.send(h11.EndOfMessage())
    http.receive_data(data)
    answer = http.next_event()
    assert isinstance(answer, h11.Response)
    assert (answer.status_code, answer.http_version) == (200, b"1.1")
    assert dict(answer.headers) == head.fields
    assert framing(answer.headers) == [head.fields[b"content-length"]]


@given(
    st.lists(heads | changed, max_size=3).flatmap(lambda some: st.lists(st.sampled_from(some or [POST]), max_size=6))
)
@example(
    [
        POST + b"host: h\r\ncontent-length: 3\r\n" + rest
        for rest in (b"\r\nabc", b"\r\nxyz", b"x: y\r\n\r\nabc", b"\r\n")
    ]
)
@example([POST + b"host: h\r\n" + rest for rest in (b"content-length: 3\r\n\r\n", b"content-length: 3\r\n", b"\r\n")])
@pytest.mark.parametrize("read", [plain_request, plain_response])
def test_heads_on_one_connection_are_each_read_as_if_alone(read, said):
    """Ours: what was said before is nothing to a message, whether it begins likewise or not."""
    connection = PlainHeads(read)
    assert [connection.read(data) for data in said] == [read(data) for data in said]


def test_a_head_that_comes_again_is_not_read_again():
    """Ours: nearly all are as the last one was."""
    read = []
    connection = PlainHeads(lambda data: read.append(data) or plain_request(data))
    head = POST + b"host: h\r\ncontent-length: 3\r\n\r\n"
    for data in (head + b"abc", head, head + b"xyz"):
        assert connection.read(data).length == 3
    assert read == [head + b"abc"]


NEEDED = b"host: h\r\ncontent-length: 3\r\n"
PLAIN = {
    "": {b"host": b"h", b"content-length": b"3"},
    "connection: keep-alive": {b"connection": b"keep-alive"},
    "Connection: Keep-Alive": {b"connection": b"Keep-Alive"},
    "X-A: b, c: d": {b"x-a": b"b, c: d"},
}


@pytest.mark.parametrize("line", PLAIN)
def test_what_clients_send_is_plain(line):
    """Ours: else this would be for nothing."""
    said = POST + NEEDED + (f"{line}\r\n".encode() if line else b"") + b"\r\n"
    head = plain_request(said + b"abc")
    assert (head.target, head.length, head.end) == (b"/mcp", 3, len(said))
    assert PLAIN[line].items() <= head.fields.items()
    assert plain_response(OK + said.removeprefix(POST)).fields == head.fields


NOT_PLAIN = {
    "not whole": POST + NEEDED,
    "no length": POST + b"host: h\r\n\r\n",
    "a name twice": POST + NEEDED + b"x: a\r\nX: b\r\n\r\n",
    "two lengths": POST + NEEDED + b"content-length: 3\r\n\r\n",
    "a length that is none": POST + b"host: h\r\ncontent-length: 3x\r\n\r\n",
    "a length of many digits": POST + b"host: h\r\ncontent-length: 1234567890\r\n\r\n",
    "chunks": POST + NEEDED + b"transfer-encoding: chunked\r\n\r\n",
    "another protocol": POST + NEEDED + b"upgrade: h2c\r\n\r\n",
    "fields behind its body": POST + NEEDED + b"trailer: x\r\n\r\n",
    "what is waited for": POST + NEEDED + b"expect: 100-continue\r\n\r\n",
    "the last": POST + NEEDED + b"connection: close\r\n\r\n",
    "a word on the connection": POST + NEEDED + b"connection: keep-alive, upgrade\r\n\r\n",
    "space before a colon": POST + NEEDED + b"x : y\r\n\r\n",
    "another method": POST.replace(b"POST", b"PUT") + NEEDED + b"\r\n",
    "another version": POST.replace(b"1.1", b"1.0") + NEEDED + b"\r\n",
    "a query": POST.replace(b"/mcp", b"/mcp?a") + NEEDED + b"\r\n",
    "a value with space around it": POST + NEEDED + b"x:  y\r\n\r\n",
    "a line without its return": POST + NEEDED + b"x: y\n\r\n",
    "a long head": POST + NEEDED + b"x: " + b"y" * MAX_HTTP_HEAD + b"\r\n\r\n",
}


@pytest.mark.parametrize("name", NOT_PLAIN)
def test_what_is_unusual_is_not_plain(name):
    """Ours."""
    assert plain_request(NOT_PLAIN[name]) is None
    assert plain_response(NOT_PLAIN[name].replace(POST, OK)) is None


def test_a_request_needs_a_host():
    """RFC 9112, section 3.2."""
    assert plain_request(POST + b"content-length: 0\r\n\r\n") is None
    assert plain_response(OK + b"content-length: 0\r\n\r\n") is not None
