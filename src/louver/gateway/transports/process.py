r"""A process that is spoken to in lines.

    louver  -- b'{"jsonrpc":"2.0",...}\n' -->  stdin
            <-- b'{"jsonrpc":"2.0",...}\n' --  stdout
            <-- log lines ------------------  stderr, to a logger

Its end is seen at once, also where a grandchild keeps the pipe open. What waits to be taken is bounded, and so is
what waits to be read by the process; nothing here ever blocks the event loop. What a line means is not known here.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from louver.errors import UpstreamError, UpstreamTooLarge, UpstreamUnavailable
from louver.http1.lines import Lines
from louver.limits import (
    MAX_LOG_LINE,
    MAX_LOG_LINES,
    MAX_UPSTREAM_PENDING,
    MAX_UPSTREAM_UNSENT,
    UPSTREAM_EXIT_SECONDS,
    UPSTREAM_LAST_WORDS_SECONDS,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from logging import Logger


_LINE_COST = 100
"""What a waiting line costs beside its own bytes, about: many short ones are no less than a long one."""

_AT_ONCE = 64
"""Lines that are taken without a turn for anybody else on the event loop."""


class Process(asyncio.SubprocessProtocol):
    """One process in a process group of its own. Made by `start`."""

    def __init__(self, logger: Logger) -> None:
        self._lines = Lines()
        self._logged = LoggedLines(logger)
        self._waiting: deque[bytes] = deque()
        self._taken = 0
        self._pending = 0
        self._paused = False
        self._arrived = asyncio.Event()
        self._end: UpstreamError | None = None
        self._silent = False
        self._settling: asyncio.TimerHandle | None = None
        self._exited = asyncio.Event()
        self._finished = asyncio.Event()

    @classmethod
    async def start(
        cls, command: Sequence[str], env: Mapping[str, str], cwd: str | os.PathLike[str] | None, logger: Logger
    ) -> Process:
        """A new process.

        Raises:
            UpstreamUnavailable: It cannot be started.
        """
        loop = asyncio.get_running_loop()
        try:
            # Its own group, so that what it starts can be ended with it, and no Ctrl-C reaches it before us.
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

    # What a link does with it

    async def line(self) -> bytes:
        """The next line. The last ones come before the end, whatever ended it.

        Raises:
            UpstreamError: There will be no more.
        """
        self._taken += 1
        if self._taken % _AT_ONCE == 0:
            await asyncio.sleep(0)
        while not self._waiting:
            if self._end is not None:
                raise self._end
            self._arrived.clear()
            await self._arrived.wait()
        return self._waiting.popleft()

    def done(self, line_bytes: int) -> None:
        """What a line brought has been delivered, so that another one may wait in its place."""
        self._pending -= line_bytes + _LINE_COST
        if self._pending <= MAX_UPSTREAM_PENDING // 2:
            self._go_on_reading()

    def write(self, line: bytes) -> None:
        """Send a line.

        Raises:
            UpstreamUnavailable: The process has ended, or does not read.
        """
        if self._end is not None:
            raise UpstreamUnavailable(self._end.message)
        if self._input.get_write_buffer_size() > MAX_UPSTREAM_UNSENT:
            raise UpstreamUnavailable("the upstream does not read what it is sent")
        self._input.write(line + b"\n")

    async def close(self) -> None:
        """End it and whatever it started: by closing its input, then by SIGTERM, then by SIGKILL."""
        self._stop(UpstreamUnavailable("the connection is closed"))
        # Let it say what it wants, so that a full pipe does not keep it from ending; nobody listens.
        self._output.resume_reading()
        try:
            self._input.close()
            for number, over in (
                (None, self._finished),
                (signal.SIGTERM, self._finished),
                # Whoever holds the pipes though it is in another group is not waited for.
                (signal.SIGKILL, self._exited),
            ):
                self._signal(number)
                with suppress(TimeoutError):
                    async with asyncio.timeout(UPSTREAM_EXIT_SECONDS):
                        await over.wait()
                        break
        finally:
            # Who has left the pipes is still in the group.
            self._signal(signal.SIGKILL)
            self._transport.close()

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It runs."""
        self._transport = cast("asyncio.SubprocessTransport", transport)
        self._input = cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))
        self._output = cast("asyncio.ReadTransport", self._transport.get_pipe_transport(1))

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """It has said something."""
        if fd == 2:
            self._logged.feed(data)
        elif self._end is None:
            try:
                self._add(self._lines.feed(data))
            except UpstreamTooLarge as error:
                self._stop(error)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """It will say, or hear, no more."""
        self._silent |= fd == 1
        if fd != 2:
            self._settle_soon()

    def process_exited(self) -> None:
        """It has ended; its output may still be held open by what it has started."""
        self._exited.set()
        self._go_on_reading()
        self._settle_soon()

    def connection_lost(self, exc: Exception | None) -> None:
        """It has ended, and nobody holds its pipes."""
        self._logged.flush()
        self._finished.set()

    # Inside

    def _add(self, lines: list[bytes]) -> None:
        said = [line for line in lines if line.strip()]
        self._waiting += said
        self._pending += sum(len(line) + _LINE_COST for line in said)
        # Of a process that has ended there is only what its pipe holds.
        if self._pending > MAX_UPSTREAM_PENDING and not self._paused and not self._exited.is_set():
            self._paused = True
            self._output.pause_reading()
        self._arrived.set()

    def _settle_soon(self) -> None:
        if self._exited.is_set() and self._silent:
            self._settle()
        elif self._settling is None and self._end is None:
            self._settling = asyncio.get_running_loop().call_later(UPSTREAM_LAST_WORDS_SECONDS, self._settle)

    def _settle(self) -> None:
        code = self._transport.get_returncode()
        if code is None:
            self._stop(UpstreamUnavailable("the upstream has closed its pipes"))
        elif code < 0:
            self._stop(UpstreamUnavailable(f"the upstream's process was ended by signal {-code}"))
        else:
            self._stop(UpstreamUnavailable(f"the upstream's process has ended with code {code}"))

    def _stop(self, error: UpstreamError) -> None:
        if self._settling is not None:
            self._settling.cancel()
        if self._end is None:
            self._end = error
            self._output.pause_reading()
            self._arrived.set()

    def _go_on_reading(self) -> None:
        if self._paused and self._end is None:
            self._paused = False
            self._output.resume_reading()

    def _signal(self, number: signal.Signals | None) -> None:
        if number is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._transport.get_pid(), number)


class LoggedLines:
    """The standard error of one process.

    Args:
        logger: Gets a record a line.
    """

    def __init__(self, logger: Logger) -> None:
        self._logger = logger
        self._begun = b""

    def feed(self, data: bytes) -> None:
        """Log the lines that are whole now."""
        *whole, rest = data.split(b"\n")
        for line in whole[:MAX_LOG_LINES]:
            self._log(self._begun + line[:MAX_LOG_LINE])
            self._begun = b""
        if len(whole) > MAX_LOG_LINES:
            self._logger.info("%d more lines at once are left out", len(whole) - MAX_LOG_LINES)
        self._begun = (self._begun + rest[:MAX_LOG_LINE])[:MAX_LOG_LINE]

    def flush(self) -> None:
        """Log what has no end."""
        self._log(self._begun)
        self._begun = b""

    def _log(self, line: bytes) -> None:
        text = line[:MAX_LOG_LINE].decode("utf-8", "replace").rstrip()
        if text:
            self._logger.info("%s", "".join(letter if letter.isprintable() else " " for letter in text))
