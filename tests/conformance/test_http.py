"""Endpoints that are none, over HTTP."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest

from conformance.suite import OLD, failures
from louver_conformance.run import run
from louver_conformance.session import Deadline, Target, TargetSession

pytestmark = pytest.mark.anyio

OPENING = {"protocolVersion": OLD, "capabilities": {"tools": {}}, "serverInfo": {"name": "odd", "version": "1"}}


@asynccontextmanager
async def endpoint(*responses):
    """The URL of a server that sends these bytes, one after the other, the last one again and again."""
    left = list(responses)

    async def serve(reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        size = next((line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), b": 0")
        await reader.readexactly(int(size.split(b":")[1]))
        writer.write(left.pop(0) if len(left) > 1 else left[0])
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"


def response(body, kind="application/json", status="200 OK", *more):
    """One HTTP response, which ends with the connection."""
    head = "\r\n".join([f"HTTP/1.1 {status}", f"content-type: {kind}", "connection: close", *more, "", ""])
    return head.encode() + body


def answer(number, result):
    return json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode()


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (b"", "the target cannot be reached: RemoteProtocolError"),
        (b"hello\r\n\r\n", "the target cannot be reached: RemoteProtocolError"),
        (response(b"x" * 9_000_000), "the target sends a message over 8388608 bytes"),
        (response(b"data: " + b"x" * 9_000_000, "text/event-stream"), "the target sends a message over 8388608 bytes"),
        (response(b"<html>", "text/html"), "the target sends what is not strictly JSON: Expecting value"),
        (response(b"", status="500 Oh"), "the target answers with HTTP 500"),
        (response(b"", "text/html", "302 Found", "location: /"), "the target answers with HTTP 302"),
        (response(answer(9, {})), "the target answers another request than it was sent"),
        (response(b"data: \n\n", "text/event-stream"), "the target's stream has ended without an answer"),
    ],
)
async def test_what_is_no_endpoint_fails_to_connect(sent, said):
    """Ours: and is no error of the suite."""
    async with endpoint(sent) as url:
        (outcome,) = (await run(Target(url=url), revisions=[OLD])).outcomes
    assert (outcome.check.id, outcome.status, outcome.detail) == ("connects", "fail", said)


@pytest.mark.parametrize("ends", [b"\n", b"\r\n"])
async def test_an_answer_in_a_stream_of_events_is_found(ends):
    """2025-11-25: after whatever is said before it, over several lines too."""
    before = b'data: {"jsonrpc": "2.0", "method": "notifications/message"}\n\n: a comment\n\n'
    first, rest = (text := answer(1, OPENING))[:10], text[10:]
    stream = before + b"event: message\ndata: " + first + b"\ndata: " + rest + b"\n\n"
    async with endpoint(response(stream.replace(b"\n", ends), "text/event-stream"), response(b"")) as url:
        session = await TargetSession.open(Target(url=url), OLD, Deadline())
        await session.close()
    assert session.capabilities == {"tools": {}}


async def test_an_error_with_a_status_is_that_error():
    """2025-11-25 over HTTP: the body says more than the status."""
    error = json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "no"}}).encode()
    async with endpoint(response(error, status="400 Bad Request")) as url:
        (outcome,) = (await run(Target(url=url), revisions=[OLD])).outcomes
    assert outcome.detail == "the target refuses to open in this revision"


async def test_an_url_that_is_none_is_told():
    """Ours."""
    assert await failures(Target(url="http://[/"), OLD) == {"connects"}
