"""Work that may take long: in a thread, beside the event loop, if it does.

A small value is seen to on the loop all the same; so is what of a list is known already.
"""

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
    """What a function makes of a value.

    Args:
        value: What it works on; over `MAX_READ_ON_LOOP` bytes are large.
        function: It may be called in a thread.
    """
    return await in_thread(function) if is_heavier(value, MAX_READ_ON_LOOP) else function()


async def in_thread(function: Callable[[], _Made]) -> _Made:
    """What a function makes in a thread, unless nobody wants it by the time that there is one."""

    def work(look: Callable[[], None]) -> _Made:
        look()
        return function()

    return await until_given_up(work)


class _GivenUp(asyncio.CancelledError):
    """Nobody wants it any more."""


async def until_given_up(work: Callable[[Callable[[], None]], _Made], limiter: CapacityLimiter | None = None) -> _Made:
    """What is made in a thread of many things, as long as somebody wants it. Who gives it up waits for the thread.

    Args:
        work: Calls what it is given before each thing, which raises once nobody wants it any more.
        limiter: Says how many threads there may be; anyio's own, if none is given.
    """
    is_over = Event()

    def look() -> None:
        from_thread.check_cancelled()
        if given_up.is_set() or is_over.is_set():
            raise _GivenUp

    try:
        with unhurried() as given_up:
            return await to_thread.run_sync(work, look, limiter=limiter)
    except _GivenUp:
        # By now it is cancelled, which is raised where it waits; within another wait it will be.
        await asyncio.sleep(0)
        raise
    finally:
        # Where asyncio cancels it, nobody waits for the thread.
        is_over.set()


async def found_or_made(
    things: Sequence[_Thing], find: Callable[[_Thing], _Made | None], make: Callable[[_Thing], _Made]
) -> list[_Made]:
    """What is known of each thing, or made of it.

    Args:
        things: The things, in order.
        find: What is known of one, soon.
        make: It is called in a thread, and may take long.
    """
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
    """The things, with a break before the next one where the work on those before it has taken long enough."""
    until = monotonic() + MAX_TURN_S
    for thing in things:
        if monotonic() > until:
            await checkpoint()
            until = monotonic() + MAX_TURN_S
        yield thing


class Cancellation:
    """Cancels the task that makes it, as far as that does what stands within it.

    ::

        with Cancellation() as cancellation: ...        in the task
        cancellation.give_up()                          elsewhere: at once, or once the task waits for no thread
    """

    def __init__(self) -> None:
        task = asyncio.current_task()
        assert task is not None, "what is cancelled is a task"
        self.task = task
        self.unhurried: Event | None = None

    def __enter__(self) -> Self:
        self._token = _CANCELLATION.set(self)
        return self

    def __exit__(self, *_raised: object) -> None:
        _CANCELLATION.reset(self._token)

    def give_up(self) -> None:
        """Cancel the task, once."""
        if self.unhurried is None:
            self.task.cancel()
        else:
            self.unhurried.set()


_CANCELLATION: Final = ContextVar[Cancellation | None]("louver_cancellation", default=None)


@contextmanager
def unhurried() -> Generator[Event]:
    """What is done in it is waited for, also once that has been given up; what it gives says whether it has."""
    cancellation = _CANCELLATION.get()
    if cancellation is None or cancellation.task is not asyncio.current_task():
        # Nobody gives it up so; tasks that a task begins have its context.
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
            # It ends where it waits next: what has been made for it is not lost.
            cancellation.task.cancel()
