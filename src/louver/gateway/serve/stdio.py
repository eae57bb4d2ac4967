"""Serving over stdio: one client, whose messages are lines.

::

    the client closes its end, or a file is at its end    what was read is answered, then the process ends
    SIGTERM, SIGINT                                       nothing more is read; open calls go on for `DRAIN_S`
    the client reads no more                              the process ends at once

The SDK's own reader drops what is open when there is no more to read, so it does not hear of that before all is
answered. Who asks the client then is told that it answers no more.

A client that has asked `server/discover` and then opens by `initialize`, because it does not wait long, is served as
one that has said nothing yet: to the SDK the first request decides which revision is spoken.
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
    """Serve the client at the other end of standard input and output, until it goes or this is ended.

    Args:
        server: What is served.
        ready: Called once it can be ended, with what ends it.
        end_streams: Called when calls are done, to end the streams that the server ends by itself.
        end_behind: Awaited after that, to end what is behind the server.
    """
    source, sink = claim()
    with anyio.CancelScope() as scope:
        async with lines_from(source) as line, lines_to(sink, scope.cancel) as say, anyio.create_task_group() as tasks:
            front = _Front(line, say, end_streams, end_behind, tasks)
            ready(front.end)
            await front.serve(server)


class _Front:
    """What stands between the lines and the server.

    Args:
        line: Reads a line.
        say: Writes one.
        end_streams: Ends the server's streams.
        end_behind: Ends what is behind it.
        tasks: Runs what reads and writes.
    """

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
        # By their ids, which clients may give twice: the SDK answers both.
        self._calls: Counter[types.RequestId | None] = Counter()
        self._streams: Counter[types.RequestId | None] = Counter()
        self._questions: set[types.RequestId] = set()
        self._answered = asyncio.Event()
        self._waiting = anyio.CancelScope()
        self._draining = anyio.CancelScope()
        self._is_told = self._is_read = False

    def end(self) -> None:
        """The process is told to end."""
        self._is_told = True
        self._waiting.cancel()
        self._draining.deadline = min(self._draining.deadline, asyncio.get_running_loop().time() + DRAIN_S)

    async def serve(self, server: Server[Any]) -> None:
        """Serve until the end of what is read."""
        self._tasks.start_soon(self._read)
        self._tasks.start_soon(self._write)
        await server.run(self._incoming, self._outgoing.clone(), server.create_initialization_options())
        while self._starts_over:
            self._starts_over = False
            await server.run(self._incoming, self._outgoing.clone(), server.create_initialization_options())
        await self._outgoing.aclose()
        # Whoever reads gets the last words, but is not waited for.
        self._tasks.cancel_scope.deadline = anyio.current_time() + UPSTREAM_GOODBYE_SECONDS

    # What comes

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
            # Beside: it takes its time, and answers what is not answered yet.
            self._tasks.start_soon(self._end_behind)
            with anyio.move_on_after(UPSTREAM_GOODBYE_SECONDS):
                await self._until_answered(self._calls)
                await self._until_answered(self._streams)
        finally:
            await self._to_server.aclose()

    async def _next(self) -> bytes:
        """The next line; nothing at the end, and once the process is told to end."""
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
            # The SDK answers nothing that is cancelled.
            metadata = ServerMessageMetadata(on_request_unanswered=partial(self._close, message.id))
        elif not isinstance(message, types.JSONRPCNotification):
            self._questions.discard(codec.come_back(message.id))
        await self._to_server.send(SessionMessage(message, metadata))

    async def _start_over(self) -> None:
        """Serve the client as one that has said nothing yet."""
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

    # What goes

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
        """A request has been answered, or will not be."""
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
    """The message of a line.

    Raises:
        MCPError: It cannot be read. The error holds nothing of it.

    Source: "replace" is what the SDK reads by; half a surrogate pair could not be written to an upstream.
    """
    if isinstance(line, TooLong):
        message = f"a message has at most {MAX_CLIENT_LINE} bytes, this one has more"
        raise MCPError(types.INVALID_REQUEST, message)
    check(line)
    try:
        return types.jsonrpc_message_adapter.validate_json(line.decode(errors="replace"), by_name=False)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        if first["type"] == "json_invalid":
            # Its message says what and where, and quotes nothing.
            message = f"{first['msg']}; a message is a line of JSON, without half a surrogate pair"
            raise MCPError(types.PARSE_ERROR, message) from None
        message = "a message is a request, a notification or an answer of JSON-RPC 2.0, whose params are an object"
        raise MCPError(types.INVALID_REQUEST, message) from None
