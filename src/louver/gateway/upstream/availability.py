"""Whether an upstream is there for those whom it serves over one session at a time, where there are several upstreams.

    a client opens the gateway, or lists, without it    it is missed by that client
    it opens                                            list_changed, for those who have missed it
    it ends                                             list_changed, for all whom it served, who miss it from then on

While anybody would be told of it, it is tried again (`upstream.py`). Of one that comes and goes they are told later
each time, for that they list anew may be why it goes. Of an upstream that stands alone nothing is told: its clients
hear by its answers what is the matter with it.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from louver.concurrency.background import Tasks
from louver.concurrency.backoff import Pace

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Collection, Coroutine

    from louver.gateway.clients.client import Client
    from louver.gateway.upstream.subscribers import Audience
    from louver.jsonrpc.codec import Params

logger = logging.getLogger(__name__)


class Onlookers:
    """Whom a gateway can tell that its upstreams come and go.

    Args:
        told: Tells clients of 2026-07-28 of a change.
    """

    def __init__(self, told: Callable[[str, Params], Coroutine[Any, Any, None]]) -> None:
        self.told = told
        self.are_told = False
        """Whether they are to be told: there are several upstreams."""
        self.listening: set[Client] = set()
        """The clients of 2026-07-28 that listen to changes now."""


class Presence:
    """Whether it is there for one audience.

    Args:
        audience: Those whom it serves.
        onlookers: Whom the gateway can tell.
        serves_modern: Whether it serves clients of 2026-07-28, all of which are told then.
    """

    def __init__(self, audience: Audience, onlookers: Onlookers, *, serves_modern: bool) -> None:
        self._audience = audience
        self._onlookers = onlookers
        self._serves_modern = serves_modern
        self._is_away = False
        self._whom: set[Client] = set()
        self._what: set[str] = set()
        self._pace = Pace()
        self._tasks = Tasks(logger)
        self._telling: asyncio.Task[None] | None = None

    @property
    def missed_by(self) -> Client | None:
        """One of those who miss it and would be told that it is there, if there are any."""
        if not self._is_away:
            return None
        others = self._onlookers.listening if self._serves_modern else ()
        return next(iter((*self._audience.missing, *others)), None)

    def miss(self, client: Client) -> None:
        """A client is served without it."""
        if self._onlookers.are_told:
            self._is_away = True
            if not client.is_modern:
                self._audience.missing.add(client)

    def came(self, lists: Collection[str]) -> None:
        """It is there: these notifications say of which lists that is a change."""
        if self._is_away:
            self._is_away = False
            self._changed(self._audience.missing, lists)
            self._audience.missing.clear()

    def went(self, lists: Collection[str]) -> None:
        """It has ended; likewise."""
        if self._onlookers.are_told:
            self._is_away = True
            self._audience.missing.update(self._audience.clients)
            self._changed(self._audience.clients, lists)

    def _changed(self, whom: Collection[Client], lists: Collection[str]) -> None:
        self._whom.update(whom)
        self._what.update(lists)
        if self._telling is None or self._telling.done():
            self._telling = self._tasks.start(self._tell())

    async def _tell(self) -> None:
        while self._what:
            await self._pace.keep()
            whom, self._whom = self._whom, set()
            what, self._what = self._what, set()
            for change in sorted(what):
                for client in whom & self._audience.clients:
                    client.hear(change, None)
                if self._serves_modern:
                    await self._onlookers.told(change, None)
