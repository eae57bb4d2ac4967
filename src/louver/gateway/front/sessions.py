"""Sessions of 2025-11-25 and earlier over HTTP.

    POST initialize         -> the response, and `Mcp-Session-Id` unless it is an error
    POST a request          -> the response; a stream, if a notification or a question comes first, or it takes a while
    POST another message    -> 202
    GET                     -> the stream of messages that belong to no request, or the rest of one (`Last-Event-ID`)
    DELETE                  -> the end of the session

With shared keys other replicas serve a session too, or pass its requests on (`replicas.py`).

A call goes on if its stream breaks: its events are stored, and the client resumes the stream. (A response that comes
as JSON is no event: a client that loses it had none to go on from.) A stream is for the caller that it was opened for:
another token of the same principal, or the same under another policy, resumes nothing.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from louver.concurrency.background import BackgroundTasks
from louver.concurrency.budget import BudgetByKey
from louver.concurrency.deadlines import Deadlines
from louver.core.json import members
from louver.gateway.clients.input_required import REQUEST_STATE
from louver.gateway.front.connections import HandshakeConnection
from louver.gateway.front.event_ids import EventId
from louver.gateway.front.event_store import EventStore, StoredStream
from louver.gateway.front.event_streams import RequestStream, SseStream
from louver.gateway.front.exchange import event
from louver.gateway.front.replicas import session_digest
from louver.limits import MAX_UNFORWARDED, PING_S, UNUSED_S
from louver.seams import plugged_in
from louver.steps.request import name_connection
from louver.wire.jsonrpc import codec
from louver.wire.jsonrpc.codec import error_response
from louver.wire.jsonrpc.errors import CONNECTION_CLOSED, REQUEST_CANCELLED, JsonRpcError
from louver.wire.mcp import (
    CONNECTION_NOTIFICATIONS,
    LAST_EVENT_HEADER,
    LIST_CHANGED_METHODS,
    RESOURCE_UPDATED,
    SESSION_HEADER,
    VERSION_HEADER,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Hashable

    from louver.gateway.front.connections import Send
    from louver.gateway.front.event_store import Missed, SessionEvents
    from louver.gateway.front.exchange import HttpExchange
    from louver.gateway.front.replicas import Replicas, SealedSession
    from louver.gateway.gateway import Gateway
    from louver.wire.jsonrpc.codec import RequestId

MAX_HTTP_SESSIONS = 10_000
HTTP_SESSION_IDLE_S = 1800.0
"""Sessions of 2025-11-25 over HTTP, and how long one lasts without an open request or stream, in seconds."""

MAX_UNDELIVERED = 100
"""Updates of resources, of other replicas, that wait for a client that reads slowly; further ones are dropped."""

MAX_PEER_SESSIONS = 1000
"""Sessions of 2025-11-25 of one principal, or of one address without tokens: programs that crash each leave one."""

MAX_OPENING_BYTES = 16 * 1024
"""Largest `initialize`, in bytes. It is kept as long as its session, and hosts send some 500 bytes."""

BEGIN_AFTER_S = 0.05
"""Work on a request after which its stream begins, in seconds: from then on its client can resume it."""

RETRY_MS = 500
"""When a client with a closed stream should reconnect, in milliseconds."""


logger = logging.getLogger(__name__)

_STANDALONE: Final = None
"""The name of the stream of messages that belong to no request; the others have the ids of theirs."""

_STREAM_TYPE: Final = "text/event-stream"
_RESUMABLE_VERSION: Final = "2025-11-25"
_UPDATE: Final = codec.notification(RESOURCE_UPDATED, None)[:-1]
_LOST: Final = "the replica that was answering has ended, and its answer is lost: send the request again if it is safe"


class HttpSessions:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._sessions: dict[str, HttpSession] = {}
        self._by_digest: dict[str, HttpSession] = {}  # for messages of other replicas
        self._by_peer = BudgetByKey(MAX_PEER_SESSIONS)
        self._unforwarded = BudgetByKey(MAX_UNFORWARDED)
        self._events = EventStore()
        self._idle = Deadlines[HttpSession](HTTP_SESSION_IDLE_S, self._expire)
        self._silent = Deadlines[SseStream](PING_S, self._ping)
        self._slow = Deadlines[RequestStream](BEGIN_AFTER_S, self._begin)
        self._closing = BackgroundTasks(logger)
        self._pings = BackgroundTasks(logger)
        self._deliveries = BackgroundTasks(logger)
        self._undelivered = BudgetByKey(MAX_UNDELIVERED)
        self._plugged = self._plug_in()

    @property
    def _replicas(self) -> Replicas | None:
        """The other replicas; `None` until there are keys to share, which a reload may bring."""
        if self._plugged is None:
            self._plugged = self._plug_in()
        return self._plugged

    def _plug_in(self) -> Replicas | None:
        return plugged_in("team.replicas:Replicas")(self._gateway, self) if self._gateway.replica.keys else None

    async def post(self, exchange: HttpExchange, message: dict[str, Any], body: bytes) -> None:
        """Serve a message, which came as that body."""
        if await self._forward(exchange, body, message):
            return
        is_initialize = message.get("method") == "initialize" and "id" in message
        is_opening = is_initialize and SESSION_HEADER not in exchange.headers
        if is_initialize and exchange.size > MAX_OPENING_BYTES:
            await exchange.refuse(413, f"Content Too Large: 'initialize' has at most {MAX_OPENING_BYTES} bytes")
            return
        session = await (self._open_new(exchange, message) if is_opening else self._session(exchange))
        if session is None:
            return
        try:
            with self._in_use(session):
                if "method" in message and "id" in message:
                    await session.answer(exchange, message, self._caller(exchange))
                else:
                    await self._accept(exchange, session, message)
        finally:
            if is_opening and not session.connection.is_open:
                await self._close(session)

    async def get(self, exchange: HttpExchange) -> None:
        """Serve the stream of a session, or the rest of one."""
        if await self._forward(exchange):
            return
        session = await self._session(exchange)
        if session is None:
            return
        if not exchange.accepts(_STREAM_TYPE):
            await exchange.refuse(406, "Not Acceptable: Client must accept text/event-stream", session.header)
        else:
            with self._in_use(session):
                # The tag of this replica changes with the keys.
                lost = None if (replicas := self._replicas) is None else replicas.lost(exchange)
                if lost is None or lost.tag == session.connection.tag:
                    await session.get(exchange, self._caller(exchange))
                else:
                    await session.get_lost(exchange, lost, self._caller(exchange))

    async def delete(self, exchange: HttpExchange) -> None:
        """End a session, also one that only other replicas have used."""
        session, replicas = self._find_own(exchange), self._replicas
        if session is None:
            if replicas is not None and await replicas.forward(exchange, b"", is_here=False):
                return
            if replicas is None or replicas.find(exchange) is None:
                await self._refuse_unknown(exchange)
                return
        try:
            # First: a request that comes while the session closes is not to open it again.
            if replicas is not None:
                await replicas.end(exchange)
        finally:
            if session is not None:
                await self._close(session)
        await exchange.respond(200, b"", _session_header(exchange.headers[SESSION_HEADER]))

    async def close(self) -> None:
        """End all sessions here; other replicas go on with those that they can serve."""
        await asyncio.gather(self._pings.close(), self._deliveries.close())
        await asyncio.gather(*map(self._close, list(self._sessions.values())), self._closing.wait())
        if self._plugged is not None:
            await self._plugged.close()

    def fail_question(self, exchange: HttpExchange, question: RequestId, error: JsonRpcError) -> None:
        """End a question of the server whose answer cannot be read."""
        if (session := self._find_own(exchange)) is not None:
            session.connection.resolve(question, error)

    async def _accept(self, exchange: HttpExchange, session: HttpSession, message: dict[str, Any]) -> None:
        """Take in a notification or the answer to a question, after the response, which says that it has arrived."""
        if "method" in message and message["method"] not in CONNECTION_NOTIFICATIONS:
            if not self._unforwarded.take(exchange.peer):
                await exchange.refuse_for_now(429, "Too many notifications wait for a server", session.header)
                return
            try:
                await exchange.respond(202, b"", session.header)
                await session.forward(exchange, message)
            finally:
                self._unforwarded.give_back(exchange.peer)
            return
        await exchange.respond(202, b"", session.header)
        if message.get("method") == "notifications/cancelled":
            request_id = members(message.get("params")).get("requestId")
            if not session.connection.cancel(request_id) and (replicas := self._replicas) is not None:
                replicas.cancel(session.digest, request_id)
        await session.connection.receive(message, exchange.identity, exchange.address)

    async def _forward(self, exchange: HttpExchange, body: bytes = b"", message: dict[str, Any] | None = None) -> bool:
        """Pass a request on to the replica that it belongs to; `False` if it is to be served here."""
        if (replicas := self._replicas) is None:
            return False
        return await replicas.forward(exchange, body, message, is_here=self._find_own(exchange) is not None)

    async def forward_round(self, exchange: HttpExchange, body: bytes, message: dict[str, Any]) -> bool:
        """Pass on a 2026-07-28 client's answer to the replica where its call waits; `False` if it is served here."""
        if (replicas := self._replicas) is None:
            return False
        return await replicas.forward_round(exchange, body, members(message.get("params")).get(REQUEST_STATE))

    def end_elsewhere(self, digest: str) -> None:
        if (session := self._by_digest.get(digest)) is not None:
            self._expire(session)

    def cancel_elsewhere(self, digest: str, request_id: object) -> None:
        if (session := self._by_digest.get(digest)) is not None:
            session.connection.cancel(request_id)

    def update_elsewhere(self, digest: str, update: str) -> None:
        if (session := self._by_digest.get(digest)) is not None and self._undelivered.take(digest):
            self._deliveries.start(self._deliver(session, update.encode()))

    async def _deliver(self, session: HttpSession, update: bytes) -> None:
        """Send an update to a client, which may read slowly."""
        try:
            await session.deliver(update)
        finally:
            self._undelivered.give_back(session.digest)

    def _caller(self, exchange: HttpExchange) -> Hashable:
        """For whom an exchange is: who may see the messages of its stream later."""
        return exchange.identity, self._gateway.audience(exchange.identity.principal)

    def _unused(self, peer: Hashable) -> HttpSession | None:
        """The longest unused session of a client, which may have crashed."""
        return next((each for each, age_s in self._idle.oldest() if age_s > UNUSED_S and each.peer == peer), None)

    def _find_own(self, exchange: HttpExchange) -> HttpSession | None:
        session = self._sessions.get(exchange.headers.get(SESSION_HEADER, ""))
        # To another caller it does not exist. Without authentication all callers are one.
        return None if session is None or session.owner != exchange.identity.key else session

    async def _session(self, exchange: HttpExchange) -> HttpSession | None:
        """The session of a request, opened here by its sealed id if need be; `None` if the request was refused."""
        if (session := self._find_own(exchange)) is None:
            replicas = self._replicas
            sealed = None if replicas is None else replicas.find(exchange)
            if replicas is None or sealed is None or sealed.replica is not None or await replicas.has_ended(exchange):
                belongs_elsewhere = sealed is not None and sealed.replica is not None
                await self._refuse_unknown(exchange, belongs_elsewhere=belongs_elsewhere)
                return None
            # While this waited, another request of the session may have come.
            if (session := self._find_own(exchange)) is None:
                if not await self._has_room(exchange):
                    return None
                session = self._reopen(exchange, sealed)
        if not await session.has_opened():
            await exchange.refuse_for_now(503, "The session cannot be opened: a server behind is unavailable")
            return None
        return session

    async def _refuse_unknown(self, exchange: HttpExchange, *, belongs_elsewhere: bool = False) -> None:
        if SESSION_HEADER not in exchange.headers:
            await exchange.refuse(400, "Bad Request: Missing session ID")
        elif belongs_elsewhere:
            await exchange.refuse(
                404, "Session not found: its servers keep state for it at a replica that is not reached"
            )
        else:
            await exchange.refuse(404, "Session not found")

    async def _has_room(self, exchange: HttpExchange) -> bool:
        """Make room for one more session of a client; refuse the request if that is not possible."""
        if len(self._sessions) >= MAX_HTTP_SESSIONS:
            await exchange.refuse_for_now(503, "Too many open sessions")
            return False
        if self._by_peer.take(exchange.peer):
            return True
        if (unused := self._unused(exchange.peer)) is None:
            await exchange.refuse_for_now(429, f"Too many open sessions: one client has at most {MAX_PEER_SESSIONS}")
            return False
        self._remove(unused)
        self._closing.start(unused.close())
        self._by_peer.take(exchange.peer)
        return True

    async def _open_new(self, exchange: HttpExchange, message: dict[str, Any]) -> HttpSession | None:
        """A session for an `initialize`; `None` if the request was refused."""
        if not await self._has_room(exchange):
            return None
        replicas = self._replicas
        sealed_id = None if replicas is None else replicas.new_session(exchange, members(message.get("params")))
        return self._add(exchange, secrets.token_hex(16) if sealed_id is None else sealed_id)

    def _reopen(self, exchange: HttpExchange, sealed: SealedSession) -> HttpSession:
        """A session that another replica has opened."""
        session = self._add(exchange, exchange.headers[SESSION_HEADER])
        session.opening = asyncio.create_task(
            session.connection.reopen(sealed.params, exchange.identity, exchange.address)
        )
        session.opening.add_done_callback(partial(self._on_reopened, session))
        return session

    def _on_reopened(self, session: HttpSession, opening: asyncio.Task[None]) -> None:
        if opening.cancelled() or opening.exception() is not None:
            self._expire(session)

    def _add(self, exchange: HttpExchange, session_id: str) -> HttpSession:
        replicas = self._replicas
        events = self._events.open_session(exchange.peer, 1 if replicas is None else replicas.first_event())
        connection = partial(HandshakeConnection, self._gateway.answer, tag="" if replicas is None else replicas.tag)
        pass_on = None if replicas is None else replicas.pass_on
        timers = Timers(self._silent, self._slow)
        session = HttpSession(session_id, connection, events, timers, exchange, self._caller(exchange), pass_on)
        self._sessions[session_id] = self._by_digest[session.digest] = session
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

    def _begin(self, stream: RequestStream) -> None:
        self._pings.start(stream.begin())

    async def _close(self, session: HttpSession) -> None:
        self._remove(session)
        await session.close()

    def _remove(self, session: HttpSession) -> None:
        if self._sessions.pop(session.session_id, None) is not None:
            del self._by_digest[session.digest]
            self._by_peer.give_back(session.peer)
        self._idle.cancel(session)
        self._events.close_session(session.events)


class Timers(NamedTuple):
    """Of all sessions."""

    silent: Deadlines[SseStream]
    slow: Deadlines[RequestStream]


class HttpSession:
    def __init__(
        self,
        session_id: str,
        connection: Callable[[Send], HandshakeConnection],
        events: SessionEvents,
        timers: Timers,
        exchange: HttpExchange,
        caller: Hashable,
        pass_on: Callable[[str, bytes], None] | None,  # an update, to the replica where the client listens
    ) -> None:
        self.session_id = session_id
        self.header = _session_header(session_id)
        self.owner = exchange.identity.key
        self.peer = exchange.peer
        self.requests = 0  # that are open
        self.opening: asyncio.Task[None] | None = None  # here, after another replica
        self.digest = session_digest(session_id)
        self.connection = connection(self._send)
        name_connection(self.connection, self.digest)
        self.events = events
        self._tag = self.connection.tag  # of the ids of its events
        self._timers = timers
        self._numbers = count()
        self._standalone = StoredStream(next(self._numbers), None, caller)
        self._open: dict[RequestId, StoredStream] = {}
        self._streams: dict[RequestId | None, SseStream] = {}  # that a client reads now
        self._forwarding = asyncio.Lock()
        self._pass_on = pass_on

    async def has_opened(self) -> bool:
        """Wait until it is open here; `False` if that has failed."""
        if self.opening is None:
            return True
        await asyncio.wait({self.opening})
        return not self.opening.cancelled() and self.opening.exception() is None

    async def forward(self, exchange: HttpExchange, message: dict[str, Any]) -> None:
        """Pass on a notification: in order, and one at a time, as fast as the server takes them."""
        async with self._forwarding:
            await self.connection.receive(message, exchange.identity, exchange.address)

    async def answer(self, exchange: HttpExchange, message: dict[str, Any], caller: Hashable) -> None:
        name: RequestId = message["id"]
        if name in self._open:
            await exchange.refuse(400, "Bad Request: a request with this id is still being answered", self.header)
            return
        if self._open and not self.connection.is_open and message["method"] != "ping":
            await exchange.refuse(400, "Bad Request: 'initialize' has not been answered yet", self.header)
            return
        # Events hold it long after their request: those of a session share one, not one for each call.
        same_caller = self._standalone.caller if self._standalone.caller == caller else caller
        self._open[name] = StoredStream(next(self._numbers), name, same_caller)
        try:
            if message["method"] == "initialize" and not self.connection.is_open:
                await self._answer_opening(exchange, message, name)
            else:
                await self._answer(exchange, message, name)
        finally:
            del self._open[name]

    async def _answer_opening(self, exchange: HttpExchange, message: dict[str, Any], name: RequestId) -> None:
        """Begin the response only once it is known whether there is a session: an error names none."""
        first = self.events.store(self._open[name], None)
        response = await self.connection.respond(message, exchange.identity, exchange.address, record=exchange.record)
        if response is None or not self.connection.is_open:
            await exchange.respond(200, response or _cancelled(name))
            return
        missed = self.events.since(first)
        stream = self._streams[name] = RequestStream(exchange, self._timers.silent, self.header)
        try:
            for number, text in () if missed is None else missed.events:
                await stream.begin()
                await stream.write(self._event(self._open[name], text, number))
            await self._send(response, name, is_response=True)
        finally:
            await self._end(stream, name)

    async def _answer(self, exchange: HttpExchange, message: dict[str, Any], name: RequestId) -> None:
        first = partial(self._first_event, self._open[name]) if _can_resume(exchange) else None
        stream = self._streams[name] = RequestStream(exchange, self._timers.silent, self.header, first)
        self._timers.slow.set(stream)
        try:
            pause = None if first is None else partial(self._pause, name)
            response = await self.connection.respond(
                message, exchange.identity, exchange.address, pause, exchange.record
            )
            if response is None:
                # A stream ends only with a response, also when it is resumed.
                response = _cancelled(name)
            await self._send(response, name, is_response=True)
        finally:
            self._timers.slow.cancel(stream)
            await self._end(stream, name)

    async def _end(self, stream: SseStream, name: RequestId | None) -> None:
        await stream.end()
        if self._streams.get(name) is stream:
            del self._streams[name]

    async def get(self, exchange: HttpExchange, caller: Hashable) -> None:
        last = exchange.headers.get(LAST_EVENT_HEADER, "")
        event_id = EventId.read(last)
        missed = self.events.since(event_id.number) if event_id.tag == self._tag else None
        if missed is not None and missed.stream.caller == caller:
            await self._resume(exchange, missed)
        elif last and (missed is None or missed.stream.request_id is not _STANDALONE):
            # Not 404, for which a client must open another session: this one is there.
            await exchange.refuse(400, "Bad Request: Last-Event-ID is no event that can be resumed", self.header)
        elif await self._can_listen(exchange, caller):
            await exchange.start_stream(self.header)
            await self._hold(
                _STANDALONE, SseStream(exchange, self._timers.silent), self._opening_event(exchange, self._standalone)
            )

    async def get_lost(self, exchange: HttpExchange, lost: EventId, caller: Hashable) -> None:
        """Go on after the last event of a replica that has ended: its calls are lost, and any list may have changed."""
        if lost.is_of_request:
            if lost.request_id is None:
                await exchange.refuse(400, f"Bad Request: {_LOST}", self.header)
                return
            await exchange.start_stream(self.header)
            await exchange.end(event(error_response(lost.request_id, JsonRpcError(CONNECTION_CLOSED, _LOST))))
        elif await self._can_listen(exchange, caller):
            first = self.events.store(self._standalone, None)
            for change in sorted(LIST_CHANGED_METHODS):
                await self.connection.notify(change, None)
            await self._resume(exchange, self.events.since(first))

    async def deliver(self, update: bytes) -> None:
        """Send a notification that another replica has got for the client, if it listens here."""
        if _STANDALONE in self._streams:
            await self._send(update, _STANDALONE)

    async def _can_listen(self, exchange: HttpExchange, caller: Hashable) -> bool:
        """Make the stream that belongs to no request one of this caller; `False` if it is read already."""
        if _STANDALONE in self._streams:
            await exchange.refuse(409, "Conflict: Only one SSE stream is allowed per session", self.header)
            return False
        if self._standalone.caller != caller:
            # Of its past nothing is for this caller.
            self._standalone = StoredStream(next(self._numbers), _STANDALONE, caller)
        return True

    def _event_stream(self, name: RequestId | None) -> StoredStream | None:
        return self._standalone if name is None else self._open.get(name)

    async def close(self) -> None:
        if self.opening is not None:
            self.opening.cancel()
        await self.connection.close()
        for stream in list(self._streams.values()):
            await stream.end()

    async def _resume(self, exchange: HttpExchange, missed: Missed | None) -> None:
        """Send what was missed, and then what comes."""
        await exchange.start_stream(self.header)
        while missed is not None and missed.events:
            # More may be stored while this is written.
            stream = missed.stream
            await exchange.write(b"".join(self._event(stream, text, number) for number, text in missed.events))
            missed = self.events.since(missed.events[-1][0])
        if missed is None or missed.is_ended or self._event_stream(missed.stream.request_id) != missed.stream:
            await exchange.end()
            return
        first = self._opening_event(exchange, missed.stream)
        await self._hold(missed.stream.request_id, SseStream(exchange, self._timers.silent), first)

    def _opening_event(self, exchange: HttpExchange, stream: StoredStream) -> bytes:
        """What begins the stream of a GET; nothing for a client that does not expect it."""
        return self._first_event(stream) if _can_resume(exchange) else b""

    async def _hold(self, name: RequestId | None, stream: SseStream, first: bytes = b"") -> None:
        """Keep a stream open until it is ended, or the client has gone."""
        before, self._streams[name] = self._streams.get(name), stream
        stream.watch()
        try:
            if before is not None:
                await before.end()
            if first:
                await stream.write(first)
            await stream.until_ended()
        finally:
            await self._end(stream, name)

    async def _send(self, message: bytes, name: RequestId | None, *, is_response: bool = False) -> None:
        if (event_stream := self._event_stream(name)) is None:
            # Its request was answered meanwhile.
            return
        stream = self._streams.get(name)
        if isinstance(stream, RequestStream):
            if is_response and not stream.has_begun:
                await stream.respond(message)
                return
            await stream.begin()
        number = self.events.store(event_stream, message, is_response=is_response)
        if stream is not None:
            await (stream.end if is_response else stream.write)(self._event(event_stream, message, number))
        elif self._pass_on is not None and name is _STANDALONE and message.startswith(_UPDATE):
            self._pass_on(self.digest, message)

    def _event(self, stream: StoredStream, message: bytes, number: int) -> bytes:
        return event(message, self._event_id(stream, number))

    def _event_id(self, stream: StoredStream, number: int) -> str:
        return str(EventId(self._tag, number, stream.request_id is not _STANDALONE, stream.request_id))

    def _first_event(self, stream: StoredStream) -> bytes:
        """An event without a message: a client can resume the stream after it."""
        event_id = self._event_id(stream, self.events.store(stream, None))
        return b"id: %s\r\ndata: \r\nretry: %d\r\n\r\n" % (event_id.encode(), RETRY_MS)

    async def _pause(self, name: RequestId) -> None:
        """End the stream of a request that is still being answered: its client resumes it."""
        stream = self._streams.pop(name, None)
        if stream is not None:
            await stream.end()


def _session_header(session_id: str) -> tuple[bytes, bytes]:
    return SESSION_HEADER.encode(), session_id.encode()


def _cancelled(name: RequestId) -> bytes:
    return error_response(name, JsonRpcError(REQUEST_CANCELLED, "Request cancelled"))


def _can_resume(exchange: HttpExchange) -> bool:
    """Whether a client knows how to resume a stream that has begun."""
    return exchange.headers.get(VERSION_HEADER, "") >= _RESUMABLE_VERSION
