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


async def test_a_request_that_asks_for_another_protocol_keeps_its_body():
    """RFC 9110, section 7.8: as clients do that would speak HTTP/2."""
    upgrade = HEAD + b"connection: upgrade, http2-settings\r\nupgrade: h2c\r\ncontent-length: 4\r\n\r\nGET "
    async with answered(upgrade) as (got, reader):
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
    assert [said for _, said in got] == [b"GET "]


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


@pytest.mark.parametrize("sent", [b"garbage\r\n\r\n", b"POST /mcp HTTP/1.1\r\ncontent-length: 0\r\n\r\n"])
async def test_what_is_not_http_is_refused(sent):
    """RFC 9112, sections 2.2 and 3.2."""
    async with answered(sent) as (got, reader):
        assert (await reader.readline()).startswith(b"HTTP/1.1 400")
    assert got == []


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
