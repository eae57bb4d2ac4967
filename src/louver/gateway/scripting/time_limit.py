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


class Wall:
    """The two deadlines of one script: `wall_s` without waits for upstreams, `hard_wall_s` with them."""

    def __init__(self, wall_s: float, hard_wall_s: float) -> None:
        self._wall_s = wall_s
        self._hard_wall_s = hard_wall_s
        self._left_s = wall_s
        self._going_since: float | None = None

    @asynccontextmanager
    async def held(self) -> AsyncGenerator[None]:
        """Cancel the body at a deadline and raise `SandboxTimeout`."""
        self._loop = asyncio.get_running_loop()
        self._last = self._loop.time() + self._hard_wall_s
        try:
            async with asyncio.timeout_at(self._last) as self._timeout:
                self.go_on()
                yield
        except TimeoutError:
            if not self._timeout.expired():
                raise
            if self._loop.time() >= self._last:
                message = f"the script has taken over {self._hard_wall_s:g} s, waiting included"
                raise SandboxTimeout(message, limit=self._hard_wall_s) from None
            raise SandboxTimeout(f"the script has taken over {self._wall_s:g} s", limit=self._wall_s) from None

    def pause(self) -> None:
        """Stop the clock while the script waits for an upstream."""
        if self._going_since is not None:
            self._left_s -= self._loop.time() - self._going_since
            self._going_since = None
            self._timeout.reschedule(self._last)

    def go_on(self) -> None:
        if self._going_since is None:
            self._going_since = self._loop.time()
            self._timeout.reschedule(min(self._last, self._going_since + self._left_s))
