"""The transport over the pipes of a process, one message a line; all clients share the one pipe.

    -> {"id": 7, "method": "tools/call", "params": {...}}
    <- {"method": "notifications/progress", "params": {"progressToken": 7, ...}}    to the call (`pending.py`)
    <- {"method": "notifications/tools/list_changed"}                               to the listener

A slow client delays only its own calls, and the pipe only if `MAX_UPSTREAM_PENDING` is reached.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from mcp.client.stdio import get_default_environment

from louver.concurrency.background import Tasks
from louver.errors import UpstreamError, UpstreamUnavailable
from louver.gateway.transports.pending import EVERYBODY, OpenCalls, addressee
from louver.gateway.transports.process import Process
from louver.gateway.transports.server_requests import Questions, Strays
from louver.jsonrpc import codec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from louver.gateway.transports.transport import Call, Listener
    from louver.jsonrpc.codec import Message, Params


class StdioLink:
    wants_headers = False

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,  # besides `HOME`, `PATH` and the like; no others are inherited
        cwd: str | PathLike[str] | None = None,
        listener: Listener,  # its `heard` must not wait for an answer over this transport
        logger: logging.Logger | None = None,  # gets the standard error
    ) -> None:
        self._command = command
        self._env = env or {}
        self._cwd = cwd
        self._listener = listener
        self._logger = logger or logging.getLogger("louver.upstream")
        self._calls = OpenCalls(self._done)
        self._unasked: asyncio.Queue[tuple[int, str, Params]] = asyncio.Queue()
        self._unasked_count = self._told_count = 0
        self._told = asyncio.Condition()
        self._tasks = Tasks(self._logger)
        self._questions = Questions(listener.asked, self._write, self._tasks)
        self._process: Process | None = None
        self._closing: asyncio.Task[None] | None = None
        self.strays = Strays(self._logger)

    async def open(self) -> None:
        env = {**get_default_environment(), **self._env}
        self._process = await Process.start(self._command, env, self._cwd, self._logger)
        self._tasks.start(self._read(self._process))
        self._tasks.start(self._tell_listener())

    def speak(self, version: str | None) -> None:
        """Nothing: a pipe is the same in every revision."""

    async def listen(self) -> None:
        self._listener.listens(True)

    async def call(self, call: Call) -> dict[str, Any]:
        opened = self._calls.add(call)
        sent = False
        try:
            await self._write(codec.request(opened.number, call.method, opened.params))
            sent = True
            result = await opened.result()
            await self._told_until(self._unasked_count)
            return result
        finally:
            self._calls.remove(opened)
            if sent and not opened.ended and call.method not in codec.NEVER_CANCELLED:
                self._cancel(opened.number)

    async def notify(self, method: str, params: Params) -> None:
        await self._write(codec.notification(method, params))

    async def close(self) -> None:
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    # Outgoing

    @property
    def _running(self) -> Process:
        if self._process is None:
            raise UpstreamUnavailable("the upstream has not been started")
        return self._process

    async def _write(self, message: bytes) -> None:
        self._running.write(message)

    def _cancel(self, number: int) -> None:
        try:
            self._running.write(codec.notification("notifications/cancelled", {"requestId": number}))
        except UpstreamError as error:
            self._logger.info("a cancellation has not reached the upstream: %s", error)

    # Incoming

    async def _read(self, process: Process) -> None:
        error: UpstreamError = UpstreamUnavailable("the upstream is no longer read")
        try:
            while True:
                line = await process.line()
                try:
                    message = await codec.read_aside(line)
                except UpstreamError as fault:
                    self._end(codec.answered(line), len(line), fault, "a line that is no message")
                else:
                    self._take(message, len(line))
        except UpstreamError as end:
            error = end
        finally:
            self._ended(error)

    def _take(self, message: Message, size: int) -> None:
        if message.method is None:
            self._end(message.id, size, message, "an answer that nobody waits for")
        elif message.id is None:
            self._take_notification(message, message.method, size)
        elif self._questions.put(message):
            self._done(size)
        else:
            self._drop(size, "a question that is open already, or one too many")

    def _end(self, number: int | str | None, size: int, outcome: Message | UpstreamError, kind: str) -> None:
        """End the call of a number; `kind` describes the message if there is no such call."""
        if (call := self._calls.find(number)) is not None:
            call.end(size, outcome)
            return
        if (late := self._calls.late(number)) is not None:
            self._tasks.start(self._tell_late(late, self._unasked_count))
        self._drop(size, kind)

    def _take_notification(self, message: Message, method: str, size: int) -> None:
        if method == "notifications/cancelled":
            self._questions.take_back(message.params)
            self._done(size)
        elif (number := addressee(message)) is EVERYBODY:
            self._unasked_count += 1
            self._unasked.put_nowait((size, method, message.params))
        # Not for the listener: it would reach other clients, whose own tokens may be the same number.
        elif (call := self._calls.find(number)) is None or not call.hear(size, message):
            self._drop(size, "a notification about no open call")

    def _done(self, size: int) -> None:
        self._running.done(size)

    def _drop(self, size: int, kind: str) -> None:
        self._done(size)
        self.strays.add(kind)

    async def _tell_listener(self) -> None:
        while True:
            size, method, params = await self._unasked.get()
            try:
                await self._listener.heard(method, params)
            except Exception as error:  # noqa: BLE001 - the next one may be for another client
                self._logger.error("a notification could not be delivered: %s", type(error).__name__)
            self._done(size)
            async with self._told:
                self._told_count += 1
                self._told.notify_all()

    async def _told_until(self, count: int) -> None:
        """Wait until the listener has had `count` messages: one that came before an answer may be about its call."""
        if self._told_count < count:
            async with self._told:
                await self._told.wait_for(lambda: self._told_count >= count or self._closing is not None)

    async def _tell_late(self, late: asyncio.Event, count: int) -> None:
        """Set the event of a late answer, once the listener has had the earlier messages."""
        await self._told_until(count)
        late.set()

    # Shutdown

    def _ended(self, error: UpstreamError) -> None:
        self._calls.fail(error)
        self._questions.drop()
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
            self._listener.gone(error.message)

    async def _close(self) -> None:
        if self._process is not None:
            await self._process.close()
        await self._tasks.close()
        async with self._told:
            self._told.notify_all()
