"""A target that is a process, over its standard streams. Its standard error is dropped."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from louver_conformance.errors import TargetError
from louver_conformance.limits import EXIT_TIMEOUT_S, MAX_MESSAGE_BYTES, MAX_OTHER_MESSAGES
from louver_conformance.transports import messages

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from louver_conformance.transports.messages import TargetResponse


class StdioTargetTransport:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._input = process.stdin
        self._output = process.stdout

    @classmethod
    async def open(cls, command: Sequence[str]) -> StdioTargetTransport:
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                limit=MAX_MESSAGE_BYTES,
                # A process group, so that its children end with it.
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no command"
            raise TargetError(f"the target cannot be started: {reason}") from None
        return cls(process)

    async def request(
        self, number: int, method: str, params: dict[str, Any], headers: Mapping[str, str]
    ) -> TargetResponse:
        await self._write(messages.request(number, method, params))
        for _ in range(MAX_OTHER_MESSAGES):
            message = messages.read(await self._line())
            if "method" in message:
                if "id" in message:
                    await self._write(messages.reply(message["id"], str(message["method"])))
            elif message.get("id") == number:
                return messages.answer(message)
        raise TargetError(f"the target sends {MAX_OTHER_MESSAGES} messages and no answer")

    async def notify(self, method: str, headers: Mapping[str, str]) -> None:
        await self._write(messages.notification(method))

    async def close(self) -> None:
        """End the process and its children."""
        self._input.close()
        for number in (None, signal.SIGTERM, signal.SIGKILL):
            if number is not None:
                self._signal(number)
            with suppress(TimeoutError):
                async with asyncio.timeout(EXIT_TIMEOUT_S):
                    # A full pipe would keep it from ending.
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
            raise TargetError("the target's process has ended") from None

    async def _line(self) -> bytes:
        while True:
            try:
                line = await self._output.readline()
            except ValueError:
                raise TargetError(f"the target sends a message over {MAX_MESSAGE_BYTES} bytes") from None
            if not line:
                raise TargetError("the target's process has ended")
            if line.strip():
                return line
