"""Queue of scripts: a few run at once, at most one per caller.

    running [ann, bob, eve, joe]   waiting [ann, ann, kim]     kim is next when bob, eve or joe ends

First in, first out; but a caller's second script never blocks the scripts of other callers.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from louver.errors import SandboxBusy

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Hashable


class Turns:
    """The queue of one sandbox: at most `places` scripts run and `waiting` wait."""

    def __init__(self, places: int, waiting: int) -> None:
        self._places = places
        self._most_waiting = waiting
        self._running: set[Hashable] = set()
        self._waiting: list[tuple[Hashable, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def taken(self, caller: Hashable) -> AsyncGenerator[None]:
        """Hold a place for the duration of the context; raise `SandboxBusy` if the queue is full."""
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
