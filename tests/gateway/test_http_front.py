"""What clients are spoken to in is the same with httptools and with h11: HTTP/1.1, strictly, and sent together."""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager, suppress

import pytest
import uvicorn
from uvicorn.server import ServerState

from gateway.raw import SOON_S
from louver.gateway.http_front import Together, front
from louver.limits import MAX_HTTP_HEAD

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["httptools", "h11"])
def protocol(request, monkeypatch):
    if request.param == "h11":
        monkeypatch.setitem(sys.modules, "uvicorn.protocols.http.httptools_impl", None)
    assert front().__name__.lower() == f"by{request.param}"
    return front()


@asynccontextmanager
async def answered(protocol, *sent):
    """The scopes that an application got of what was sent, and the reader of what it answers."""
    scopes = []

    async def app(scope, receive, send):
        scopes.append(scope)
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    config = uvicorn.Config(app, h11_max_incomplete_event_size=MAX_HTTP_HEAD, lifespan="off", log_config=None)
    config.load()
    made = lambda: protocol(config=config, server_state=ServerState(), app_state={})  # noqa: E731
    server = await asyncio.get_running_loop().create_server(made, "127.0.0.1", 0)
    async with asyncio.timeout(SOON_S), server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        try:
            for part in sent:
                writer.write(part)
                await asyncio.sleep(0)
            yield scopes, reader
        finally:
            writer.close()


HEAD = b"POST /mcp HTTP/1.1\r\nhost: h\r\n"


async def test_space_around_the_value_of_a_header_is_none_of_it(protocol):
    """RFC 9110, section 5.5; the official suite asks for it."""
    async with answered(protocol, HEAD + b"X-A:  b c \t\r\ncontent-length: 1\r\n\r\nx") as (scopes, reader):
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
    assert (b"x-a", b"b c") in scopes[0]["headers"]


ENDLESS = {
    "a line": b"POST /" + b"x" * 2 * MAX_HTTP_HEAD,
    "a header": HEAD + b"x: " + b"y" * 2 * MAX_HTTP_HEAD,
    "trailers": HEAD + b"transfer-encoding: chunked\r\n\r\n0\r\n" + b"x: y\r\n" * MAX_HTTP_HEAD,
}


@pytest.mark.parametrize("name", ENDLESS)
async def test_a_head_without_an_end_is_refused(protocol, name):
    """Ours: `MAX_HTTP_HEAD`; nothing of it is kept."""
    sent = ENDLESS[name]
    pieces = [sent[start : start + 1000] for start in range(0, len(sent), 1000)]
    async with answered(protocol, *pieces) as (_, reader):
        # What was still on its way when the connection was closed resets it.
        with suppress(ConnectionResetError):
            assert b" 200 " not in await reader.read()


async def test_what_is_not_http_is_refused(protocol):
    """RFC 9112, section 2.2."""
    async with answered(protocol, b"garbage\r\n\r\n") as (scopes, reader):
        assert (await reader.readline()).startswith(b"HTTP/1.1 400")
    assert scopes == []


async def test_requests_follow_each_other_on_one_connection(protocol):
    """Ours."""
    request = HEAD + b"content-length: 1\r\n\r\nx"
    async with answered(protocol, request, request) as (scopes, reader):
        assert (await reader.readuntil(b"ok")).count(b"HTTP/1.1 200") == 1
        assert (await reader.readuntil(b"ok")).count(b"HTTP/1.1 200") == 1
    assert len(scopes) == 2


class Sent:
    """A transport that notes what it is told to send."""

    def __init__(self):
        self.sent = []

    def writelines(self, parts):
        self.sent.append(b"".join(parts))

    def close(self):
        self.sent.append("closed")

    def is_closing(self):
        return False

    def get_extra_info(self, name):
        return name


async def test_what_is_written_in_one_turn_is_sent_together():
    """Ours: sending is what takes long."""
    sent = Sent()
    together = Together(sent)
    together.write(b"head")
    together.write(b"body")
    assert sent.sent == []
    await asyncio.sleep(0)
    assert sent.sent == [b"headbody"]
    together.write(b"more")
    together.close()
    assert sent.sent == [b"headbody", b"more", "closed"]
    assert together.get_extra_info("peername") == "peername"


async def test_much_is_sent_at_once():
    """Ours: so that a writer is told to wait when the client does not read."""
    sent = Sent()
    together = Together(sent)
    together.write(b"head")
    together.write(b"x" * 65536)
    assert [len(part) for part in sent.sent] == [65540]
    await asyncio.sleep(0)
    assert len(sent.sent) == 1
