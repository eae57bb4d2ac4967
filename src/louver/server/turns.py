"""Work on many things on the event loop, with breaks in which others have their turn.

::

    tool tool tool tool ... | tool tool ... | tool tool
                            after `MAX_TURN_S` each time

For what is little work on each; what may be much on one is for a thread (`aside.py`). What comes of it must not depend
on what others do in the breaks: who works on lists that follow each other holds a lock meanwhile.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from anyio.lowlevel import checkpoint

from louver.limits import MAX_TURN_S

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable

T = TypeVar("T")


async def by_turns(things: Iterable[T]) -> AsyncGenerator[T]:
    """The things, with a break before the next one where the work on those before it has taken long enough."""
    until = monotonic() + MAX_TURN_S
    for thing in things:
        if monotonic() > until:
            await checkpoint()
            until = monotonic() + MAX_TURN_S
        yield thing
