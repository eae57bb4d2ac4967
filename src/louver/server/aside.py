"""Work on values that may be large: a small one is seen to on the event loop, a large one in a thread, beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from anyio import to_thread

from louver.core.measure import is_heavier
from louver.limits import MAX_READ_ON_LOOP

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.core.json import Json

_Made = TypeVar("_Made")


async def aside(value: Json, function: Callable[[], _Made]) -> _Made:
    """What a function makes of a value.

    Args:
        value: What it works on; over `MAX_READ_ON_LOOP` bytes are large.
        function: It may be called in a thread.
    """
    return await to_thread.run_sync(function) if is_heavier(value, MAX_READ_ON_LOOP) else function()
