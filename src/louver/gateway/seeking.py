"""An upstream that is not there for some is tried again by itself, as long as they would be told that it is.

    it ends, or a client is served without it      ->  tried after its wait, and again, each time later
    it is there for all who miss it                ->  no more, until it is missed again

How long it waits is said by its failures; that clients are told is `presence.py`.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from louver.gateway.backoff import Pace
from louver.gateway.tasks import Tasks

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection

    from louver.gateway.clients import Client

logger = logging.getLogger(__name__)


class Seeking:
    """Tries one upstream.

    Args:
        missing: Clients who miss it, one for each place where it is missed.
        wait_s: How long it is to be left alone, in seconds.
        is_back: Whether it is there for a client, who is told then.
    """

    def __init__(
        self,
        missing: Callable[[], Collection[Client]],
        wait_s: Callable[[], float],
        is_back: Callable[[Client], Awaitable[bool]],
    ) -> None:
        self._missing = missing
        self._wait_s = wait_s
        self._is_back = is_back
        self._pace = Pace()
        self._tasks = Tasks(logger)
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Try again from now on, if it is missed."""
        if (self._task is None or self._task.done()) and self._missing():
            self._task = self._tasks.start(self._seek())

    def stop(self) -> None:
        """Try no more."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _seek(self) -> None:
        while self._missing():
            await self._pace.keep()
            await asyncio.sleep(self._wait_s())
            for client in self._missing():
                if not await self._is_back(client) and self._wait_s() > 0:
                    # It is so for the others too.
                    break
