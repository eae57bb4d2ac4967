"""Responses of upstreams: what h11 and the standard library read too is the same, in whatever pieces it comes.

The first byte is the size of the pieces, the second one says whether the connection ends after the last one (odd), and
whether the rest is a body that is compressed here (2).
"""

from __future__ import annotations

import asyncio
import gzip
import zlib
from typing import NamedTuple

import h11

from louver.concurrency.budget import Turnstile
from louver.errors import UpstreamError
from louver.http1.connection import Connection
from louver.http1.fast_heads import plain_response
from louver.limits import MAX_HTTP_HEAD

from . import pieces
from .transports import Transport, run

MAX_BODY = 256 * 1024
MAX_PIECE = 64 * 1024


class Outcome(NamedTuple):
    status: int
    headers: dict[bytes, bytes]
    body: bytes
    # How much was received when the connection was free for another request.
    end: int | None


def check(data: bytes) -> None:
    flags = data[1] if len(data) > 1 else 0
    data = data[:1] + (_compressed(data[2:]) if flags & 2 else data[2:])
    text, parts = pieces(data)
    is_ended = bool(flags & 1)
    received = run(_received(parts, is_ended))
    at_once = run(_received([text], is_ended))
    assert (received and received[:3]) == (at_once and at_once[:3]), "pieces change nothing"
    expected = _read(text, is_ended)
    if received is None:
        # Ours refuses more, but nothing plain.
        assert expected is None or plain_response(text) is None or b"content-encoding" in expected.headers
        return
    assert expected is not None or plain_response(text) is None, "what is plain is HTTP"
    if expected is None:
        return
    assert received.status == expected.status
    assert received.headers == expected.headers
    _check_body(received, expected)
    if received.end is not None:
        # httptools skips empty lines before a response.
        more = text[expected.end : received.end]
        assert not more.strip(b"\r\n"), "a connection is used again where the response has ended"


def _check_body(received: Outcome, expected: Outcome) -> None:
    coding = expected.headers.get(b"content-encoding", b"identity").lower()
    if coding == b"identity" or not expected.body:
        assert received.body == expected.body[:MAX_BODY]
        return
    assert coding in (b"gzip", b"x-gzip"), "no other coding is read"
    try:
        plain = gzip.decompress(expected.body)
    except (OSError, EOFError, zlib.error):
        # Only what follows a member can be something else: it is padding.
        plain = zlib.decompressobj(31).decompress(expected.body)
        assert received.body.startswith(plain[:MAX_BODY])
    else:
        assert received.body == plain[:MAX_BODY]


async def _received(parts: list[bytes], is_ended: bool) -> Outcome | None:
    fed = 0
    free_at: list[int] = []
    connection = Connection(lambda _: free_at.append(fed), lambda _: None, Turnstile())
    connection.connection_made(Transport())
    task = asyncio.create_task(_response(connection))
    await asyncio.sleep(0)
    for part in parts:
        fed += len(part)
        connection.data_received(part)
        # One turn to wake the reader, one for it to read.
        for _ in range(3):
            await asyncio.sleep(0)
    if is_ended:
        connection.eof_received()
    connection.connection_lost(None)
    found = await task
    return found and Outcome(*found, free_at[0] if free_at else None)


async def _response(connection: Connection) -> tuple[int, dict[bytes, bytes], bytes] | None:
    try:
        response = await connection.request(b"", b"")
        body = b""
        while (piece := await response.piece()) is not None:
            assert len(piece) <= MAX_PIECE, "no piece is large, whatever it was compressed to"
            if len(body) < MAX_BODY:
                body += piece
    except UpstreamError:
        return None
    return response.status, response._headers, body[:MAX_BODY]


def _read(text: bytes, is_ended: bool) -> Outcome | None:
    reader = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HTTP_HEAD)
    reader.send(h11.Request(method="POST", target="/", headers=[("host", "h"), ("content-length", "0")]))
    reader.send(h11.EndOfMessage())
    head, body = None, b""
    try:
        reader.receive_data(text)
        is_told = False
        while not isinstance(event := reader.next_event(), h11.EndOfMessage):
            if event is h11.NEED_DATA:
                if not is_ended or is_told:
                    return None
                reader.receive_data(b"")
                is_told = True
            elif isinstance(event, h11.Response):
                head = event
            elif isinstance(event, h11.Data):
                body += event.data
            elif not isinstance(event, h11.InformationalResponse):
                return None
    except h11.RemoteProtocolError:
        return None
    return Outcome(head.status_code, dict(head.headers), body, len(text) - len(reader.trailing_data[0]))


def _compressed(text: bytes) -> bytes:
    """A response of members, each a line, and of what follows a NUL as padding."""
    lines, _, padding = text.partition(b"\0")
    members = b"".join(gzip.compress(line, mtime=0) for line in lines.split(b"\n"))
    body = members + padding
    return b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)
