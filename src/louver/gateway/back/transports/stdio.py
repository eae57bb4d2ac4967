"""The transport over the pipes of a process, one message a line; all clients share the one pipe.

    -> {"id": 7, "method": "tools/call", "params": {...}}
    <- {"method": "notifications/progress", "params": {"progressToken": 7, ...}}    to the call (`pending.py`)
    <- {"method": "notifications/tools/list_changed"}                               to the listener

A slow client delays only its own calls, and the pipe only if `MAX_UPSTREAM_PENDING` is reached.
"""

from __future__ import annotations

import asyncio
import logging
import os
from typing import TYPE_CHECKING, Any

from louver.concurrency.background import BackgroundTasks
from louver.concurrency.budget import stray_messages, unsent_messages
from louver.errors import UpstreamError, UpstreamUnavailable
from louver.gateway.back.transports.budgets import UpstreamBudgets
from louver.gateway.back.transports.pending import NO_REQUEST, OpenCalls, named_request
from louver.gateway.back.transports.process import Process
from louver.gateway.back.transports.server_requests import ServerRequests
from louver.wire.jsonrpc import codec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from louver.gateway.back.processes import ProcessBudget
    from louver.gateway.back.transports.transport import Call, Listener
    from louver.wire.jsonrpc.codec import Message, Params


class StdioTransport:
    wants_headers = False
    is_stateful = True

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,  # besides `HOME`, `PATH` and the like; no others are inherited
        cwd: str | PathLike[str] | None = None,
        listener: Listener,  # its `on_notification` must not wait for an answer over this transport
        budgets: UpstreamBudgets | None = None,  # shared by all transports of the upstream
        processes: ProcessBudget | None = None,  # shared by all upstreams
        logger: logging.Logger | None = None,  # gets the standard error
    ) -> None:
        self._command = command
        self._env = env or {}
        self._cwd = cwd
        self._processes = processes
        self._has_place = False
        self._process: Process | None = None
        self._listener = listener
        self._logger = logger or logging.getLogger("louver.upstream")
        self._budgets = budgets or UpstreamBudgets()
        self._calls = OpenCalls(self._release)
        self._unattributed: asyncio.Queue[tuple[int, str, Params]] = asyncio.Queue()
        self._received_count = self._delivered_count = 0
        self._delivered = asyncio.Condition()
        self._tasks = BackgroundTasks(self._logger)
        self._unsent = unsent_messages(self._logger)
        self._server_requests = ServerRequests(
            listener.on_request, self._write, self._tasks, self._budgets.questions, self._unsent
        )
        self._closing: asyncio.Task[None] | None = None
        self.stray_messages = stray_messages(self._logger)

    async def open(self) -> None:
        if self._processes is not None:
            await self._processes.take()
            self._has_place = True
        env = {**inherited_environment(), **self._env}
        self._process = await Process.start(self._command, env, self._cwd, self._logger)
        self._tasks.start(self._read(self._process))
        self._tasks.start(self._notify_listener())

    def set_version(self, version: str | None) -> None:
        """Nothing: messages are the same in every revision."""

    async def listen(self) -> None:
        self._listener.on_listening(True)

    async def call(self, call: Call) -> dict[str, Any]:
        open_call = self._calls.add(call)
        sent = False
        try:
            await self._write(codec.request(open_call.request_id, call.method, open_call.params))
            sent = True
            result = await open_call.result()
            await self._wait_delivered(self._received_count)
            return result
        finally:
            self._calls.remove(open_call)
            if sent and not open_call.ended and call.method not in codec.NEVER_CANCELLED:
                self._cancel(open_call.request_id)

    async def notify(self, method: str, params: Params) -> None:
        await self._write(codec.notification(method, params))

    async def close(self) -> None:
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    @property
    def _running(self) -> Process:
        if self._process is None:
            raise UpstreamUnavailable("the upstream has not been started")
        return self._process

    async def _write(self, message: bytes) -> None:
        self._running.write(message)

    def _cancel(self, request_id: int) -> None:
        """Tell the upstream that a call is cancelled, without waiting."""
        try:
            self._running.write(codec.notification("notifications/cancelled", {"requestId": request_id}))
        except UpstreamError as error:
            self._unsent.add(f"a cancellation: {error}")

    # Incoming

    async def _read(self, process: Process) -> None:
        error: UpstreamError = UpstreamUnavailable("the upstream is no longer read")
        try:
            while True:
                line = await process.line()
                try:
                    message = await codec.read_in_thread(line)
                except UpstreamError as fault:
                    self._finish_call(codec.peek_response_id(line), len(line), fault, "a line that is no message")
                else:
                    self._dispatch(message, len(line))
        except UpstreamError as end:
            error = end
        finally:
            self._on_ended(error)

    def _dispatch(self, message: Message, size: int) -> None:
        if message.method is None:
            self._finish_call(message.id, size, message, "an answer to no open call")
        elif message.id is None:
            self._dispatch_notification(message, message.method, size)
        elif self._server_requests.start(message):
            self._release(size)
        else:
            self._drop(size, "a request that is open already, or one too many")

    def _finish_call(
        self, request_id: int | str | None, size: int, outcome: Message | UpstreamError, kind: str
    ) -> None:
        """End the call of a number; `kind` describes the message if there is no such call."""
        if (call := self._calls.find(request_id)) is not None:
            call.finish(size, outcome)
            return
        if (late_answer := self._calls.pop_late_answer(request_id)) is not None:
            self._tasks.start(self._set_late_answer(late_answer, self._received_count))
        if self._calls.pop_abandoned(request_id):
            # MCP, cancellation: the answer may be on its way already.
            self._release(size)
        else:
            self._drop(size, kind)

    def _dispatch_notification(self, message: Message, method: str, size: int) -> None:
        if method == "notifications/cancelled":
            self._server_requests.cancel(message.params)
            self._release(size)
        elif (request_id := named_request(message)) is NO_REQUEST:
            self._received_count += 1
            self._unattributed.put_nowait((size, method, message.params))
        # Not for the listener: it would reach other clients, whose own tokens may be the same number.
        elif (call := self._calls.find(request_id)) is None or not call.put_notification(size, message):
            self._drop(size, "a notification about no open call")

    def _release(self, size: int) -> None:
        self._running.release(size)

    def _drop(self, size: int, kind: str) -> None:
        self._release(size)
        self.stray_messages.add(kind)

    async def _notify_listener(self) -> None:
        while True:
            size, method, params = await self._unattributed.get()
            try:
                await self._listener.on_notification(method, params)
            except Exception as error:  # noqa: BLE001 - the next one may be for another client
                self._logger.error("a notification could not be delivered: %s", type(error).__name__)
            self._release(size)
            async with self._delivered:
                self._delivered_count += 1
                self._delivered.notify_all()

    async def _wait_delivered(self, count: int) -> None:
        """Wait until the listener has had `count` messages: one that came before an answer may be about its call."""
        if self._delivered_count < count:
            async with self._delivered:
                await self._delivered.wait_for(lambda: self._delivered_count >= count or self._closing is not None)

    async def _set_late_answer(self, late_answer: asyncio.Event, count: int) -> None:
        """Set the event of a late answer, once the listener has had the earlier messages."""
        await self._wait_delivered(count)
        late_answer.set()

    # Shutdown

    def _on_ended(self, error: UpstreamError) -> None:
        self._calls.fail(error)
        self._server_requests.cancel_all()
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
            self._listener.on_closed(error.message)

    async def _close(self) -> None:
        await self._end_process()
        await self._tasks.close()
        async with self._delivered:
            self._delivered.notify_all()

    async def _end_process(self) -> None:
        try:
            if self._process is not None:
                await self._process.close()
        finally:
            if self._processes is not None and self._has_place:
                self._processes.give_back()


# As in the SDK, since others may hold secrets; and how this machine reaches the network.
_INHERITED = (
    *("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"),
    *("CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE"),
    *("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "all_proxy", "https_proxy", "http_proxy", "no_proxy"),
)


def inherited_environment() -> dict[str, str]:
    """The variables that every command gets."""
    # What begins with "()" is a function of the shell.
    return {name: os.environ[name] for name in _INHERITED if not os.environ.get(name, "()").startswith("()")}
