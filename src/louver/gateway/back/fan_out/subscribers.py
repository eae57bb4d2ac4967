"""The clients of an upstream's sessions, with subscriptions and log levels. They outlive sessions and reloads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from louver.gateway.clients.client import LOG_LEVELS

if TYPE_CHECKING:
    from collections.abc import KeysView

    from louver.gateway.clients.client import GatewayClient

# Log level for clients that set none. In MCP the server chooses until a level is set, and a level cannot be unset.
DEFAULT_LEVEL: Final = "info"


class Subscribers:
    def __init__(self) -> None:
        self.clients: set[GatewayClient] = set()  # handshake clients
        self.waiting: set[GatewayClient] = set()  # handshake clients to notify when the upstream is back
        self.levels: dict[GatewayClient, str] = {}  # requested log levels
        self._watchers: dict[str, set[GatewayClient]] = {}

    @property
    def all_clients(self) -> set[GatewayClient]:
        """All clients that are connected, have a log level or watch a resource."""
        return self.clients.union(self.levels, *self._watchers.values())

    @property
    def has_subscriptions(self) -> bool:
        """Whether any client has a log level or watches a resource."""
        return bool(self.levels or self._watchers)

    @property
    def watched(self) -> KeysView[str]:
        return self._watchers.keys()

    @property
    def level(self) -> str:
        """The lowest log level that any client wants."""
        wanted = set(self.levels.values())
        if not wanted or self.clients - self.levels.keys():
            wanted.add(DEFAULT_LEVEL)
        return min(wanted, key=LOG_LEVELS.index)

    def serves(self, client: GatewayClient) -> bool:
        return any(client in clients for clients in (self.clients, self.levels, *self._watchers.values()))

    def is_watched(self, client: GatewayClient, uri: str) -> bool:
        return client in self._watchers.get(uri, ())

    def watch(self, client: GatewayClient, uri: str) -> None:
        self._watchers.setdefault(uri, set()).add(client)
        client.watched.add(uri)

    def unwatch(self, client: GatewayClient, uri: str) -> bool:
        """Unsubscribe a client; `True` if no client watches the resource any more."""
        client.watched.discard(uri)
        watchers = self._watchers.get(uri, set())
        watchers.discard(client)
        if not watchers:
            self._watchers.pop(uri, None)
        return not watchers

    def copy_client(self, client: GatewayClient, other: Subscribers) -> None:
        """Copy a client from other subscribers, with its log level and watched resources."""
        if client in other.clients:
            self.clients.add(client)
        if client in other.levels:
            self.levels[client] = other.levels[client]
        for uri, watchers in other._watchers.items():
            if client in watchers:
                self.watch(client, uri)

    def remove(self, client: GatewayClient) -> list[str]:
        """Remove a client; return the resources that no client watches any more."""
        self.clients.discard(client)
        self.waiting.discard(client)
        self.levels.pop(client, None)
        return [uri for uri in list(self.watched) if client in self._watchers[uri] and self.unwatch(client, uri)]
