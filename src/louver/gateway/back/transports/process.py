r"""A process that exchanges lines.

    louver  -- b'{"jsonrpc":"2.0",...}\n' -->  stdin
            <-- b'{"jsonrpc":"2.0",...}\n' --  stdout
            <-- log lines ------------------  stderr, to a logger

Its end is noticed at once, even if a grandchild keeps the pipe open. Both queues are bounded; nothing blocks the loop.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from louver.concurrency.places import restore_limit
from louver.errors import UpstreamError, UpstreamTooLarge, UpstreamUnavailable
from louver.http1.lines import LineDecoder
from louver.limits import MAX_LOG_LINE, MAX_LOG_LINES, MAX_READ_ON_LOOP, MAX_UPSTREAM_PENDING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from logging import Logger

MAX_UPSTREAM_UNSENT = 4 * 1024 * 1024
"""Bytes that an upstream has not read. Over it calls fail instead of waiting."""

UPSTREAM_EXIT_SECONDS = 2.0
"""How long a process may take to end after a pipe is closed, and again after SIGTERM, as in the SDK."""

UPSTREAM_LAST_WORDS_SECONDS = 0.05
"""How long the gateway reads the output of an ended process that another process keeps open."""


# The approximate cost of a waiting line, besides its bytes: many short lines cost as much as a long one.
_LINE_COST = 100

# The lines that are taken before other tasks have a turn, unless they are `MAX_READ_ON_LOOP` bytes before that.
_LINES_AT_ONCE = 16


class Process(asyncio.SubprocessProtocol):
    """One process in its own process group; made by `start`."""

    def __init__(self, logger: Logger) -> None:
        self._lines = LineDecoder()
        self._logged = LoggedLines(logger)
        self._waiting: deque[bytes] = deque()
        self._taken_count = self._taken_bytes = 0  # in this turn
        self._pending_bytes = 0
        self._paused = False
        self._arrived = asyncio.Event()
        self._end: UpstreamError | None = None
        self._stdout_closed = False
        self._settle_timer: asyncio.TimerHandle | None = None
        self._exited = asyncio.Event()
        self._finished = asyncio.Event()

    @classmethod
    async def start(
        cls, command: Sequence[str], env: Mapping[str, str], cwd: str | os.PathLike[str] | None, logger: Logger
    ) -> Process:
        loop = asyncio.get_running_loop()
        try:
            # Its own group: its children can be ended with it, and Ctrl-C reaches only the gateway.
            _, process = await loop.subprocess_exec(
                lambda: cls(logger), *command, env=env, cwd=cwd, start_new_session=True
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no command"
            if isinstance(error, FileNotFoundError) and len(words := command[0].split()) > 1:
                reason = f"{reason}. The command is one word, as {words[0]!r}; the others are its arguments"
            if isinstance(error, OSError) and cwd is not None and error.filename == cwd:
                reason = f"its folder {os.fspath(cwd)!r}: {reason}"
            raise UpstreamUnavailable(f"the upstream {command[0]!r} cannot be started: {reason}") from None
        return process

    # For the transport

    async def line(self) -> bytes:
        """The next line; raises after the last one."""
        if self._taken_count >= _LINES_AT_ONCE or self._taken_bytes >= MAX_READ_ON_LOOP:
            self._taken_count = self._taken_bytes = 0
            await asyncio.sleep(0)
        while not self._waiting:
            if self._end is not None:
                raise self._end
            self._arrived.clear()
            await self._arrived.wait()
        line = self._waiting.popleft()
        self._taken_count += 1
        self._taken_bytes += len(line)
        return line

    def release(self, line_bytes: int) -> None:
        """A line has been delivered: make room for another one."""
        self._pending_bytes -= line_bytes + _LINE_COST
        if self._pending_bytes <= MAX_UPSTREAM_PENDING // 2:
            self._resume_reading()

    def write(self, line: bytes) -> None:
        """Send a line; raises if the process has ended or does not read."""
        if self._end is not None:
            raise UpstreamUnavailable(self._end.message)
        if self._input.get_write_buffer_size() > MAX_UPSTREAM_UNSENT:
            raise UpstreamUnavailable("the upstream does not read what it is sent")
        self._input.write(line + b"\n")

    async def close(self) -> None:
        """End it and its children: close its input, then SIGTERM, then SIGKILL."""
        self._stop(UpstreamUnavailable("the connection is closed"))
        # Drain its output: a full pipe could keep it from ending.
        self._output.resume_reading()
        try:
            self._input.close()
            for signal_number, event in (
                (None, self._finished),
                (signal.SIGTERM, self._finished),
                # Not waited for: a process of another group that holds the pipes.
                (signal.SIGKILL, self._exited),
            ):
                self._signal(signal_number)
                with suppress(TimeoutError):
                    async with asyncio.timeout(UPSTREAM_EXIT_SECONDS):
                        await event.wait()
                        break
        finally:
            # A child that has closed the pipes is still in the group.
            self._signal(signal.SIGKILL)
            self._transport.close()

    # For asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)
        restore_limit(self._transport.get_pid())
        self._input = cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))
        self._output = cast("asyncio.ReadTransport", self._transport.get_pipe_transport(1))

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self._logged.feed(data)
        elif self._end is None:
            try:
                self._add(self._lines.feed(data))
            except UpstreamTooLarge as error:
                self._stop(error)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._stdout_closed |= fd == 1
        if fd != 2:
            self._settle_within(UPSTREAM_EXIT_SECONDS)

    def process_exited(self) -> None:
        """It has ended; a child may still hold its output open."""
        self._exited.set()
        self._resume_reading()
        self._settle_within(UPSTREAM_LAST_WORDS_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        self._logged.flush()
        self._finished.set()

    # Internal

    def _add(self, lines: list[bytes]) -> None:
        nonblank = [line for line in lines if line.strip()]
        self._waiting += nonblank
        self._pending_bytes += sum(len(line) + _LINE_COST for line in nonblank)
        # After its end there is only what the pipe holds.
        if self._pending_bytes > MAX_UPSTREAM_PENDING and not self._paused and not self._exited.is_set():
            self._paused = True
            self._output.pause_reading()
        self._arrived.set()

    def _settle_within(self, seconds: float) -> None:
        if self._exited.is_set() and self._stdout_closed:
            self._settle()
        elif self._settle_timer is None and self._end is None:
            self._settle_timer = asyncio.get_running_loop().call_later(seconds, self._settle)

    def _settle(self) -> None:
        code = self._transport.get_returncode()
        if code is None:
            self._stop(UpstreamUnavailable("the upstream has closed its pipes"))
        elif code < 0:
            self._stop(UpstreamUnavailable(f"the upstream's process was ended by signal {-code}"))
        else:
            self._stop(UpstreamUnavailable(f"the upstream's process has ended with code {code}"))

    def _stop(self, error: UpstreamError) -> None:
        if self._settle_timer is not None:
            self._settle_timer.cancel()
        if self._end is None:
            self._end = error
            self._output.pause_reading()
            self._arrived.set()

    def _resume_reading(self) -> None:
        if self._paused and self._end is None:
            self._paused = False
            self._output.resume_reading()

    def _signal(self, signal_number: signal.Signals | None) -> None:
        if signal_number is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._transport.get_pid(), signal_number)


class LoggedLines:
    """Logs the standard error of one process, a record a line."""

    def __init__(self, logger: Logger) -> None:
        self._logger = logger
        self._partial = b""

    def feed(self, data: bytes) -> None:
        *whole, rest = data.split(b"\n")
        for line in whole[:MAX_LOG_LINES]:
            self._log(self._partial + line[:MAX_LOG_LINE])
            self._partial = b""
        if len(whole) > MAX_LOG_LINES:
            self._logger.info("%d more lines at once are left out", len(whole) - MAX_LOG_LINES)
        self._partial = (self._partial + rest[:MAX_LOG_LINE])[:MAX_LOG_LINE]

    def flush(self) -> None:
        self._log(self._partial)
        self._partial = b""

    def _log(self, line: bytes) -> None:
        text = line[:MAX_LOG_LINE].decode("utf-8", "replace").rstrip()
        if text:
            self._logger.info("%s", "".join(letter if letter.isprintable() else " " for letter in text))
