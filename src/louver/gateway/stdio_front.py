"""Serving over stdio: one client, whose messages are lines.

The SDK's own reader waits for a line in a thread, which nothing can end but another line. This one reads on the
event loop, so the process ends when it is told to. What else is printed goes to standard error, and children read
nothing, so the protocol has its two streams to itself.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.server.runner import serve_dual_era_loop
from mcp.shared.message import SessionMessage

from louver.core.json import compact
from louver.limits import MAX_CLIENT_LINE

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.server import Server


async def serve_stdio(server: Server[Any]) -> None:
    """Serve the client at the other end of standard input and output, until it goes or the process is told to end."""
    source, sink = _claim()
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=MAX_CLIENT_LINE)
    to_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    scope = anyio.CancelScope()
    reading, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(source, "rb", 0))
    writing, hearing = await loop.connect_write_pipe(lambda: _Hearing(scope.cancel), os.fdopen(sink, "wb", 0))
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, scope.cancel)
    with scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_read, reader, to_server)
            tasks.start_soon(_write, asyncio.StreamWriter(writing, hearing, None, loop), from_server)
            await serve_dual_era_loop(server, incoming, outgoing, lifespan_state={})
            scope.cancel()
    reading.close()
    writing.close()


class _Hearing(asyncio.streams.FlowControlMixin):
    """Sees at once when nobody reads any more."""

    def __init__(self, end: Callable[[], None]) -> None:
        super().__init__()
        self._end = end

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has closed its end."""
        super().connection_lost(exc)
        self._end()


async def _read(reader: asyncio.StreamReader, to_server: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
    async with to_server:
        while line := await _line(reader):
            if not line.strip():
                continue
            try:
                message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError as error:
                await to_server.send(error)
            else:
                await to_server.send(SessionMessage(message))


async def _line(reader: asyncio.StreamReader) -> bytes:
    """The next line; nothing at the end, and after a line that is too long to be one."""
    try:
        return await reader.readline()
    except ValueError:
        return b""


async def _write(writer: asyncio.StreamWriter, from_server: MemoryObjectReceiveStream[SessionMessage]) -> None:
    async with from_server:
        async for message in from_server:
            said = message.message.model_dump(by_alias=True, mode="json", exclude_unset=True)
            writer.write(compact(said).encode("utf-8", "backslashreplace") + b"\n")
            with suppress(ConnectionError):
                await writer.drain()


def _claim() -> tuple[int, int]:
    """Descriptors for the protocol alone; from now on what is printed goes to standard error."""
    source, sink = (fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3) for descriptor in (0, 1))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return source, sink
