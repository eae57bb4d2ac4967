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
from louver.gateway.serve.stdio_streams import TooLong, claim, lines_from, lines_to
from louver.jsonrpc import codec, inbound_limits
from louver.jsonrpc.inbound_limits import check
from louver.limits import DRAIN_S, MAX_CLIENT_LINE, UPSTREAM_GOODBYE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from anyio.abc import TaskGroup
    from mcp.server import Server


logger = logging.getLogger(__name__)

_NO_ANSWER: Final = types.ErrorData(code=types.CONNECTION_CLOSED, message="the client answers no more")


async def serve_stdio(
    server: Server[Any],
    *,
    ready: Callable[[Callable[[], None]], None],
    end_streams: Callable[[], None],
    end_behind: Callable[[], Coroutine[Any, Any, None]],
) -> None:
    """Serve until the client disconnects; `ready` gets what ends it earlier, and `end_behind` closes the upstreams."""
    source, sink = claim()
    with anyio.CancelScope() as scope:
        async with lines_from(source) as line, lines_to(sink, scope.cancel) as say, anyio.create_task_group() as tasks:
            front = _Front(line, say, end_streams, end_behind, tasks)
            ready(front.end)
            await front.serve(server)


class _Front:
    """Carries messages between the lines and the server, and ends both in order."""

    def __init__(
        self,
        line: Callable[[], Awaitable[bytes]],
        say: Callable[[bytes], Awaitable[None]],
        end_streams: Callable[[], None],
        end_behind: Callable[[], Coroutine[Any, Any, None]],
        tasks: TaskGroup,
    ) -> None:
        self._line = line
        self._say = say
        self._end_streams = end_streams
        self._end_behind = end_behind
        self._tasks = tasks
        self._to_server, self._incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        self._outgoing, self._from_server = anyio.create_memory_object_stream[SessionMessage](0)
        self._starts_over = False
        self._has_only_discovered: bool | None = None
        # Open requests by id. A client may use an id twice, and the SDK answers both.
        self._calls: Counter[types.RequestId | None] = Counter()
        self._streams: Counter[types.RequestId | None] = Counter()
        self._questions: set[types.RequestId] = set()
        self._answered = asyncio.Event()
        self._waiting = anyio.CancelScope()
        self._draining = anyio.CancelScope()
        self._is_told = self._is_read = False

    def end(self) -> None:
        self._is_told = True
        self._waiting.cancel()
        self._draining.deadline = min(self._draining.deadline, asyncio.get_running_loop().time() + DRAIN_S)

    async def serve(self, server: Server[Any]) -> None:
        self._tasks.start_soon(self._read)
        self._tasks.start_soon(self._write)
        await server.run(self._incoming, self._outgoing.clone(), server.create_initialization_options())
        while self._starts_over:
            self._starts_over = False
            await server.run(self._incoming, self._outgoing.clone(), server.create_initialization_options())
        await self._outgoing.aclose()
        # The client gets the last responses if it reads them in time.
        self._tasks.cancel_scope.deadline = anyio.current_time() + UPSTREAM_GOODBYE_SECONDS

    # From the client

    async def _read(self) -> None:
        try:
            with self._draining:
                while line := await self._next():
                    await self._take(line)
                self._is_read = True
                for question in self._questions:
                    self._tasks.start_soon(self._refuse, question)
                await self._until_answered(self._calls)
            self._end_streams()
            # In a task: closing upstreams takes time, and it also answers the calls that are still open.
            self._tasks.start_soon(self._end_behind)
            with anyio.move_on_after(UPSTREAM_GOODBYE_SECONDS):
                await self._until_answered(self._calls)
                await self._until_answered(self._streams)
        finally:
            await self._to_server.aclose()

    async def _next(self) -> bytes:
        """Return the next line; empty at the end of input and after a signal."""
        with anyio.CancelScope() as self._waiting:
            if not self._is_told:
                return await self._line()
        return b""

    async def _take(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = read(line)
        except MCPError as error:
            await self._take_fault(line, error.error)
            return
        metadata = None
        if isinstance(message, types.JSONRPCRequest):
            if message.method == "initialize" and self._has_only_discovered:
                await self._start_over()
            self._has_only_discovered = message.method == "server/discover" and self._has_only_discovered is not False
            open_ones = self._streams if message.method == "subscriptions/listen" else self._calls
            open_ones[message.id] += 1
            # The SDK sends no response to a cancelled request.
            metadata = ServerMessageMetadata(on_request_unanswered=partial(self._close, message.id))
        elif not isinstance(message, types.JSONRPCNotification):
            self._questions.discard(codec.come_back(message.id))
        await self._to_server.send(SessionMessage(message, metadata))

    async def _start_over(self) -> None:
        # A client that probes with `server/discover` may time out and then send `initialize`. The SDK fixes the
        # protocol revision by the first request, so it must run again.
        self._starts_over = True
        self._calls.clear()
        before = self._to_server
        self._to_server, self._incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        await before.aclose()

    async def _take_fault(self, line: bytes, error: types.ErrorData) -> None:
        logger.warning("a message of the client is not read: %s", error.message)
        if (number := inbound_limits.asked(line)) is not None:
            self._calls[number] += 1
            await self._outgoing.send(SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=number, error=error)))
        elif (question := codec.answered(line)) in self._questions:
            self._questions.discard(question)
            await self._refuse(question, error)

    async def _refuse(self, question: types.RequestId, error: types.ErrorData = _NO_ANSWER) -> None:
        refusal = types.JSONRPCError(jsonrpc="2.0", id=question, error=error)
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self._to_server.send(SessionMessage(refusal))

    # To the client

    async def _write(self) -> None:
        async with self._from_server:
            async for each in self._from_server:
                message = each.message
                if isinstance(message, types.JSONRPCRequest):
                    if self._is_read:
                        self._tasks.start_soon(self._refuse, message.id)
                        continue
                    self._questions.add(message.id)
                said = message.model_dump(by_alias=True, mode="json", exclude_unset=True)
                await self._say(compact(said).encode("utf-8", "backslashreplace"))
                if not isinstance(message, types.JSONRPCRequest | types.JSONRPCNotification):
                    await self._close(message.id)

    async def _close(self, number: types.RequestId | None) -> None:
        """Count a request as answered, or as cancelled and never to be answered."""
        open_ones = self._calls if number in self._calls else self._streams
        if open_ones[number] > 1:
            open_ones[number] -= 1
        else:
            del open_ones[number]
        self._answered.set()

    async def _until_answered(self, open_ones: Counter[types.RequestId | None]) -> None:
        while open_ones:
            self._answered.clear()
            await self._answered.wait()


def read(line: bytes) -> types.JSONRPCMessage:
    """Parse a line; an `MCPError` quotes nothing of it."""
    if isinstance(line, TooLong):
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
