"""Wall-clock time limits of a script.

    |--runs--|..waits for upstreams..|--runs--|    `SCRIPT_WALL_S` limits the dashes
    |-------------------all-------------------|    `SCRIPT_HARD_WALL_S`

CPU time is limited in `watch.lua` and `confine.py`.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from louver.errors import SandboxTimeout

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


class TimeLimit:
    """The two deadlines of one script: `active_s` without waits for upstreams, `total_s` with them."""

    def __init__(self, active_s: float, total_s: float) -> None:
        self._active_s = active_s
        self._total_s = total_s
        self._left_s = active_s
        self._resumed_at: float | None = None

    @asynccontextmanager
    async def enforced(self) -> AsyncGenerator[None]:
        """Cancel the body at a deadline and raise `SandboxTimeout`."""
        self._loop = asyncio.get_running_loop()
        self._total_deadline = self._loop.time() + self._total_s
        try:
            async with asyncio.timeout_at(self._total_deadline) as self._timeout:
                self.resume()
                yield
        except TimeoutError:
            if not self._timeout.expired():
                raise
            if self._loop.time() >= self._total_deadline:
                message = f"the script has taken over {self._total_s:g} s, waiting included"
                raise SandboxTimeout(message, limit=self._total_s) from None
            raise SandboxTimeout(f"the script has taken over {self._active_s:g} s", limit=self._active_s) from None

    def pause(self) -> None:
        """Stop the clock while the script waits for an upstream."""
        if self._resumed_at is not None:
            self._left_s -= self._loop.time() - self._resumed_at
            self._resumed_at = None
            self._timeout.reschedule(self._total_deadline)

    def resume(self) -> None:
        if self._resumed_at is None:
            self._resumed_at = self._loop.time()
            self._timeout.reschedule(min(self._total_deadline, self._resumed_at + self._left_s))
