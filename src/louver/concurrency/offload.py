"""Slow work in threads, with cooperative yielding and cancellation."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING, Final, TypeVar

from anyio import from_thread, to_thread
from anyio.lowlevel import checkpoint

from louver.core.size import is_heavier
from louver.limits import MAX_READ_ON_LOOP

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable, Sequence

    from anyio import CapacityLimiter

    from louver.core.json import Json

MAX_TURN_S = 0.005
"""Seconds of work on a tool list without yielding. Another request's answer takes some ten turns of the event loop."""


_Thing = TypeVar("_Thing")
_Made = TypeVar("_Made")


async def run_in_thread(value: Json, function: Callable[[], _Made]) -> _Made:
    """Run `function` in a thread if `value` is over `MAX_READ_ON_LOOP` bytes, else on the event loop."""
    return await in_thread(function) if is_heavier(value, MAX_READ_ON_LOOP) else function()


async def in_thread(function: Callable[[], _Made], limiter: CapacityLimiter | None = None) -> _Made:
    """Run `function` in a thread, unless it is cancelled before a thread is free."""

    def work(check_cancelled: Callable[[], None]) -> _Made:
        check_cancelled()
        return function()

    return await run_cancellable(work, limiter)


class _WorkCancelled(asyncio.CancelledError): ...


async def run_cancellable(work: Callable[[Callable[[], None]], _Made], limiter: CapacityLimiter | None = None) -> _Made:
    """Run `work` in a thread; a cancelled task still waits. `work` gets a check that raises if it is cancelled."""
    is_finished = Event()

    def check_cancelled() -> None:
        from_thread.check_cancelled()
        if cancelled.is_set() or is_finished.is_set():
            raise _WorkCancelled

    try:
        with deferred_cancellation() as cancelled:
            return await to_thread.run_sync(work, check_cancelled, limiter=limiter)
    except _WorkCancelled:
        # Raises the cancellation, unless an outer `unhurried` block still holds it back.
        await asyncio.sleep(0)
        raise
    finally:
        # After a plain `Task.cancel` nothing waits for the thread: it must stop by itself.
        is_finished.set()


async def find_or_compute(
    items: Sequence[_Thing], find: Callable[[_Thing], _Made | None], compute: Callable[[_Thing], _Made]
) -> list[_Made]:
    """What `find` returns for each thing, or else what `compute` returns in a thread."""
    known_results = [find(item) async for item in yielding(items)]
    missing = [item for item, known in zip(items, known_results, strict=True) if known is None]

    def compute_missing(check_cancelled: Callable[[], None]) -> list[_Made]:
        results: list[_Made] = []
        for item in missing:
            check_cancelled()
            results.append(compute(item))
        return results

    computed = iter(await run_cancellable(compute_missing) if missing else ())
    return [next(computed) if known is None else known for known in known_results]


T = TypeVar("T")


async def yielding(items: Iterable[T]) -> AsyncGenerator[T]:
    """The things, with a turn for other tasks after every `MAX_TURN_S` of work."""
    deadline = monotonic() + MAX_TURN_S
    for item in items:
        if monotonic() > deadline:
            await checkpoint()
            deadline = monotonic() + MAX_TURN_S
        yield item


class Cancellation:
    """Cancels work of the task that makes it, but not within `deferred_cancellation`: there it ends after that block.

    await Cancellation().run(work)    in the task
    cancellation.cancel()             anywhere else
    """

    def __init__(self) -> None:
        task = asyncio.current_task()
        assert task is not None, "only tasks are cancelled"
        self.task = task
        self.is_cancelled = False
        self.unhurried: Event | None = None

    async def run(self, work: Awaitable[T]) -> T | None:
        """The result of the work; None if it was cancelled meanwhile."""
        token = _CANCELLATION.set(self)
        try:
            result = await work
            if not self.is_cancelled:
                return result
            # A cancellation that came after the last wait is raised here; one that the work has caught is not.
            await asyncio.sleep(0)
            self.task.uncancel()
            return None
        except asyncio.CancelledError:
            # Another may have cancelled the task too.
            if not self.is_cancelled or self.task.uncancel():
                raise
            return None
        finally:
            _CANCELLATION.reset(token)

    def cancel(self) -> None:
        if self.is_cancelled:
            return
        self.is_cancelled = True
        if self.unhurried is None:
            self.task.cancel()
        else:
            self.unhurried.set()


_CANCELLATION: Final = ContextVar[Cancellation | None]("louver_cancellation", default=None)


@contextmanager
def deferred_cancellation() -> Generator[Event]:
    """Within the block a `Cancellation` only sets the event; the task is cancelled at the end of the block."""
    cancellation = _CANCELLATION.get()
    if cancellation is None or cancellation.task is not asyncio.current_task():
        # Nothing cancels this task so; a task that another starts has its context.
        yield Event()
        return
    if cancellation.unhurried is not None:
        yield cancellation.unhurried
        return
    cancelled = cancellation.unhurried = Event()
    try:
        yield cancelled
    finally:
        cancellation.unhurried = None
        if cancelled.is_set():
            # The task ends at its next wait, so the value of the block is not lost.
            cancellation.task.cancel()
