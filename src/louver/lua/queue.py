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


class ScriptQueue:
    """The queue of one sandbox: at most `places` scripts run and `waiting` wait."""

    def __init__(self, max_running: int, max_waiting: int) -> None:
        self._max_running = max_running
        self._max_waiting = max_waiting
        self._running: set[Hashable] = set()
        self._waiting: list[tuple[Hashable, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def place(self, caller: Hashable) -> AsyncGenerator[None]:
        """Hold a place for the duration of the context; raise `SandboxBusy` if the queue is full."""
        if len(self._running) < self._max_running and caller not in self._running:
            self._running.add(caller)
        else:
            await self._wait(caller)
        try:
            yield
        finally:
            self._running.discard(caller)
            self._admit()

    async def _wait(self, caller: Hashable) -> None:
        if len(self._waiting) >= self._max_waiting:
            raise SandboxBusy(f"{len(self._waiting)} scripts wait already: try again later", limit=self._max_waiting)
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (caller, future)
        self._waiting.append(entry)
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self._running.discard(caller)
                self._admit()
            else:
                self._waiting.remove(entry)
            raise

    def _admit(self) -> None:
        for entry in list(self._waiting):
            caller, future = entry
            if len(self._running) < self._max_running and caller not in self._running and not future.done():
                self._running.add(caller)
                self._waiting.remove(entry)
                future.set_result(None)
