"""The pending notifications of a client, sent in order and as fast as it reads: a slow client delays no other.

Each of its streams has a queue of its own, so an unread stream delays no other stream. All queues together are bounded:
a pending `list_changed` is not queued twice, other notifications are dropped. Drops are logged.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from louver.core.json import compact
from louver.wire.mcp import LIST_CHANGED_METHODS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from louver.wire.jsonrpc.codec import Params, RequestId

MAX_UNREAD = 10_000
MAX_UNREAD_CHARACTERS = 8 * 1024 * 1024
"""Notifications that wait for one client, as many as `MAX_EVENTS`, and their characters; a single one may be larger."""


logger = logging.getLogger(__name__)


class _QueuedNotification(NamedTuple):
    method: str
    size: int
    send: Callable[[], Awaitable[None]]


class _Queue:
    def __init__(self) -> None:
        self.pending: deque[_QueuedNotification] = deque()
        self.sending: asyncio.Task[None] | None = None


class Outbox:
    def __init__(self) -> None:
        # By request whose stream they go to, `None` for no request; only while something is sent.
        self._queues: dict[RequestId | None, _Queue] = {}
        self._count = 0
        self._size = 0
        self._dropped = 0
        self._is_closed = False

    def put(
        self, method: str, params: Params, send: Callable[[], Awaitable[None]], stream: RequestId | None = None
    ) -> None:
        size = len(compact(params))
        queue = self._queues.get(stream)
        pending = () if queue is None else queue.pending
        if method in LIST_CHANGED_METHODS:
            if any(queued.method == method for queued in pending):
                return
        elif pending and (self._count >= MAX_UNREAD or self._size + size > MAX_UNREAD_CHARACTERS):
            self._drop()
            return
        self._add(stream, _QueuedNotification(method, size, send))

    async def flush(self, stream: RequestId | None = None) -> None:
        """Wait until the notifications of a stream that are queued so far are delivered, or the client has gone."""
        if (queue := self._queues.get(stream)) is None:
            return
        flushed = asyncio.get_running_loop().create_future()

        async def mark_flushed() -> None:
            flushed.set_result(None)

        self._add(stream, _QueuedNotification("", 0, mark_flushed))
        assert queue.sending is not None, "a queue is there while it is sent"
        await asyncio.wait({flushed, queue.sending}, return_when=asyncio.FIRST_COMPLETED)

    def close(self) -> None:
        self._is_closed = True
        queues, self._queues = self._queues, {}
        for queue in queues.values():
            queue.pending.clear()
            if queue.sending is not None:
                queue.sending.cancel()

    def _add(self, stream: RequestId | None, notification: _QueuedNotification) -> None:
        if self._is_closed:
            return
        queue = self._queues.setdefault(stream, _Queue())
        queue.pending.append(notification)
        self._count += 1
        self._size += notification.size
        if queue.sending is None:
            queue.sending = asyncio.create_task(self._send(stream, queue.pending))

    async def _send(self, stream: RequestId | None, pending: deque[_QueuedNotification]) -> None:
        while pending:
            notification = pending.popleft()
            self._count -= 1
            self._size -= notification.size
            try:
                await notification.send()
            except Exception as error:  # noqa: BLE001 - the next one may be delivered
                logger.error("a notification could not be delivered: %s", type(error).__name__)
        self._queues.pop(stream, None)

    def _drop(self) -> None:
        self._dropped += 1
        if self._dropped & (self._dropped - 1) == 0:
            logger.warning("%d notifications were dropped: a client does not read", self._dropped)
