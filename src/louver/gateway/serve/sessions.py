"""Sessions of 2025-11-25 and earlier over HTTP.

    POST initialize         -> a stream with the response, and `Mcp-Session-Id`
    POST a request          -> a stream of its own: its notifications, questions of the server, then the response
    POST another message    -> 202
    GET                     -> the stream of messages that belong to no request, or the rest of one (`Last-Event-ID`)
    DELETE                  -> the end of the session

A call goes on if its stream breaks: its events are stored, and the client resumes the stream.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from louver.concurrency.background import BackgroundTasks
from louver.concurrency.deadlines import Deadlines
from louver.core.json import members
from louver.gateway.serve.connections import HandshakeConnection
from louver.gateway.serve.event_store import EventStore
from louver.gateway.serve.exchange import PING, event
from louver.jsonrpc.codec import error_response
from louver.jsonrpc.errors import INTERNAL_ERROR, REQUEST_CANCELLED, JsonRpcError
from louver.limits import HTTP_SESSION_IDLE_S, MAX_HTTP_SESSIONS, PING_S, RETRY_MS
from louver.protocol.mcp import LAST_EVENT_HEADER, SESSION_HEADER, VERSION_HEADER

if TYPE_CHECKING:
    from collections.abc import Generator

    from louver.gateway.serve.event_store import SessionEvents
    from louver.gateway.serve.exchange import HttpExchange
    from louver.jsonrpc.codec import RequestId
    from louver.server.request import Next

logger = logging.getLogger(__name__)

_STANDALONE: Final = None
"""The name of the stream of messages that belong to no request; the others have the ids of theirs."""

_STREAM_TYPE: Final = "text/event-stream"
_RESUMABLE_VERSION: Final = "2025-11-25"


class HttpSessions:
    def __init__(self, answer: Next) -> None:
        self._answer = answer
        self._sessions: dict[str, HttpSession] = {}
        self._events = EventStore()
        self._idle = Deadlines[HttpSession](HTTP_SESSION_IDLE_S, self._expire)
        self._silent = Deadlines[SseStream](PING_S, self._ping)
        self._closing = BackgroundTasks(logger)
        self._pings = BackgroundTasks(logger)

    async def post(self, exchange: HttpExchange, message: dict[str, Any]) -> None:
        """Serve a message."""
        session = self._find_own(exchange)
        is_initialize = message.get("method") == "initialize" and "id" in message
        is_opening = is_initialize and SESSION_HEADER not in exchange.headers
        if is_opening:
            if len(self._sessions) >= MAX_HTTP_SESSIONS:
                await exchange.refuse(503, "Too many open sessions", code=INTERNAL_ERROR)
                return
            session = self._open(exchange)
        if session is None:
            await self._refuse_unknown(exchange)
            return
        try:
            with self._in_use(session):
                await session.post(exchange, message)
        finally:
            if is_opening and not session.connection.is_open:
                await self._close(session)

    async def get(self, exchange: HttpExchange) -> None:
        """Serve the stream of a session, or the rest of one."""
        session = self._find_own(exchange)
        if session is None:
            await self._refuse_unknown(exchange)
        elif not exchange.accepts(_STREAM_TYPE):
            await exchange.refuse(406, "Not Acceptable: Client must accept text/event-stream", session.header)
        else:
            with self._in_use(session):
                await session.get(exchange)

    async def delete(self, exchange: HttpExchange) -> None:
        """End a session."""
        session = self._find_own(exchange)
        if session is None:
            await self._refuse_unknown(exchange)
            return
        await self._close(session)
        await exchange.respond(200, b"", session.header)

    async def close(self) -> None:
        """End all sessions."""
        await self._pings.close()
        await asyncio.gather(*map(self._close, list(self._sessions.values())), self._closing.wait())

    def _find_own(self, exchange: HttpExchange) -> HttpSession | None:
        session = self._sessions.get(exchange.headers.get(SESSION_HEADER, ""))
        # To another caller it does not exist. Without authentication all callers are one.
        return None if session is None or session.owner != exchange.identity.key else session

    async def _refuse_unknown(self, exchange: HttpExchange) -> None:
        if SESSION_HEADER in exchange.headers:
            await exchange.refuse(404, "Session not found")
        else:
            await exchange.refuse(400, "Bad Request: Missing session ID")

    def _open(self, exchange: HttpExchange) -> HttpSession:
        session_id = secrets.token_hex(16)
        events = self._events.open_session()
        session = self._sessions[session_id] = HttpSession(session_id, self._answer, events, self._silent, exchange)
        return session

    @contextmanager
    def _in_use(self, session: HttpSession) -> Generator[None]:
        """Within the block a session does not expire."""
        session.requests += 1
        self._idle.cancel(session)
        try:
            yield
        finally:
            session.requests -= 1
            if session.requests == 0 and session.session_id in self._sessions:
                self._idle.set(session)

    def _expire(self, session: HttpSession) -> None:
        self._closing.start(self._close(session))

    def _ping(self, stream: SseStream) -> None:
        # The next ping waits for this one: the client may not read.
        self._pings.start(stream.ping())

    async def _close(self, session: HttpSession) -> None:
        self._sessions.pop(session.session_id, None)
        self._idle.cancel(session)
        self._events.close_session(session.events)
        await session.close()


class HttpSession:
    def __init__(
        self, session_id: str, answer: Next, events: SessionEvents, silent: Deadlines[SseStream], exchange: HttpExchange
    ) -> None:
        self.session_id = session_id
        self.header = (SESSION_HEADER.encode(), session_id.encode())
        self.owner = exchange.identity.key
        self.requests = 0  # that are open
        self.connection = HandshakeConnection(answer, self._send)
        self.events = events
        self._silent = silent
        self._streams: dict[RequestId | None, SseStream] = {}

    async def post(self, exchange: HttpExchange, message: dict[str, Any]) -> None:
        if "method" not in message or "id" not in message:
            # Served after the response, which says no more than that it has arrived.
            await exchange.respond(202, b"", self.header)
            await self.connection.receive(message, exchange.identity, exchange.address)
            return
        name: RequestId = message["id"]
        can_resume = _version(exchange, message) >= _RESUMABLE_VERSION
        stream = SseStream(exchange, self._silent)
        self._streams[name] = stream
        try:
            await exchange.start_stream(self.header)
            if can_resume:
                await exchange.write(_first_event(self.events.store(name, None)))
            pause = partial(self._pause, name) if can_resume else None
            response = await self.connection.respond(message, exchange.identity, exchange.address, pause)
            if response is None:
                # A stream ends only with a response, also when it is resumed.
                response = error_response(name, JsonRpcError(REQUEST_CANCELLED, "Request cancelled"))
            await self._send(response, name, is_response=True)
        finally:
            await stream.end()
            if self._streams.get(name) is stream:
                del self._streams[name]

    async def get(self, exchange: HttpExchange) -> None:
        last = exchange.headers.get(LAST_EVENT_HEADER)
        if last:
            await self._resume(exchange, event_number(last))
        elif _STANDALONE in self._streams:
            await exchange.refuse(409, "Conflict: Only one SSE stream is allowed per session", self.header)
        else:
            await exchange.start_stream(self.header)
            await self._hold(_STANDALONE, SseStream(exchange, self._silent))

    async def close(self) -> None:
        await self.connection.close()
        for stream in list(self._streams.values()):
            await stream.end()

    async def _resume(self, exchange: HttpExchange, last: int) -> None:
        """Send what was missed, and then what comes."""
        await exchange.start_stream(self.header)
        while (missed := self.events.since(last)) is not None and missed.events:
            # More may be stored while this is written.
            last = missed.events[-1][0]
            await exchange.write(b"".join(event(text, number) for number, text in missed.events))
        if missed is None or missed.is_ended:
            await exchange.end()
            return
        can_resume = exchange.headers.get(VERSION_HEADER, "") >= _RESUMABLE_VERSION
        first = _first_event(self.events.store(missed.stream, None)) if can_resume else b""
        await self._hold(missed.stream, SseStream(exchange, self._silent), first)

    async def _hold(self, name: RequestId | None, stream: SseStream, first: bytes = b"") -> None:
        """Keep a stream open until it is ended, or the client has gone."""
        before, self._streams[name] = self._streams.get(name), stream
        try:
            if before is not None:
                await before.end()
            if first:
                await stream.write(first)
            await stream.until_ended()
        finally:
            await stream.end()
            if self._streams.get(name) is stream:
                del self._streams[name]

    async def _send(self, message: bytes, name: RequestId | None, *, is_response: bool = False) -> None:
        number = self.events.store(name, message, is_response=is_response)
        stream = self._streams.get(name)
        if stream is not None:
            await (stream.end if is_response else stream.write)(event(message, number))

    async def _pause(self, name: RequestId) -> None:
        """End the stream of a request that is still being answered: its client resumes it."""
        stream = self._streams.pop(name, None)
        if stream is not None:
            await stream.end()


class SseStream:
    """An event stream to a client; a silent one is pinged, so that a proxy keeps it open."""

    def __init__(self, exchange: HttpExchange, silent: Deadlines[SseStream]) -> None:
        self._exchange = exchange
        self._silent = silent
        self._ended = asyncio.Event()
        silent.set(self)

    async def write(self, part: bytes) -> None:
        await self._exchange.write(part)

    async def ping(self) -> None:
        await self._exchange.write(PING)
        if not self._ended.is_set():
            self._silent.set(self)

    async def end(self, part: bytes = b"") -> None:
        self._silent.cancel(self)
        self._ended.set()
        await self._exchange.end(part)

    async def until_ended(self) -> None:
        """Wait until it is ended, or the client disconnects."""
        waiting = [asyncio.create_task(self._exchange.left()), asyncio.create_task(self._ended.wait())]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()


def _version(exchange: HttpExchange, message: dict[str, Any]) -> str:
    if message["method"] == "initialize":
        return str(members(message.get("params")).get("protocolVersion", ""))
    return exchange.headers.get(VERSION_HEADER, "")


def event_number(event_id: str) -> int:
    """The number of an event; 0, which none has, for what is no number."""
    return int(event_id) if event_id.isascii() and event_id.isdigit() and len(event_id) < 16 else 0


def _first_event(number: int) -> bytes:
    """An event without a message: a client can resume the stream after it."""
    return b"id: %d\r\ndata: \r\nretry: %d\r\n\r\n" % (number, RETRY_MS)
