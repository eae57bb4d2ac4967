"""How long a script may still take.

|--runs--|..waits for upstreams..|--runs--|      the dashes are measured: `SCRIPT_WALL_S`
|-------------------all-------------------|      `SCRIPT_HARD_WALL_S`
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from louver.errors import SandboxTimeout

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


class Wall:
    """The two deadlines of one script.

    Args:
        wall_s: How long it may run.
        hard_wall_s: How long it may run and wait.
    """

    def __init__(self, wall_s: float, hard_wall_s: float) -> None:
        self._wall_s = wall_s
        self._hard_wall_s = hard_wall_s
        self._left_s = wall_s
        self._going_since: float | None = None

    @asynccontextmanager
    async def held(self) -> AsyncGenerator[None]:
        """End what is done within when a deadline comes.

        Raises:
            SandboxTimeout: One has come.
        """
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
        """The script waits for an upstream."""
        if self._going_since is not None:
            self._left_s -= self._loop.time() - self._going_since
            self._going_since = None
            self._timeout.reschedule(self._last)

    def go_on(self) -> None:
        """It has what it waited for."""
        if self._going_since is None:
            self._going_since = self._loop.time()
            self._timeout.reschedule(min(self._last, self._going_since + self._left_s))
