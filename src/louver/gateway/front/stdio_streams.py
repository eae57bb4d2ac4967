"""Standard input and output as lines, reserved for the protocol.

    a pipe, a socket, a terminal    read and written on the event loop, so that a pending read never blocks the exit
    a file, /dev/null               in a thread: the event loop cannot poll what is always ready

Other prints go to standard error, and child processes read from /dev/null.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import stat
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from anyio import to_thread

from louver.limits import MAX_CLIENT_LINE, MAX_TELLING_BYTES

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from io import FileIO


class OversizedLine(bytes):
    """The start and the end of a line that is longer than `MAX_CLIENT_LINE`."""


def claim_stdio() -> tuple[int, int]:
    """Return input and output descriptors for the protocol; from now on, prints go to standard error."""
    source, sink = (fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3) for descriptor in (0, 1))
    devnull = os.open(os.devnull, os.O_RDONLY)
    os.dup2(devnull, 0)
    os.close(devnull)
    os.dup2(2, 1)
    return source, sink


@asynccontextmanager
async def lines_from(source: int) -> AsyncGenerator[Callable[[], Awaitable[bytes]]]:
    """Yield a function that reads the next line: empty at the end, `OversizedLine` for one that is too long."""
    if _is_always_ready(source):
        with os.fdopen(source, "rb") as file:
            yield lambda: _read_line(lambda: to_thread.run_sync(file.readline, MAX_CLIENT_LINE + 1))
        return
    reader = asyncio.StreamReader(limit=MAX_CLIENT_LINE)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(source, "rb", 0)
    )
    try:
        yield lambda: _read_line(lambda: _read_pipe_part(reader))
    finally:
        transport.close()


@asynccontextmanager
async def lines_to(sink: int, on_lost: Callable[[], None]) -> AsyncGenerator[Callable[[bytes], Awaitable[None]]]:
    """Yield a function that writes a line; `on_lost` is called when the client closes its end or a write fails."""
    if _is_always_ready(sink):
        with os.fdopen(sink, "wb", 0) as file:
            yield lambda line: _write_to_file(file, line, on_lost)
        return
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(lambda: _CloseWatcher(on_lost), os.fdopen(sink, "wb", 0))
    # `drain` then waits until the line has left the process.
    transport.set_write_buffer_limits(0)
    writer = asyncio.StreamWriter(transport, protocol, None, loop)

    try:
        yield lambda line: _write_to_pipe(writer, line)
    finally:
        transport.close()


class _CloseWatcher(asyncio.streams.FlowControlMixin):
    """Notices at once when the client closes its end."""

    def __init__(self, on_lost: Callable[[], None]) -> None:
        super().__init__()
        self._on_lost = on_lost

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._on_lost()


def _is_always_ready(descriptor: int) -> bool:
    mode = os.fstat(descriptor).st_mode
    return not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor))


async def _read_line(read_part: Callable[[], Awaitable[bytes]]) -> bytes:
    line = rest = await read_part()
    while len(rest) > MAX_CLIENT_LINE and not rest.endswith(b"\n"):
        rest = await read_part()
        line = OversizedLine(line[:MAX_TELLING_BYTES] + (line + rest)[-MAX_TELLING_BYTES:])
    return line


async def _read_pipe_part(reader: asyncio.StreamReader) -> bytes:
    """Read a line, or the first part of an oversized line."""
    try:
        return await reader.readuntil()
    except asyncio.IncompleteReadError as end:
        return end.partial
    except asyncio.LimitOverrunError as over:
        return await reader.readexactly(over.consumed)


async def _write_to_file(file: FileIO, line: bytes, on_lost: Callable[[], None]) -> None:
    remaining = memoryview(line + b"\n")
    try:
        while remaining:
            remaining = remaining[await to_thread.run_sync(file.write, remaining) :]
    except OSError:
        on_lost()


async def _write_to_pipe(writer: asyncio.StreamWriter, line: bytes) -> None:
    writer.write(line + b"\n")
    with suppress(ConnectionError):
        await writer.drain()
