"""A target that is a process, spoken to in lines.

Its standard error goes nowhere: the suite tells what it found, not what the target says of itself.
"""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from louver.errors import UpstreamInvalidOutput, UpstreamTooLarge, UpstreamUnavailable
from louver.limits import CONFORMANCE_BYTES, CONFORMANCE_ENDING_S, CONFORMANCE_STRAYS
from louver_conformance.transports import messages

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from louver_conformance.transports.messages import Answer


class Pipe:
    """A process of our own.

    Args:
        process: The process, with pipes.
    """

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._input = process.stdin
        self._output = process.stdout

    @classmethod
    async def open(cls, command: Sequence[str]) -> Pipe:
        """A new process.

        Raises:
            UpstreamUnavailable: It cannot be started.
        """
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                limit=CONFORMANCE_BYTES,
                # A group of its own, so that what it starts can be ended with it.
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no command"
            raise UpstreamUnavailable(f"the target cannot be started: {reason}") from None
        return cls(process)

    async def ask(self, number: int, method: str, params: dict[str, Any], headers: Mapping[str, str]) -> Answer:
        """The answer to a request; `headers` are for HTTP."""
        await self._write(messages.request(number, method, params))
        for _ in range(CONFORMANCE_STRAYS):
            message = messages.read(await self._line())
            if "method" in message:
                if "id" in message:
                    await self._write(messages.reply(message["id"], str(message["method"])))
            elif message.get("id") == number:
                return messages.answer(message)
        raise UpstreamInvalidOutput(f"the target sends {CONFORMANCE_STRAYS} messages and no answer")

    async def tell(self, method: str, headers: Mapping[str, str]) -> None:
        """Send a notification."""
        await self._write(messages.notification(method))

    async def close(self) -> None:
        """End the process, and what it has started."""
        self._input.close()
        for number in (None, signal.SIGTERM, signal.SIGKILL):
            if number is not None:
                self._signal(number)
            with suppress(TimeoutError):
                async with asyncio.timeout(CONFORMANCE_ENDING_S):
                    # What it still says has to be read, or a full pipe keeps it from ending.
                    while await self._output.read(65_536):
                        pass
                    await self._process.wait()
                    break
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    async def _write(self, message: bytes) -> None:
        try:
            self._input.write(message + b"\n")
            await self._input.drain()
        except (ConnectionError, RuntimeError):
            raise UpstreamUnavailable("the target's process has ended") from None

    async def _line(self) -> bytes:
        while True:
            try:
                line = await self._output.readline()
            except ValueError:
                raise UpstreamTooLarge(f"the target sends a message over {CONFORMANCE_BYTES} bytes") from None
            if not line:
                raise UpstreamUnavailable("the target's process has ended")
            if line.strip():
                return line
