"""Whose script may run: a few at once, one of each caller, some more waiting.

    running [ann, bob, eve, joe]   waiting [ann, ann, kim]     kim is next when anybody but ann ends

Who comes first goes first, but nobody waits for a caller that only waits for itself.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from louver.errors import SandboxBusy

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Hashable


class Turns:
    """The places of one sandbox.

    Args:
        places: How many may have one.
        waiting: How many may wait for one.
    """

    def __init__(self, places: int, waiting: int) -> None:
        self._places = places
        self._most_waiting = waiting
        self._running: set[Hashable] = set()
        self._waiting: list[tuple[Hashable, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def taken(self, caller: Hashable) -> AsyncGenerator[None]:
        """A place for as long as it takes.

        Raises:
            SandboxBusy: Too many wait already.
        """
        if len(self._running) < self._places and caller not in self._running:
            self._running.add(caller)
        else:
            await self._wait(caller)
        try:
            yield
        finally:
            self._running.discard(caller)
            self._let_in()

    async def _wait(self, caller: Hashable) -> None:
        if len(self._waiting) >= self._most_waiting:
            raise SandboxBusy(f"{len(self._waiting)} scripts wait already: try again later", limit=self._most_waiting)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (caller, turn)
        self._waiting.append(entry)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._running.discard(caller)
                self._let_in()
            else:
                self._waiting.remove(entry)
            raise

    def _let_in(self) -> None:
        for entry in list(self._waiting):
            caller, turn = entry
            if len(self._running) < self._places and caller not in self._running and not turn.done():
                self._running.add(caller)
                self._waiting.remove(entry)
                turn.set_result(None)
