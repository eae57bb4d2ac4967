"""Background tasks: held against garbage collection, with failures logged by their type alone."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from logging import Logger


def retrieve_error(task: asyncio.Task[Any]) -> None:
    """Retrieve the error of a task: asyncio logs it if all that wait for the task are cancelled."""
    if not task.cancelled():
        task.exception()


class BackgroundTasks:
    def __init__(self, logger: Logger) -> None:
        self._logger = logger
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._on_done)
        return task

    async def wait(self) -> None:
        """Wait for all tasks; cancelling the wait does not cancel them."""
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def close(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _on_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._logger.error("a background task has failed: %s", type(error).__name__)
