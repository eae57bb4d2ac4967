"""How long something has not been used.

clock = IdleClock()
with clock.in_use(): ...    idle for 0 s meanwhile
clock.idle_s                seconds since the last use, or since it was made
"""

from __future__ import annotations

from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator


class IdleClock:
    def __init__(self) -> None:
        self._uses = 0
        self._last_used = monotonic()

    @property
    def idle_s(self) -> float:
        return 0.0 if self._uses else monotonic() - self._last_used

    def restart(self) -> None:
        """It is about to be used."""
        self._last_used = monotonic()

    @contextmanager
    def in_use(self) -> Generator[None]:
        self._uses += 1
        try:
            yield
        finally:
            self._uses -= 1
            self.restart()
