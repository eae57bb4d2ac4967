"""Availability of an upstream, and `list_changed` when it changes; only where there are several upstreams.

    a client opens the gateway, or lists, without it    that client misses it
    it opens                                            list_changed to the clients that miss it
    it ends                                             list_changed to all its clients, which then miss it

Flapping upstreams are announced with exponential backoff: re-listing may be what kills them.
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
    """The 2026-07-28 clients to notify of availability changes."""

    def __init__(self, told: Callable[[str, Params], Coroutine[Any, Any, None]]) -> None:
        self.told = told  # notifies 2026-07-28 clients
        self.are_told = False  # whether there are several upstreams
        self.listening: set[Client] = set()  # clients with an open `subscriptions/listen`


class Presence:
    def __init__(self, audience: Audience, onlookers: Onlookers, *, serves_modern: bool) -> None:
        self._audience = audience
        self._onlookers = onlookers
        self._serves_modern = serves_modern  # notify all 2026-07-28 clients too
        self._is_away = False
        self._whom: set[Client] = set()
        self._what: set[str] = set()
        self._pace = Pace()
        self._tasks = Tasks(logger)
        self._telling: asyncio.Task[None] | None = None

    @property
    def missed_by(self) -> Client | None:
        """A client that misses the upstream and can be notified when it is back, if any."""
        if not self._is_away:
            return None
        others = self._onlookers.listening if self._serves_modern else ()
        return next(iter((*self._audience.missing, *others)), None)

    def miss(self, client: Client) -> None:
        """Record that a client is served without the upstream."""
        if self._onlookers.are_told:
            self._is_away = True
            if not client.is_modern:
                self._audience.missing.add(client)

    def came(self, lists: Collection[str]) -> None:
        """The upstream is available: notify the clients that miss it. `lists` are notification methods."""
        if self._is_away:
            self._is_away = False
            self._changed(self._audience.missing, lists)
            self._audience.missing.clear()

    def went(self, lists: Collection[str]) -> None:
        """The upstream has ended: notify all its clients. `lists` are notification methods."""
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
