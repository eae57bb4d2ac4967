"""Three readers of HTTP agree on where requests with a fault end: ours, h11, and httptools as far as both read them."""

from __future__ import annotations

from contextlib import suppress

import httptools
from hypothesis import example, given
from hypothesis import strategies as st

from fuzz.readers.http_requests import Outcome, Request, read_by_h11, served
from fuzz.readers.transports import run

HEAD = b"POST /mcp HTTP/1.1\r\nhost: h\r\n"
BODIES = {
    b"content-length: 0\r\n\r\n",
    b"content-length: 3\r\n\r\nabc",
    b"Content-Length: 3\r\n\r\n\r\n\r",
    b"transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    b"Transfer-Encoding: chunked\r\n\r\n1;x=y\r\na\r\n02\r\nbc\r\n0\r\nt: u\r\n\r\n",
    b"\r\n",
}
LINES = [
    b"content-length: 3",
    b"content-length: 4",
    b"content-length: 3, 3",
    b"content-length: +3",
    b"content-length: 0x3",
    b"content-length: 3_0",
    b"content-length:",
    b"content-length : 3",
    b"content_length: 3",
    b"transfer-encoding: chunked",
    b"transfer-encoding: identity",
    b"transfer-encoding: gzip, chunked",
    b"transfer-encoding: chunked, identity",
    b"transfer-encoding: xchunked",
    b"transfer-encoding:\x0bchunked",
    b"transfer-encoding : chunked",
    b"transfer_encoding: chunked",
    b"connection: close",
    b"connection: keep-alive, close",
    b"connection: content-length",
    b"host: other",
    b"expect: 100-continue",
    b"trailer: t",
    b" folded",
    b"\tfolded",
    b"x",
    b": x",
    b"x: \xff",
    b"x: a\0b",
    b"x: a\rb",
    b"",
]
SNIPPETS = [
    b"\r",
    b"\n",
    b"\r\n",
    b"\n\n",
    b" ",
    b"\t",
    b"\0",
    b"\x0b",
    b"\x7f",
    b"\xa0",
    b"\xff",
    b":",
    b";",
    b"0",
    b"-",
]


@st.composite
def faulty(draw) -> bytes:
    """Requests on one connection, of which one has one fault."""
    bodies = draw(st.lists(st.sampled_from(sorted(BODIES)), min_size=1, max_size=3))
    before = [HEAD + body for body in bodies]
    at = draw(st.integers(0, len(before) - 1))
    return b"".join([*before[:at], draw(_with_fault(before[at])), *before[at + 1 :]])


@st.composite
def _with_fault(draw, request: bytes) -> bytes:
    kind = draw(st.sampled_from(["line", "line", "line", "inserted", "removed", "replaced", "method", "version"]))
    if kind == "line":
        head, end, rest = request.partition(b"\r\n")
        return head + end + draw(st.sampled_from(LINES)) + b"\r\n" + rest
    if kind == "method":
        return draw(st.sampled_from([b"GET", b"HEAD", b"post", b"PO ST", b"", b"PRI"])) + request.removeprefix(b"POST")
    if kind == "version":
        version = draw(st.sampled_from([b"1.0", b"1.2", b"2.0", b"0.9", b"1,1", b"01.1", b"1.10"]))
        return request.replace(b"HTTP/1.1", b"HTTP/" + version, 1)
    at = draw(st.integers(0, len(request)))
    new = b"" if kind == "removed" else draw(st.sampled_from(SNIPPETS))
    return request[:at] + new + request[at + (kind != "inserted") :]


@given(faulty(), st.sampled_from([1, 7, 10_000]))
@example(HEAD + b"content-length: 0\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", 10_000)
@example(HEAD + b"content-length: 4\r\ncontent-length: 3\r\n\r\nabcd", 10_000)
def test_a_request_with_a_fault_ends_where_other_readers_see_its_end(sent, size):
    """RFC 9112, section 11.2: a proxy in front that sees another end can be made to pass on a request unseen."""
    ours = run(served([sent[start : start + size] for start in range(0, len(sent), size)]))
    assert ours == read_by_h11(sent)
    theirs = _read_by_httptools(sent)
    assert ours.requests[: len(theirs)] == theirs[: len(ours.requests)]


class _Requests:
    """The requests that httptools reads to their end; fields after a body are no headers."""

    def __init__(self) -> None:
        self.found: list[Request] = []
        self.parser = httptools.HttpRequestParser(self)

    def on_message_begin(self) -> None:
        self.target, self.headers, self.body, self.head = b"", [], b"", None

    def on_url(self, url: bytes) -> None:
        self.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value.strip(b" \t")))

    def on_headers_complete(self) -> None:
        self.head = Request(self.parser.get_method().decode(), self.target, list(self.headers), b"")

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        self.found.append(self.head._replace(body=self.body))


def _read_by_httptools(sent: bytes) -> list[Request]:
    reader = _Requests()
    with suppress(httptools.HttpParserError, httptools.HttpParserUpgrade):
        reader.parser.feed_data(sent)
    return reader.found


def test_the_readers_can_disagree():
    """A test must be able to fail: httptools reads a request without a host, which h11 refuses."""
    sent = b"GET / HTTP/1.1\r\n\r\n"
    assert read_by_h11(sent) == Outcome([], True, True)
    assert _read_by_httptools(sent) == [Request("GET", b"/", [], b"")]
