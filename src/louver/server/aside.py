"""Work that may take long: in a thread, beside the event loop, if it does.

A small value is seen to on the loop all the same; so is what of a list is known already.
"""

from __future__ import annotations

import asyncio
from threading import Event
from typing import TYPE_CHECKING, Any, Final, TypeVar

from anyio import from_thread, get_current_task, to_thread

from louver.core.measure import is_heavier
from louver.limits import MAX_READ_ON_LOOP
from louver.server.turns import by_turns

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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


async def in_thread(function: Callable[[], _Made], limiter: CapacityLimiter | None = None) -> _Made:
    """What a function makes in a thread; it is waited for by who is given up meanwhile.

    Args:
        function: The function.
        limiter: Says how many threads there may be; anyio's own, if none is given.
    """
    return await until_given_up(lambda _: function(), limiter)


async def until_given_up(work: Callable[[Callable[[], None]], _Made], limiter: CapacityLimiter | None = None) -> _Made:
    """What is made in a thread of many things, as long as somebody wants it.

    Args:
        work: Calls what it is given before each thing, which raises once nobody wants it any more.
        limiter: Says how many threads there may be; anyio's own, if none is given.
    """
    number = get_current_task().id
    given_up = _GIVEN_UP[number] = Event()

    def look() -> None:
        from_thread.check_cancelled()
        if given_up.is_set():
            raise asyncio.CancelledError

    try:
        made = await to_thread.run_sync(work, look, limiter=limiter)
    except BaseException:
        # What anyio cancels is known in the thread, and waited for; asyncio's own way, by which processes end, is not.
        given_up.set()
        raise
    finally:
        del _GIVEN_UP[number]
    if given_up.is_set() and (task := asyncio.current_task()) is not None:
        # It ends where it waits next: what the thread has made is not lost.
        task.cancel()
    return made


_GIVEN_UP: Final[dict[int, Event]] = {}
"""The tasks that wait for a thread, by their ids, and whether they are given up."""


def give_up(task: asyncio.Task[Any]) -> None:
    """Cancel a task, once no thread works for it: that would go on for nobody, and others would begin beside it."""
    if (given_up := _GIVEN_UP.get(id(task))) is None:
        task.cancel()
    else:
        given_up.set()


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
