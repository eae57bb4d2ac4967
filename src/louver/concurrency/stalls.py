"""Long turns of an event loop: what one callback takes, every other call waits for.

run(work)    `asyncio.run`, which logs a turn of over 250 ms with its stack, at most once a minute, after the start

The loop's selector notes when a turn begins and ends; a thread looks at a turn that lasts where it stands.
"""

from __future__ import annotations

import asyncio
import logging
import selectors
import sys
import threading
import time
from dataclasses import dataclass
from traceback import StackSummary, walk_stack
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

LONG_TURN_S = 0.25
"""A turn of the event loop that is logged, in seconds: every other call waits for it."""

START_S = 10.0
"""Turns are logged after so many seconds: at the start, modules are loaded, and nobody waits."""


_T = TypeVar("_T")

logger: Final = logging.getLogger("louver.stalls")

_LOGGED_EVERY_S: Final = 60.0
_SHOWN: Final = 24
"""How many places of a stack are named."""

_LOOKS: Final = 4
"""How many times the thread looks within the bound."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn of an event loop.

    seconds: how long it took
    stack: where it stood while it went on, innermost first; empty if nobody could look
    """

    seconds: float
    stack: StackSummary

    def __str__(self) -> str:
        """Its places, innermost first: neither a line of code nor a value."""
        places = (f"{each.filename}:{each.lineno} {each.name}" for each in self.stack[:_SHOWN])
        return f"{self.seconds:.2f} s: {' < '.join(places) or 'no stack'}"


class TurnWatch:
    """Turns of one event loop that take longer than `bound` seconds are given to `report`, in the loop's thread.

    clock: seconds from any beginning, read in the loop's thread
    """

    def __init__(
        self, bound: float, report: Callable[[Turn], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._bound = bound
        self._report = report
        self._clock = clock
        self._thread = 0
        self._number = 0
        self._began: float | None = None
        self._seen = (0, StackSummary())
        self._closed = threading.Event()

    def new_loop(self) -> asyncio.AbstractEventLoop:
        """The event loop, for `asyncio.Runner`; it is watched from its first turn until it is closed."""
        return _Loop(self)

    def begin(self) -> None:
        if not self._thread:
            self._thread = threading.get_ident()
            threading.Thread(target=self._look, name="stalls", daemon=True).start()
        self._number += 1
        self._began = self._clock()

    def end(self) -> None:
        began, self._began = self._began, None
        if began is not None and (seconds := self._clock() - began) > self._bound:
            number, stack = self._seen
            self._report(Turn(seconds, stack if number == self._number else StackSummary()))

    def close(self) -> None:
        self._closed.set()

    def _look(self) -> None:
        last = 0
        while not self._closed.wait(self._bound / _LOOKS):
            number = self._number
            if number == last and self._began is not None:
                self._seen = (number, _stack_of(self._thread))
            last = number


def _stack_of(thread: int) -> StackSummary:
    frame = sys._current_frames().get(thread)  # pyright: ignore[reportPrivateUsage] - it is documented
    try:
        # The frames are read before anything else is done: the thread goes on, and CPython may take one from under us.
        return StackSummary.extract(iter(list(walk_stack(frame))), lookup_lines=False) if frame else StackSummary()
    except SystemError:
        return StackSummary()


class _Selector(selectors.DefaultSelector):
    """What the loop waits with: from one wait to the next is a turn."""

    def __init__(self, watch: TurnWatch) -> None:
        super().__init__()
        self._watch = watch

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._watch.end()
        try:
            return super().select(timeout)
        finally:
            self._watch.begin()

    def close(self) -> None:
        self._watch.close()
        super().close()


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self, watch: TurnWatch) -> None:
        super().__init__(_Selector(watch))
        self._watch = watch

    def run_forever(self) -> None:
        """What happens after it has stopped is no part of its last turn."""
        try:
            super().run_forever()
        finally:
            self._watch.end()


class _Log:
    """Logs long turns, at most one a minute."""

    def __init__(self) -> None:
        self._started_at = time.monotonic() + START_S
        self._silent_until = 0.0
        self._unlogged = 0

    def __call__(self, turn: Turn) -> None:
        if (now := time.monotonic()) < self._started_at:
            return
        if now < self._silent_until:
            self._unlogged += 1
            return
        more = f" ({self._unlogged} more since the last such line)" if self._unlogged else ""
        logger.warning("every call waited for a turn of the event loop%s: %s", more, turn)
        self._silent_until, self._unlogged = now + _LOGGED_EVERY_S, 0


def run(work: Coroutine[Any, Any, _T]) -> _T:
    """The result of a coroutine on a new event loop, whose long turns are logged."""
    with asyncio.Runner(loop_factory=TurnWatch(LONG_TURN_S, _Log()).new_loop) as runner:
        return runner.run(work)
