"""The pending notifications of a client, sent in order and as fast as it reads: a slow client delays no other.

The queue is bounded: a pending `list_changed` is not queued twice, other notifications are dropped. Drops are logged.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from louver.core.json import compact
from louver.gateway.upstream.list_cache import LIST_CHANGED_METHODS
from louver.limits import MAX_UNREAD, MAX_UNREAD_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from louver.jsonrpc.codec import Params

logger = logging.getLogger(__name__)


class _QueuedNotification(NamedTuple):
    method: str
    size: int
    send: Callable[[], Awaitable[None]]


class Outbox:
    def __init__(self) -> None:
        self._queue: deque[_QueuedNotification] = deque()
        self._size = 0
        self._dropped = 0
        self._sending: asyncio.Task[None] | None = None
        self._is_closed = False

    def put(self, method: str, params: Params, send: Callable[[], Awaitable[None]]) -> None:
        size = len(compact(params))
        if method in LIST_CHANGED_METHODS:
            if any(queued.method == method for queued in self._queue):
                return
        elif self._queue and (len(self._queue) >= MAX_UNREAD or self._size + size > MAX_UNREAD_CHARACTERS):
            self._drop()
            return
        self._add(_QueuedNotification(method, size, send))

    async def flush(self) -> None:
        """Wait until the notifications queued so far are delivered, or the client has gone."""
        if self._sending is None:
            return
        flushed = asyncio.get_running_loop().create_future()

        async def mark_flushed() -> None:
            flushed.set_result(None)

        self._add(_QueuedNotification("", 0, mark_flushed))
        await asyncio.wait({flushed, self._sending}, return_when=asyncio.FIRST_COMPLETED)

    def close(self) -> None:
        self._is_closed = True
        self._queue.clear()
        sending, self._sending = self._sending, None
        if sending is not None:
            sending.cancel()

    def _add(self, notification: _QueuedNotification) -> None:
        if self._is_closed:
            return
        self._queue.append(notification)
        self._size += notification.size
        if self._sending is None:
            self._sending = asyncio.create_task(self._send())

    async def _send(self) -> None:
        while self._queue:
            notification = self._queue.popleft()
            self._size -= notification.size
            try:
                await notification.send()
            except Exception as error:  # noqa: BLE001 - the next one may be delivered
                logger.error("a notification could not be delivered: %s", type(error).__name__)
        self._sending = None

    def _drop(self) -> None:
        self._dropped += 1
        if self._dropped & (self._dropped - 1) == 0:
            logger.warning("%d notifications were dropped: a client does not read", self._dropped)
