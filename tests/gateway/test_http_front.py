"""What clients are spoken to in: HTTP/1.1, strictly, and sent together."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress

import pytest
import uvicorn
from uvicorn.server import ServerState

from gateway.raw import SOON_S
from louver.gateway.http_front import Front, Together
from louver.limits import MAX_HTTP_HEAD

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def answered(*sent, body=b"ok"):
    """What an application got of what was sent, and the reader of what it answers."""
    got = []

    async def app(scope, receive, send):
        said = b""
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            said += message.get("body", b"")
            if not message.get("more_body"):
                break
        got.append((scope, said))
        head = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": body})

    config = uvicorn.Config(app, h11_max_incomplete_event_size=MAX_HTTP_HEAD, lifespan="off", log_config=None)
    config.load()

    def made():
        return Front(config=config, server_state=ServerState(), app_state={})

    server = await asyncio.get_running_loop().create_server(made, "127.0.0.1", 0)
    async with asyncio.timeout(SOON_S), server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        try:
            for part in sent:
                writer.write(part)
                await asyncio.sleep(0)
            yield got, reader
        finally:
            writer.close()


HEAD = b"POST /mcp HTTP/1.1\r\nhost: h\r\n"
REQUEST = HEAD + b"content-length: 1\r\n\r\nx"


async def test_space_around_the_value_of_a_header_is_none_of_it():
    """RFC 9110, section 5.5; the official suite asks for it."""
    async with answered(HEAD + b"X-A:  b c \t\r\ncontent-length: 1\r\n\r\nx") as (got, reader):
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
    assert (b"x-a", b"b c") in got[0][0]["headers"]


UPGRADE = HEAD + b"connection: upgrade, http2-settings\r\nupgrade: h2c\r\n"
UPGRADES = {
    "a length": (b"content-length: 4\r\n\r\nGET ", b"GET "),
    "chunks": (b"transfer-encoding: chunked\r\n\r\n3\r\nGET\r\n1\r\n \r\n0\r\n\r\n", b"GET "),
    "no body": (b"\r\n", b""),
}


@pytest.mark.parametrize("body", UPGRADES)
@pytest.mark.parametrize("size", [1, 7, 1000])
async def test_a_request_that_asks_for_another_protocol_keeps_its_body(body, size):
    """RFC 9110, section 7.8: as clients do that would speak HTTP/2. What follows it is the next request."""
    sent, said = UPGRADES[body]
    whole = UPGRADE + sent + REQUEST + UPGRADE + sent + REQUEST
    pieces = [whole[start : start + size] for start in range(0, len(whole), size)]
    async with answered(*pieces) as (got, reader):
        for _ in range(4):
            assert (await reader.readline()).startswith(b"HTTP/1.1 200")
            await reader.readuntil(b"\r\n\r\nok")
    assert [(scope["path"], each) for scope, each in got] == [("/mcp", said), ("/mcp", b"x")] * 2
    assert (b"upgrade", b"h2c") in got[0][0]["headers"]


async def test_fields_behind_a_body_are_no_headers():
    """RFC 9110, section 6.5.1."""
    chunked = HEAD + b"transfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nauthorization: other\r\n\r\n"
    async with answered(chunked) as (got, reader):
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
    assert b"authorization" not in dict(got[0][0]["headers"])


ENDLESS = {
    "a line": b"POST /" + b"x" * 2 * MAX_HTTP_HEAD,
    "a header": HEAD + b"x: " + b"y" * 2 * MAX_HTTP_HEAD,
    "trailers": HEAD + b"transfer-encoding: chunked\r\n\r\n0\r\n" + b"x: y\r\n" * MAX_HTTP_HEAD,
}


@pytest.mark.parametrize("name", ENDLESS)
async def test_a_head_without_an_end_is_refused(name):
    """Ours: `MAX_HTTP_HEAD`; nothing of it is kept."""
    sent = ENDLESS[name]
    pieces = [sent[start : start + 1000] for start in range(0, len(sent), 1000)]
    async with answered(*pieces) as (_, reader):
        # What was still on its way when the connection was closed resets it.
        with suppress(ConnectionResetError):
            assert b" 200 " not in await reader.read()


NOT_HTTP = {
    "garbage": b"garbage\r\n\r\n",
    "no host": b"POST /mcp HTTP/1.1\r\ncontent-length: 0\r\n\r\n",
    "two hosts": HEAD + b"host: h\r\ncontent-length: 0\r\n\r\n",
    "no version": b"POST /mcp\r\n\r\n",
    "two lengths": HEAD + b"content-length: 1\r\ncontent-length: 2\r\n\r\nxx",
    "a signed length": HEAD + b"content-length: +1\r\n\r\nx",
    "space before a colon": HEAD + b"content-length : 1\r\n\r\nx",
    "a control character": HEAD + b"x: a\0b\r\n\r\n",
}


@pytest.mark.parametrize("name", NOT_HTTP)
async def test_what_is_not_http_is_refused(name):
    """RFC 9112, sections 2.3, 3.2, 5.1, 6.1 and 6.3."""
    async with answered(NOT_HTTP[name]) as (got, reader):
        assert (await reader.readline()).startswith(b"HTTP/1.1 400")
    assert got == []


@pytest.mark.parametrize(
    "coding", [b"gzip, chunked", b"gzip", b"chunked, chunked", b"gzip\r\ntransfer-encoding: chunked"]
)
async def test_a_coding_that_is_not_known_is_refused(coding):
    """RFC 9112, section 6.1."""
    async with answered(HEAD + b"transfer-encoding: " + coding + b"\r\n\r\n0\r\n\r\n") as (got, reader):
        assert (await reader.readline())[:10] in (b"HTTP/1.1 4", b"HTTP/1.1 5")
    assert got == []


async def test_a_tunnel_is_none():
    """RFC 9110, section 9.3.6: what follows is a request, or nothing."""
    async with answered(b"CONNECT h:1 HTTP/1.1\r\nhost: h\r\n\r\n" + REQUEST) as (got, reader):
        assert (await reader.readline()).startswith(b"HTTP/1.1 ")
    assert all(scope["method"] in ("CONNECT", "POST") for scope, _ in got)


async def test_what_comes_before_is_answered_before_the_rest_is_refused():
    """RFC 9112, section 9.3.2: a refusal is not taken for the answer to another request."""
    async with answered(REQUEST + REQUEST + b"garbage\r\n\r\n") as (got, reader):
        said = await reader.read()
    assert said.startswith(b"HTTP/1.1 200")
    assert said.count(b"HTTP/1.1 200") == len(got) == 2


@pytest.mark.parametrize("before", [b"", REQUEST])
async def test_a_body_that_goes_wrong_is_refused(before):
    """RFC 9112, section 7.1; nothing of it is taken for an answer to what came before."""
    wrong = HEAD + b"transfer-encoding: chunked\r\n\r\nno length\r\n"
    async with answered(before + wrong) as (got, reader):
        said = await reader.read()
    assert said.startswith(b"HTTP/1.1 200" if before else b"HTTP/1.1 400")
    assert [each for _, each in got] == ([b"x"] if before else [])


async def test_what_follows_a_last_request_is_not_read():
    """RFC 9112, section 9.6."""
    last = HEAD + b"connection: close\r\ncontent-length: 1\r\n\r\nx"
    async with answered(UPGRADE + b"\r\n" + last + REQUEST) as (got, reader):
        said = await reader.read()
    assert len(got) == said.count(b"HTTP/1.1 200") == 2


@pytest.mark.parametrize("body", [b"", b"ok", b"x" * 1_000_000])
async def test_requests_follow_each_other_on_one_connection(body):
    """Ours: an answer comes whole, however large it is, and the connection lives."""
    async with answered(REQUEST, REQUEST, body=body) as (got, reader):
        for _ in range(2):
            assert (await reader.readline()).startswith(b"HTTP/1.1 200")
            assert b"content-length" in (await reader.readuntil(b"\r\n\r\n"))
            assert await reader.readexactly(len(body)) == body
    assert len(got) == 2


class Lines(asyncio.Protocol):
    """The other end of a connection of a test, which notes whether it was told to wait."""

    def __init__(self, made):
        self.made = made
        self.pauses = 0
        self.lost = asyncio.get_running_loop().create_future()

    def connection_made(self, transport):
        self.made.set_result((self, transport))

    def pause_writing(self):
        self.pauses += 1

    def connection_lost(self, exc):
        self.lost.set_result(exc)


@asynccontextmanager
async def connected():
    """A protocol and its transport, and the streams of who has connected to it."""
    made = asyncio.get_running_loop().create_future()
    server = await asyncio.get_running_loop().create_server(lambda: Lines(made), "127.0.0.1", 0)
    async with asyncio.timeout(SOON_S), server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        try:
            yield (*await made, reader, writer)
        finally:
            writer.close()


async def test_what_is_written_in_one_turn_is_sent_together():
    """Ours: sending is what takes long."""
    async with connected() as (_, transport, reader, _writer):
        together = Together(transport)
        together.write(b"head")
        together.write(b"")
        together.write(b"body")
        assert transport.get_write_buffer_size() == 0
        assert await reader.read(100) == b"headbody"
        together.write(b"more")
        together.close()
        assert await reader.read() == b"more"


async def test_a_writer_is_told_to_wait_for_a_client_that_does_not_read():
    """Ours: whatever is written in one turn, no more than that is kept."""
    async with connected() as (protocol, transport, _reader, _writer):
        together = Together(transport)
        written = 0
        while not protocol.pauses:
            together.write(b"x" * 1000)
            written += 1000
            assert written < 100_000_000, "nobody was told to wait"
        assert transport.get_write_buffer_size() < 1_000_000
        transport.abort()


async def test_what_is_written_after_the_client_has_gone_harms_nothing(caplog):
    """Ours."""
    async with connected() as (protocol, transport, _reader, _writer):
        together = Together(transport)
        together.write(b"one")
        transport.abort()
        together.write(b"two")
        await protocol.lost
        together.write(b"three")
        together.close()
        await asyncio.sleep(0)
        assert together.is_closing()
    assert not caplog.records
