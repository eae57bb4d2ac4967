"""Availability of an upstream, and `list_changed` when it changes; only where there are several upstreams.

    a client opens the gateway, or lists, without it    that client misses it
    it opens                                            list_changed to the clients that miss it
    it ends                                             list_changed to all its clients, which then miss it

Flapping upstreams are announced with exponential backoff: re-listing may be what kills them.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from louver.concurrency.background import BackgroundTasks
from louver.concurrency.backoff import Throttle

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Collection, Coroutine

    from louver.gateway.back.fan_out.subscribers import Subscribers
    from louver.gateway.clients.client import GatewayClient
    from louver.wire.jsonrpc.codec import Params

logger = logging.getLogger(__name__)


class AvailabilityListeners:
    """The 2026-07-28 clients to notify of availability changes."""

    def __init__(self, publish: Callable[[str, Params], Coroutine[Any, Any, None]]) -> None:
        self.publish = publish  # notifies 2026-07-28 clients
        self.is_enabled = False  # whether there are several upstreams
        self.clients: set[GatewayClient] = set()  # clients with an open `subscriptions/listen`


class Availability:
    def __init__(
        self, subscribers: Subscribers, availability_listeners: AvailabilityListeners, *, serves_modern: bool
    ) -> None:
        self._subscribers = subscribers
        self._availability_listeners = availability_listeners
        self._serves_modern = serves_modern  # notify all 2026-07-28 clients too
        self._is_unavailable = False
        self._pending_clients: set[GatewayClient] = set()
        self._pending_changes: set[str] = set()
        self._pace = Throttle()
        self._tasks = BackgroundTasks(logger)
        self._notifying: asyncio.Task[None] | None = None

    @property
    def waiting_client(self) -> GatewayClient | None:
        """A client that misses the upstream and can be notified when it is back, if any."""
        if not self._is_unavailable:
            return None
        others = self._availability_listeners.clients if self._serves_modern else ()
        return next(iter((*self._subscribers.waiting, *others)), None)

    def notify_when_available(self, client: GatewayClient) -> None:
        """Record that a client is served without the upstream."""
        if self._availability_listeners.is_enabled:
            self._is_unavailable = True
            if not client.is_modern:
                self._subscribers.waiting.add(client)

    def on_available(self, lists: Collection[str]) -> None:
        """The upstream is available: notify the clients that miss it. `lists` are notification methods."""
        if self._is_unavailable:
            self._is_unavailable = False
            self._announce(self._subscribers.waiting, lists)
            self._subscribers.waiting.clear()

    def on_unavailable(self, lists: Collection[str]) -> None:
        """The upstream has ended: notify all its clients. `lists` are notification methods."""
        if self._availability_listeners.is_enabled:
            self._is_unavailable = True
            self._subscribers.waiting.update(self._subscribers.clients)
            self.announce(lists)

    def announce(self, lists: Collection[str]) -> None:
        """Notify all clients of changed lists."""
        self._announce(self._subscribers.clients, lists)

    def _announce(self, clients: Collection[GatewayClient], lists: Collection[str]) -> None:
        self._pending_clients.update(clients)
        self._pending_changes.update(lists)
        if self._notifying is None or self._notifying.done():
            self._notifying = self._tasks.start(self._notify_pending())

    async def _notify_pending(self) -> None:
        while self._pending_changes:
            await self._pace.wait()
            clients, self._pending_clients = self._pending_clients, set()
            changes, self._pending_changes = self._pending_changes, set()
            for change in sorted(changes):
                for client in clients & self._subscribers.clients:
                    client.notify(change, None)
                if self._serves_modern:
                    await self._availability_listeners.publish(change, None)
