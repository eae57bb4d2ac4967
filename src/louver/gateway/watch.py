"""Whether the client of a request is still there, while that is answered by the faster way.

the answer takes `WATCH_AFTER_S`     the watch begins
and `PING_S` more, again and again   the client is shown that its request is not forgotten
the client goes                      the task that answers is given up
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from louver.limits import PING_S
from louver.server.giving_up import give_up

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import Receive


class Watch:
    """Gives a request up when its client goes, and shows the client meanwhile that it is not forgotten.

    It is begun after a while, since most are answered before: a task for each would take longer than some answers.

    Args:
        receive: Of the request.
        ping: Shows the client that its request is still worked on.
        answering: The task that answers, which is given up when the client has gone.
    """

    def __init__(self, receive: Receive, ping: Callable[[], Awaitable[None]], answering: asyncio.Task[Any]) -> None:
        self.has_given_up = False
        """Whether the client has gone, and the task has been given up."""
        self._receive = receive
        self._ping = ping
        self._answering = answering
        self._watching: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """The answer takes long."""
        self._watching = asyncio.create_task(self._watch())

    def end(self) -> None:
        """The answer is known, or will never be."""
        if self._watching is not None:
            self._watching.cancel()

    async def _watch(self) -> None:
        while True:
            try:
                async with asyncio.timeout(PING_S):
                    while (await self._receive())["type"] != "http.disconnect":
                        pass
            except TimeoutError:
                await self._ping()
            else:
                break
        self.has_given_up = True
        give_up(self._answering)
