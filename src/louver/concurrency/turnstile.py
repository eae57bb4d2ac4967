"""A turnstile: of the tasks that one peer keeps busy, one passes in each turn of the event loop, the others in order.

Without it, tasks that each yield after a slice of work still take a slice each in every turn.
"""

from __future__ import annotations

import asyncio


class Turnstile:
    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def wait(self) -> None:
        """Give all other tasks a turn, and wait until it is this one's."""
        async with self._lock:
            await asyncio.sleep(0)
