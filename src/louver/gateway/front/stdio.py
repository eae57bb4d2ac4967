"""Serve one client over stdio; each message is a line.

    end of input            open requests are answered, then the process ends
    SIGTERM, SIGINT         reading stops; open calls continue for at most `DRAIN_S`
    output is closed        the process ends at once

The first request decides the revision, except that `initialize` may follow a probe with `server/discover`.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import anyio

from louver.core.json import members
from louver.gateway.front.connections import HandshakeConnection, InFlightRequests, StatelessConnection
from louver.gateway.front.envelope import check_envelope, has_envelope, unsupported_version
from louver.gateway.front.respond import forward_notification, on_one_line, respond
from louver.gateway.front.stdio_streams import OversizedLine, claim_stdio, lines_from, lines_to
from louver.limits import DRAIN_S, MAX_CLIENT_LINE, MAX_UNFORWARDED, UPSTREAM_GOODBYE_SECONDS
from louver.steps.request import ANONYMOUS, Request
from louver.wire.jsonrpc import codec, inbound
from louver.wire.jsonrpc.codec import error_response
from louver.wire.jsonrpc.errors import CONNECTION_CLOSED, INVALID_REQUEST, JsonRpcError
from louver.wire.mcp import CONNECTION_NOTIFICATIONS, LATEST_MODERN_VERSION

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence

    from louver.steps.request import Identity, Next
    from louver.wire.jsonrpc.codec import RequestId

logger = logging.getLogger(__name__)


async def serve_stdio(
    answer: Next,
    *,
    ready: Callable[[Callable[[], None]], None],
    end_streams: Callable[[], None],
    close_upstreams: Callable[[], Coroutine[Any, Any, None]],
    versions: Callable[[], Sequence[str]],
    identity: Identity = ANONYMOUS,
) -> None:
    """Serve until the client disconnects; `ready` gets what ends it earlier, `versions` the stateless revisions."""
    source, sink = claim_stdio()
    with anyio.CancelScope() as scope:
        async with lines_from(source) as read_line, lines_to(sink, scope.cancel) as write_line:
            server = _StdioServer(answer, versions, identity, read_line, write_line)
            ready(server.end)
            await server.serve(end_streams, close_upstreams)


class _StdioServer:
    def __init__(
        self,
        answer: Next,
        versions: Callable[[], Sequence[str]],
        identity: Identity,
        read_line: Callable[[], Awaitable[bytes]],
        write_line: Callable[[bytes], Awaitable[None]],
    ) -> None:
        self._answer = answer
        self._versions = versions
        self._identity = identity
        self._read_line = read_line
        self._write_line = write_line
        self._write_lock = asyncio.Lock()
        self._handshake = HandshakeConnection(answer, self._send)
        self._is_modern: bool | None = None  # None before the first request
        self._has_only_discovered = True
        self._shared: dict[str, Any] = {}  # by the requests of 2026-07-28
        self._in_flight = InFlightRequests()
        self._calls: set[asyncio.Task[None]] = set()
        self._streams: set[asyncio.Task[None]] = set()
        self._notifications = asyncio.Queue[dict[str, Any]](MAX_UNFORWARDED)
        self._reading = anyio.CancelScope()
        self._draining = anyio.CancelScope()
        self._is_ended = False

    def end(self) -> None:
        self._is_ended = True
        self._reading.cancel()
        self._draining.deadline = min(self._draining.deadline, asyncio.get_running_loop().time() + DRAIN_S)

    async def serve(
        self, end_streams: Callable[[], None], close_upstreams: Callable[[], Coroutine[Any, Any, None]]
    ) -> None:
        closing: asyncio.Task[None] | None = None
        forwarding = asyncio.create_task(self._forward_notifications())
        try:
            with self._draining:
                while line := await self._next_line():
                    await self._take(line)
                self._handshake.stop_asking("the client answers no more")
                await _all_done(self._calls)
            end_streams()
            # In a task: closing upstreams takes time, and it also answers the calls that are still open.
            closing = asyncio.create_task(close_upstreams())
            with anyio.move_on_after(UPSTREAM_GOODBYE_SECONDS):
                await _all_done(self._calls)
                await _all_done(self._streams)
        finally:
            forwarding.cancel()
            with anyio.move_on_after(UPSTREAM_GOODBYE_SECONDS, shield=True):
                await self._refuse_open()
                await self._handshake.close()
                if closing is not None:
                    await closing

    async def _refuse_open(self) -> None:
        """Cancel what is open; the client gets an error if it still reads."""
        for task in (*self._calls, *self._streams):
            task.cancel()
        await _all_done(self._calls)
        await _all_done(self._streams)

    async def _next_line(self) -> bytes:
        """Return the next line; empty at the end of input and after a signal."""
        with anyio.CancelScope() as self._reading:
            if not self._is_ended:
                return await self._read_line()
        return b""

    async def _take(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            if isinstance(line, OversizedLine):
                raise JsonRpcError(INVALID_REQUEST, f"a message has at most {MAX_CLIENT_LINE} bytes, this one has more")
            message = inbound.read(line)
        except JsonRpcError as error:
            await self._take_unreadable(line, error)
            return
        if "method" not in message:
            self._handshake.resolve(message["id"], message)
        elif "id" not in message:
            await self._take_notification(message)
        else:
            await self._take_request(message)

    async def _take_request(self, message: dict[str, Any]) -> None:
        is_initialize = message["method"] == "initialize"
        if self._is_modern is None or (is_initialize and self._has_only_discovered):
            self._is_modern = not is_initialize and has_envelope(message)
        self._has_only_discovered = self._has_only_discovered and message["method"] == "server/discover"
        task = asyncio.create_task(self._serve_request(message))
        tasks = self._streams if message["method"] == "subscriptions/listen" else self._calls
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        if is_initialize:
            # The next request may not wait for the response, but is one of an open connection.
            await asyncio.wait({task})

    async def _serve_request(self, message: dict[str, Any]) -> None:
        request_id = message["id"]
        try:
            response = await (self._respond_modern(message) if self._is_modern else self._respond_handshake(message))
        except JsonRpcError as error:
            response = error_response(request_id, error)
        except asyncio.CancelledError:
            # The process ends.
            response = error_response(request_id, JsonRpcError(CONNECTION_CLOSED, "Connection closed"))
        if response is not None:
            # A cancelled request has no response.
            await self._send(response, request_id)

    async def _respond_handshake(self, message: dict[str, Any]) -> bytes | None:
        if message["method"] != "initialize" and has_envelope(message):
            raise JsonRpcError(
                INVALID_REQUEST, "this connection was opened by 'initialize': requests of 2026-07-28 need their own"
            )
        return await self._handshake.respond(message, self._identity)

    async def _respond_modern(self, message: dict[str, Any]) -> bytes | None:
        if message["method"] == "initialize":
            version = str(members(message.get("params")).get("protocolVersion"))
            raise unsupported_version(version, self._versions())
        check_envelope(message, self._versions)
        request = self._stateless(message)
        with self._in_flight.track(message["id"]) as cancellation:
            response = await cancellation.run(respond(self._answer, request))
        return None if response is None else response[0]

    async def _take_notification(self, message: dict[str, Any]) -> None:
        if message["method"] in CONNECTION_NOTIFICATIONS:
            # The tasks of the requests before it begin first.
            await asyncio.sleep(0)
            await self._notify(message)
        else:
            # If an upstream takes none, the client is read from no further.
            await self._notifications.put(message)

    async def _forward_notifications(self) -> None:
        while True:
            await self._notify(await self._notifications.get())

    async def _notify(self, message: dict[str, Any]) -> None:
        if not self._is_modern:
            await self._handshake.receive(message, self._identity)
            return
        request = self._stateless(message)
        if request.method == "notifications/cancelled":
            self._in_flight.cancel(request.params.get("requestId"))
        await forward_notification(self._answer, request)

    def _stateless(self, message: dict[str, Any]) -> Request:
        connection = StatelessConnection(self._send, self._shared)
        params: dict[str, Any] = message.get("params") or {}
        return Request(message["method"], params, message.get("id"), LATEST_MODERN_VERSION, connection, self._identity)

    async def _take_unreadable(self, line: bytes, error: JsonRpcError) -> None:
        logger.warning("a message of the client is not read: %s", error.message)
        if (request_id := inbound.peek_request_id(line)) is not None:
            await self._send(error_response(request_id, error))
        elif (question := codec.peek_response_id(line)) is not None:
            self._handshake.resolve(question, error)

    async def _send(self, message: bytes, _request_id: RequestId | None = None) -> None:
        async with self._write_lock:
            await self._write_line(on_one_line(message))


async def _all_done(tasks: set[asyncio.Task[None]]) -> None:
    while tasks:
        await asyncio.wait(tasks)
