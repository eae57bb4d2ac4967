"""Time limits on the event loop: deadlines of one length on one timer, and work that can be interrupted.

deadlines = Deadlines(30.0, give_up)
deadlines.set(call)                    give_up(call) in 30 s; set again, the time starts over
with Interruptible() as work: ...      in a task; `work.interrupt(error)`, called on the same event loop, ends it
"""

from __future__ import annotations

import asyncio
from contextvars import Context
from math import inf
from typing import TYPE_CHECKING, Generic, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


T = TypeVar("T")


class Deadlines(Generic[T]):
    def __init__(self, seconds: float, on_expired: Callable[[T], None]) -> None:
        self.seconds = seconds
        self._on_expired = on_expired
        # All have the same length, so the first is always the next.
        self._due: dict[T, float] = {}
        # One for all: a cancelled timer stays in the loop's heap for longer than most calls take.
        self._timer: asyncio.TimerHandle | None = None

    def set(self, key: T) -> None:
        self._due.pop(key, None)
        due = self._due[key] = asyncio.get_running_loop().time() + self.seconds
        if self._timer is None:
            self._schedule(due)

    def cancel(self, key: T) -> None:
        self._due.pop(key, None)

    def oldest(self) -> Iterator[tuple[T, float]]:
        """What is set, and for how many seconds; the oldest first."""
        now = asyncio.get_running_loop().time()
        for each, due in self._due.items():
            yield each, self.seconds - (due - now)

    def _expire_due(self) -> None:
        now = asyncio.get_running_loop().time()
        try:
            for each in [each for each, due in self._due.items() if due <= now]:
                # An earlier callback may have lifted it, or set it again.
                if self._due.get(each, inf) <= now:
                    del self._due[each]
                    self._on_expired(each)
        finally:
            self._timer = None
            if self._due:
                self._schedule(next(iter(self._due.values())))

    def _schedule(self, due: float) -> None:
        # In an empty context: the timer serves several requests.
        self._timer = asyncio.get_running_loop().call_at(due, self._expire_due, context=Context())


class Interruptible:
    """A block that can be interrupted; a cancellation of its task takes precedence."""

    _task: asyncio.Task[object] | None = None
    _cancelled_before = 0
    _error: Exception | None = None

    def __enter__(self) -> Self:
        self._task = asyncio.current_task()
        assert self._task is not None, "what waits is done in tasks"
        self._cancelled_before = self._task.cancelling()
        return self

    def __exit__(self, kind: type[BaseException] | None, raised: BaseException | None, _: object) -> None:
        task, self._task = self._task, None
        if self._error is None or task is None:
            return
        if task.uncancel() <= self._cancelled_before and isinstance(raised, asyncio.CancelledError):
            raise self._error from None

    def interrupt(self, error: Exception) -> None:
        """Make the block raise `error`, unless it was interrupted before."""
        if self._task is not None and self._error is None:
            self._error = error
            self._task.cancel()
