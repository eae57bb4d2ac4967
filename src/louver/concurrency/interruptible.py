"""Work that another task may end with an error: an `asyncio.timeout` without a time, at a third of the cost.

with Interruptible() as work:          in a task
    await ...                          raises `error` once
work.interrupt(error)                  is called on the same event loop
"""

from __future__ import annotations

import asyncio
from typing import Self


class Interruptible:
    """A block that can be interrupted; a cancellation of its task takes precedence."""

    _task: asyncio.Task[object] | None = None
    _cancelled_before = 0
    _error: Exception | None = None

    def __enter__(self) -> Self:
        self._task = asyncio.current_task()
        assert self._task is not None, "what waits is done in tasks"
        self._cancelled_before = self._task.cancelling()
        return self

    def __exit__(self, kind: type[BaseException] | None, raised: BaseException | None, _: object) -> None:
        task, self._task = self._task, None
        if self._error is None or task is None:
            return
        if task.uncancel() <= self._cancelled_before and isinstance(raised, asyncio.CancelledError):
            raise self._error from None

    def interrupt(self, error: Exception) -> None:
        """Make the block raise `error`, unless it was interrupted before."""
        if self._task is not None and self._error is None:
            self._error = error
            self._task.cancel()
