"""Work that may take long: in a thread, beside the event loop, if it does.

A small value is seen to on the loop all the same; so is what of a list is known already.
"""

from __future__ import annotations

from threading import Event
from typing import TYPE_CHECKING, TypeVar

from anyio import from_thread, to_thread

from louver.core.measure import is_heavier
from louver.limits import MAX_READ_ON_LOOP
from louver.server.turns import by_turns

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from louver.core.json import Json

_Thing = TypeVar("_Thing")
_Made = TypeVar("_Made")


async def aside(value: Json, function: Callable[[], _Made]) -> _Made:
    """What a function makes of a value.

    Args:
        value: What it works on; over `MAX_READ_ON_LOOP` bytes are large.
        function: It may be called in a thread.
    """
    return await to_thread.run_sync(function) if is_heavier(value, MAX_READ_ON_LOOP) else function()


class _GivenUp(Exception):
    """Nobody wants it any more; nor is anybody left to be told so."""


async def until_given_up(work: Callable[[Callable[[], None]], _Made]) -> _Made:
    """What is made in a thread of many things, as long as somebody wants it.

    Args:
        work: Calls what it is given before each thing, which raises once nobody wants it any more.
    """
    is_given_up = Event()

    def look() -> None:
        from_thread.check_cancelled()
        if is_given_up.is_set():
            raise _GivenUp

    try:
        return await to_thread.run_sync(work, look)
    finally:
        # What anyio cancels is known in the thread, and waited for; asyncio's own way, by which processes end, is not.
        is_given_up.set()


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
