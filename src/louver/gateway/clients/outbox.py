"""The pending notifications of a client, sent in order and as fast as it reads: a slow client delays no other.

The queue is bounded: a pending `list_changed` is not queued twice, other notifications are dropped. Drops are logged.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from louver.core.json import compact
from louver.gateway.upstream.list_cache import CHANGES
from louver.limits import MAX_UNREAD, MAX_UNREAD_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from louver.jsonrpc.codec import Params

logger = logging.getLogger(__name__)


class _Note(NamedTuple):
    method: str
    size: int
    send: Callable[[], Awaitable[None]]


class Outbox:
    def __init__(self) -> None:
        self._notes: deque[_Note] = deque()
        self._size = 0
        self._dropped = 0
        self._sending: asyncio.Task[None] | None = None
        self._is_closed = False

    def put(self, method: str, params: Params, send: Callable[[], Awaitable[None]]) -> None:
        size = len(compact(params))
        if method in CHANGES:
            if any(note.method == method for note in self._notes):
                return
        elif self._notes and (len(self._notes) >= MAX_UNREAD or self._size + size > MAX_UNREAD_CHARACTERS):
            self._drop()
            return
        self._add(_Note(method, size, send))

    async def told(self) -> None:
        """Wait until the notifications queued so far are delivered, or the client has gone."""
        if self._sending is None:
            return
        reached = asyncio.get_running_loop().create_future()

        async def reach() -> None:
            reached.set_result(None)

        self._add(_Note("", 0, reach))
        await asyncio.wait({reached, self._sending}, return_when=asyncio.FIRST_COMPLETED)

    def close(self) -> None:
        self._is_closed = True
        self._notes.clear()
        sending, self._sending = self._sending, None
        if sending is not None:
            sending.cancel()

    def _add(self, note: _Note) -> None:
        if self._is_closed:
            return
        self._notes.append(note)
        self._size += note.size
        if self._sending is None:
            self._sending = asyncio.create_task(self._send())

    async def _send(self) -> None:
        while self._notes:
            note = self._notes.popleft()
            self._size -= note.size
            try:
                await note.send()
            except Exception as error:  # noqa: BLE001 - the next one may be delivered
                logger.error("a notification could not be delivered: %s", type(error).__name__)
        self._sending = None

    def _drop(self) -> None:
        self._dropped += 1
        if self._dropped & (self._dropped - 1) == 0:
            logger.warning("%d notifications were not told to a client that does not read", self._dropped)
