"""Work that may take long: in a thread, beside the event loop, if it does.

A small value is seen to on the loop all the same; so is what of a list is known already.
"""

from __future__ import annotations

import asyncio
from threading import Event
from typing import TYPE_CHECKING, TypeVar

from anyio import CancelScope, to_thread

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


async def until_given_up(work: Callable[[Event], _Made]) -> _Made:
    """What is made in a thread of many things.

    Once nobody wants it, it is still waited for, so that no other begins beside it.

    Args:
        work: Looks before each thing whether the event is set, and then makes no other: what it returns is lost.
    """
    is_given_up = Event()
    making = asyncio.create_task(to_thread.run_sync(work, is_given_up))
    try:
        await asyncio.wait({making})
    except asyncio.CancelledError:
        is_given_up.set()
        with CancelScope(shield=True):
            await asyncio.wait({making})
            making.exception()  # nobody is left to be told of it
        raise
    return making.result()


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

    def all_made(is_given_up: Event) -> list[_Made]:
        return [make(thing) for thing in new if not is_given_up.is_set()]

    made = iter(await until_given_up(all_made) if new else ())
    return [next(made) if known is None else known for known in found]
