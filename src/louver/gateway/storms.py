"""Changes that come in storms, told as few: the first at once, and what came meanwhile once more after a while.

::

    list_changed, list_changed, ... 20,000 of them    ->    list_changed, and another one `CALM_S` later

Nothing is lost by it: a change of a list says only that the list is to be asked for again.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from louver.gateway.tasks import Tasks
from louver.limits import CALM_S

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from logging import Logger

    from louver.gateway.clients import Client
    from louver.gateway.link import Params


class Storms:
    """The changes of one session.

    Args:
        tell: Is told as few, each with who knows of it already.
        logger: Hears of what could not be told.
    """

    def __init__(self, tell: Callable[[str, Params, Client | None], Awaitable[None]], logger: Logger) -> None:
        self._tell = tell
        self._tasks = Tasks(logger)
        self._calming: set[str] = set()
        self._came: dict[str, Params] = {}

    async def put(self, method: str, params: Params, knows: Client | None = None) -> None:
        """Tell of a change, now or soon: then also whoever knows of it."""
        if method in self._calming:
            self._came[method] = params
            return
        self._calming.add(method)
        self._tasks.start(self._calm(method))
        await self._tell(method, params, knows)

    async def close(self) -> None:
        """Tell nothing any more."""
        await self._tasks.close()

    async def _calm(self, method: str) -> None:
        try:
            await asyncio.sleep(CALM_S)
            while method in self._came:
                await self._tell(method, self._came.pop(method), None)
                await asyncio.sleep(CALM_S)
        finally:
            self._calming.discard(method)
