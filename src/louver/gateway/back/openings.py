"""How many upstreams open at once: a hundred processes that start together would all be too slow to open in time."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack, asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

MAX_OPENINGS = 32
"""Upstreams of one gateway that open at once; others wait."""

OPENING_PLACE_S = 5.0
"""How long an opening has a place, in seconds: an upstream that does not answer holds up others no longer."""


class OpeningPlaces:
    def __init__(self) -> None:
        self._free = asyncio.Semaphore(MAX_OPENINGS)

    @asynccontextmanager
    async def place(self) -> AsyncGenerator[None]:
        """A place for an opening, which it may have to wait for."""
        await self._free.acquire()
        with ExitStack() as held:
            held.callback(self._free.release)
            asyncio.get_running_loop().call_later(OPENING_PLACE_S, held.close)
            yield
