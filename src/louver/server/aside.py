"""Work that may take long: in a thread, beside the event loop, if it does.

A small value is seen to on the loop all the same; so is what of a list is known already.
"""

from __future__ import annotations

from threading import Event
from typing import TYPE_CHECKING, TypeVar

from anyio import to_thread

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
    is_given_up = Event()

    def all_made() -> list[_Made]:
        return [make(thing) for thing in new if not is_given_up.is_set()]

    try:
        made = iter(await to_thread.run_sync(all_made) if new else ())
    finally:
        # anyio waits for the thread, but asyncio's own way to cancel does not, by which processes end; they do then.
        is_given_up.set()
    return [next(made) if known is None else known for known in found]
