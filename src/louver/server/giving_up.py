"""Giving up what a task does, once it has waited for what would go on without it.

    with unhurried() as given_up:        in the task, while a thread works for it, or others do that it has told to end
        ...
    give_up(task)                        elsewhere: it is cancelled, at once or when that is over

A thread does not end when asyncio cancels who waits for it: it would work for nobody, and others would begin beside it.
So it is if anything else cancels a task by asyncio's means, as the end of the process does, which waits for no thread.
Where a scope of anyio's is cancelled, its threads are waited for in any case.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from threading import Event
from typing import TYPE_CHECKING, Any, Final

from anyio import get_current_task

if TYPE_CHECKING:
    from collections.abc import Generator

_UNHURRIED: Final[dict[int, Event]] = {}
"""Whether they are given up, of the tasks that wait so, by their ids."""


@contextmanager
def unhurried() -> Generator[Event]:
    """What is done in it is waited for, also once that has been given up; what it gives says whether it has."""
    number = get_current_task().id
    if (around := _UNHURRIED.get(number)) is not None:
        yield around
        return
    given_up = _UNHURRIED[number] = Event()
    try:
        yield given_up
    finally:
        del _UNHURRIED[number]
        if given_up.is_set() and (task := asyncio.current_task()) is not None:
            # It ends where it waits next: what has been made for it is not lost.
            task.cancel()


def give_up(task: asyncio.Task[Any]) -> None:
    """Cancel a task, once."""
    if (given_up := _UNHURRIED.get(id(task))) is None:
        task.cancel()
    else:
        given_up.set()
