"""Requests of HTTP clients: those that h11 reads, each with the same end, in whatever pieces they come."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import h11
import uvicorn
from uvicorn.server import ServerState

from louver.http1.server import PlainFirstProtocol
from louver.limits import MAX_HTTP_HEAD

from . import pieces
from .transports import Transport, run, settled


class Request(NamedTuple):
    method: str
    target: bytes
    headers: list[tuple[bytes, bytes]]
    body: bytes


class Outcome(NamedTuple):
    requests: list[Request]  # whole ones
    is_refused: bool  # what follows them
    is_closed: bool


def check(data: bytes) -> None:
    text, parts = pieces(data)
    assert run(served(parts)) == read_by_h11(text)


async def served(parts: list[bytes]) -> Outcome:
    requests: list[Request] = []

    async def app(scope, receive, send):
        body = b""
        while (message := await receive())["type"] == "http.request":
            body += message["body"]
            if not message["more_body"]:
                break
        else:
            return
        target = scope["raw_path"] + b"?" * bool(scope["query_string"]) + scope["query_string"]
        requests.append(Request(scope["method"], target, scope["headers"], body))
        await send({"type": "http.response.start", "status": 204})
        await send({"type": "http.response.body"})

    config = _config()
    config.loaded_app = app
    protocol = PlainFirstProtocol(config=config, server_state=ServerState(), app_state={})
    transport = Transport()
    protocol.connection_made(transport)
    for part in parts:
        if transport.is_closing():
            break
        protocol.data_received(part)
        await settled(requests, transport.written)
        assert not transport.is_paused, "all is taken of so little"
    is_closed = transport.is_closing()
    protocol.connection_lost(None)
    await settled(requests, transport.written, protocol.tasks)
    assert not protocol.tasks, "no request is left waiting"
    *_, last = transport.written.split(b"HTTP/1.1 ")
    return Outcome(requests, last.startswith(b"400"), is_closed)


@cache
def _config() -> uvicorn.Config:
    config = uvicorn.Config(None, interface="asgi3", lifespan="off", log_config=None)
    config.loaded = True
    return config


def read_by_h11(text: bytes) -> Outcome:
    """As h11 reads them; a tunnel, or a request with two lengths, is none."""
    requests: list[Request] = []
    while text:
        reader = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HTTP_HEAD)
        reader.receive_data(text)
        head, body = None, b""
        try:
            while not isinstance(event := reader.next_event(), h11.EndOfMessage):
                if event is h11.NEED_DATA:
                    return Outcome(requests, False, False)
                if isinstance(event, h11.Data):
                    body += event.data
                    continue
                head = event
                names = [name for name, _ in head.headers]
                if head.method == b"CONNECT" or {b"content-length", b"transfer-encoding"} <= set(names):
                    return Outcome(requests, True, True)
        except h11.RemoteProtocolError:
            return Outcome(requests, True, True)
        # A question mark without a query is not told from none.
        path, _, query = head.target.partition(b"?")
        target = path + b"?" * bool(query) + query
        requests.append(Request(head.method.decode(), target, list(head.headers), body))
        if reader.their_state is h11.MUST_CLOSE or head.http_version != b"1.1":
            return Outcome(requests, False, True)
        text = reader.trailing_data[0]
    return Outcome(requests, False, False)
