"""Deadlines of one length, hardly any of which is reached: one timer of one event loop for all that are set.

    deadlines = Deadlines(30.0, give_up)
    deadlines.set(call)          give_up(call) in 30 s; set again, it counts anew
    deadlines.lift(call)         never

A timer for each, though cancelled, would stay with the loop for longer than most calls take: a hundred of them before
they are cleared out, each to be sorted in.
"""

from __future__ import annotations

import asyncio
from contextvars import Context
from math import inf
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class Deadlines(Generic[T]):
    """The deadlines, by what they are for.

    Args:
        seconds: How far off each is when it is set.
        reached: Called with what it was for when one is reached; it is set no more then.
    """

    def __init__(self, seconds: float, reached: Callable[[T], None]) -> None:
        self.seconds = seconds
        self._reached = reached
        # All are as long: the first is always the next.
        self._due: dict[T, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def set(self, each: T) -> None:
        """Begin one, or begin it anew."""
        self._due.pop(each, None)
        due = self._due[each] = asyncio.get_running_loop().time() + self.seconds
        if self._timer is None:
            self._look_at(due)

    def lift(self, each: T) -> None:
        """End one, if it is set."""
        self._due.pop(each, None)

    def _look(self) -> None:
        now = asyncio.get_running_loop().time()
        try:
            for each in [each for each, due in self._due.items() if due <= now]:
                # One that was reached before it may have lifted it, or set it anew.
                if self._due.get(each, inf) <= now:
                    del self._due[each]
                    self._reached(each)
        finally:
            self._timer = None
            if self._due:
                self._look_at(next(iter(self._due.values())))

    def _look_at(self, due: float) -> None:
        # In no request's context: it is for those of others too.
        self._timer = asyncio.get_running_loop().call_at(due, self._look, context=Context())
