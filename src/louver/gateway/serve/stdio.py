"""Serve one client over stdio; each message is a line.

    end of input            open requests are answered, then the process ends
    SIGTERM, SIGINT         reading stops; open calls continue for at most `DRAIN_S`
    output is closed        the process ends at once

The SDK drops open requests at the end of its input, so the end of input reaches it only after they are answered.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from pydantic import ValidationError

from louver.core.json import compact
from louver.gateway.serve.stdio_streams import OversizedLine, claim_stdio, lines_from, lines_to
from louver.jsonrpc import codec, inbound_limits
from louver.jsonrpc.inbound_limits import check
from louver.limits import DRAIN_S, MAX_CLIENT_LINE, UPSTREAM_GOODBYE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from anyio.abc import TaskGroup
    from mcp.server import Server


logger = logging.getLogger(__name__)

_NO_RESPONSE: Final = types.ErrorData(code=types.CONNECTION_CLOSED, message="the client answers no more")


async def serve_stdio(
    server: Server[Any],
    *,
    ready: Callable[[Callable[[], None]], None],
    end_streams: Callable[[], None],
    close_upstreams: Callable[[], Coroutine[Any, Any, None]],
) -> None:
    """Serve until the client disconnects; `ready` gets what ends it earlier, and `end_behind` closes the upstreams."""
    source, sink = claim_stdio()
    with anyio.CancelScope() as scope:
        async with (
            lines_from(source) as read_line,
            lines_to(sink, scope.cancel) as write_line,
            anyio.create_task_group() as tasks,
        ):
            connection = _StdioConnection(read_line, write_line, end_streams, close_upstreams, tasks)
            ready(connection.stop)
            await connection.serve(server)


class _StdioConnection:
    """Carries messages between the lines and the server, and ends both in order."""

    def __init__(
        self,
        read_line: Callable[[], Awaitable[bytes]],
        write_line: Callable[[bytes], Awaitable[None]],
        end_streams: Callable[[], None],
        close_upstreams: Callable[[], Coroutine[Any, Any, None]],
        tasks: TaskGroup,
    ) -> None:
        self._read_line = read_line
        self._write_line = write_line
        self._end_streams = end_streams
        self._close_upstreams = close_upstreams
        self._tasks = tasks
        self._client_messages, self._incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        self._outgoing, self._from_server = anyio.create_memory_object_stream[SessionMessage](0)
        self._is_restarting = False
        self._has_only_discovered: bool | None = None
        # Open requests by id. A client may use an id twice, and the SDK answers both.
        self._open_calls: Counter[types.RequestId | None] = Counter()
        self._open_streams: Counter[types.RequestId | None] = Counter()
        self._server_requests: set[types.RequestId] = set()
        self._on_answered = asyncio.Event()
        self._read_scope = anyio.CancelScope()
        self._drain_scope = anyio.CancelScope()
        self._is_stopping = self._is_input_read = False

    def stop(self) -> None:
        self._is_stopping = True
        self._read_scope.cancel()
        self._drain_scope.deadline = min(self._drain_scope.deadline, asyncio.get_running_loop().time() + DRAIN_S)

    async def serve(self, server: Server[Any]) -> None:
        self._tasks.start_soon(self._read)
        self._tasks.start_soon(self._write)
        await server.run(self._incoming, self._outgoing.clone(), server.create_initialization_options())
        while self._is_restarting:
            self._is_restarting = False
            await server.run(self._incoming, self._outgoing.clone(), server.create_initialization_options())
        await self._outgoing.aclose()
        # The client gets the last responses if it reads them in time.
        self._tasks.cancel_scope.deadline = anyio.current_time() + UPSTREAM_GOODBYE_SECONDS

    # From the client

    async def _read(self) -> None:
        try:
            with self._drain_scope:
                while line := await self._next_line():
                    await self._handle_line(line)
                self._is_input_read = True
                for request_id in self._server_requests:
                    self._tasks.start_soon(self._refuse, request_id)
                await self._wait_answered(self._open_calls)
            self._end_streams()
            # In a task: closing upstreams takes time, and it also answers the calls that are still open.
            self._tasks.start_soon(self._close_upstreams)
            with anyio.move_on_after(UPSTREAM_GOODBYE_SECONDS):
                await self._wait_answered(self._open_calls)
                await self._wait_answered(self._open_streams)
        finally:
            await self._client_messages.aclose()

    async def _next_line(self) -> bytes:
        """Return the next line; empty at the end of input and after a signal."""
        with anyio.CancelScope() as self._read_scope:
            if not self._is_stopping:
                return await self._read_line()
        return b""

    async def _handle_line(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = parse_line(line)
        except MCPError as error:
            await self._handle_invalid(line, error.error)
            return
        metadata = None
        if isinstance(message, types.JSONRPCRequest):
            if message.method == "initialize" and self._has_only_discovered:
                await self._restart()
            self._has_only_discovered = message.method == "server/discover" and self._has_only_discovered is not False
            open_requests = self._open_streams if message.method == "subscriptions/listen" else self._open_calls
            open_requests[message.id] += 1
            # The SDK sends no response to a cancelled request.
            metadata = ServerMessageMetadata(on_request_unanswered=partial(self._mark_answered, message.id))
        elif not isinstance(message, types.JSONRPCNotification):
            self._server_requests.discard(codec.normalized_id(message.id))
        await self._client_messages.send(SessionMessage(message, metadata))

    async def _restart(self) -> None:
        # A client that probes with `server/discover` may time out and then send `initialize`. The SDK fixes the
        # protocol revision by the first request, so it must run again.
        self._is_restarting = True
        self._open_calls.clear()
        old_stream = self._client_messages
        self._client_messages, self._incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        await old_stream.aclose()

    async def _handle_invalid(self, line: bytes, error: types.ErrorData) -> None:
        logger.warning("a message of the client is not read: %s", error.message)
        if (request_id := inbound_limits.peek_request_id(line)) is not None:
            self._open_calls[request_id] += 1
            await self._outgoing.send(SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=request_id, error=error)))
        elif (response_id := codec.peek_response_id(line)) in self._server_requests:
            self._server_requests.discard(response_id)
            await self._refuse(response_id, error)

    async def _refuse(self, request_id: types.RequestId, error: types.ErrorData = _NO_RESPONSE) -> None:
        refusal = types.JSONRPCError(jsonrpc="2.0", id=request_id, error=error)
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self._client_messages.send(SessionMessage(refusal))

    # To the client

    async def _write(self) -> None:
        async with self._from_server:
            async for each in self._from_server:
                message = each.message
                if isinstance(message, types.JSONRPCRequest):
                    if self._is_input_read:
                        self._tasks.start_soon(self._refuse, message.id)
                        continue
                    self._server_requests.add(message.id)
                payload = message.model_dump(by_alias=True, mode="json", exclude_unset=True)
                await self._write_line(compact(payload).encode("utf-8", "backslashreplace"))
                if not isinstance(message, types.JSONRPCRequest | types.JSONRPCNotification):
                    await self._mark_answered(message.id)

    async def _mark_answered(self, request_id: types.RequestId | None) -> None:
        """Count a request as answered, or as cancelled and never to be answered."""
        open_requests = self._open_calls if request_id in self._open_calls else self._open_streams
        if open_requests[request_id] > 1:
            open_requests[request_id] -= 1
        else:
            del open_requests[request_id]
        self._on_answered.set()

    async def _wait_answered(self, open_requests: Counter[types.RequestId | None]) -> None:
        while open_requests:
            self._on_answered.clear()
            await self._on_answered.wait()


def parse_line(line: bytes) -> types.JSONRPCMessage:
    """Parse a line; an `MCPError` quotes nothing of it."""
    if isinstance(line, OversizedLine):
        message = f"a message has at most {MAX_CLIENT_LINE} bytes, this one has more"
        raise MCPError(types.INVALID_REQUEST, message)
    check(line)
    try:
        # "replace" as in the SDK. Half a surrogate pair is refused: it could not be written to an upstream.
        return types.jsonrpc_message_adapter.validate_json(line.decode(errors="replace"), by_name=False)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        if first["type"] == "json_invalid":
            # This message of pydantic gives the problem and the position, and quotes nothing.
            message = f"{first['msg']}; a message is a line of JSON, without half a surrogate pair"
            raise MCPError(types.PARSE_ERROR, message) from None
        message = "a message is a request, a notification or an answer of JSON-RPC 2.0, whose params are an object"
        raise MCPError(types.INVALID_REQUEST, message) from None
