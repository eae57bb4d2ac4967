"""Slow work in threads, with cooperative yielding and cancellation."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING, Final, Self, TypeVar

from anyio import from_thread, to_thread
from anyio.lowlevel import checkpoint

from louver.core.size import is_heavier
from louver.limits import MAX_READ_ON_LOOP, MAX_TURN_S

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Sequence

    from anyio import CapacityLimiter

    from louver.core.json import Json


_Thing = TypeVar("_Thing")
_Made = TypeVar("_Made")


async def aside(value: Json, function: Callable[[], _Made]) -> _Made:
    """Run `function` in a thread if `value` is over `MAX_READ_ON_LOOP` bytes, else on the event loop."""
    return await in_thread(function) if is_heavier(value, MAX_READ_ON_LOOP) else function()


async def in_thread(function: Callable[[], _Made]) -> _Made:
    """Run `function` in a thread, unless it is cancelled before a thread is free."""

    def work(look: Callable[[], None]) -> _Made:
        look()
        return function()

    return await until_given_up(work)


class _GivenUp(asyncio.CancelledError): ...


async def until_given_up(work: Callable[[Callable[[], None]], _Made], limiter: CapacityLimiter | None = None) -> _Made:
    """Run `work` in a thread; a cancelled task still waits. `work` gets a check that raises if it is cancelled."""
    is_over = Event()

    def look() -> None:
        from_thread.check_cancelled()
        if given_up.is_set() or is_over.is_set():
            raise _GivenUp

    try:
        with unhurried() as given_up:
            return await to_thread.run_sync(work, look, limiter=limiter)
    except _GivenUp:
        # Raises the cancellation, unless an outer `unhurried` block still holds it back.
        await asyncio.sleep(0)
        raise
    finally:
        # After a plain `Task.cancel` nothing waits for the thread: it must stop by itself.
        is_over.set()


async def found_or_made(
    things: Sequence[_Thing], find: Callable[[_Thing], _Made | None], make: Callable[[_Thing], _Made]
) -> list[_Made]:
    """What `find` returns for each thing, or else what `make` returns in a thread."""
    found = [find(thing) async for thing in by_turns(things)]
    new = [thing for thing, known in zip(things, found, strict=True) if known is None]

    def all_made(look: Callable[[], None]) -> list[_Made]:
        made: list[_Made] = []
        for thing in new:
            look()
            made.append(make(thing))
        return made

    made = iter(await until_given_up(all_made) if new else ())
    return [next(made) if known is None else known for known in found]


T = TypeVar("T")


async def by_turns(things: Iterable[T]) -> AsyncGenerator[T]:
    """The things, with a turn for other tasks after every `MAX_TURN_S` of work."""
    until = monotonic() + MAX_TURN_S
    for thing in things:
        if monotonic() > until:
            await checkpoint()
            until = monotonic() + MAX_TURN_S
        yield thing


class Cancellation:
    """Cancels the task that makes it, but not within `unhurried`: there the task ends after that block.

    with Cancellation() as cancellation: ...    in the task
    cancellation.give_up()                      anywhere else
    """

    def __init__(self) -> None:
        task = asyncio.current_task()
        assert task is not None, "only tasks are cancelled"
        self.task = task
        self.unhurried: Event | None = None

    def __enter__(self) -> Self:
        self._token = _CANCELLATION.set(self)
        return self

    def __exit__(self, *_raised: object) -> None:
        _CANCELLATION.reset(self._token)

    def give_up(self) -> None:
        if self.unhurried is None:
            self.task.cancel()
        else:
            self.unhurried.set()


_CANCELLATION: Final = ContextVar[Cancellation | None]("louver_cancellation", default=None)


@contextmanager
def unhurried() -> Generator[Event]:
    """Within the block a `Cancellation` only sets the event; the task is cancelled at the end of the block."""
    cancellation = _CANCELLATION.get()
    if cancellation is None or cancellation.task is not asyncio.current_task():
        # Nothing cancels this task so; a task that another starts has its context.
        yield Event()
        return
    if cancellation.unhurried is not None:
        yield cancellation.unhurried
        return
    given_up = cancellation.unhurried = Event()
    try:
        yield given_up
    finally:
        cancellation.unhurried = None
        if given_up.is_set():
            # The task ends at its next wait, so the value of the block is not lost.
            cancellation.task.cancel()
