"""Who is served over the sessions with an upstream, one after the other, and what they want to be told.

It outlives a session: what was asked of an upstream that has ended, or is configured anew, is asked of the one that
takes its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from louver.gateway.clients.client import LEVELS

if TYPE_CHECKING:
    from collections.abc import KeysView

    from louver.gateway.clients.client import Client

DEFAULT_LEVEL: Final = "info"
"""What those who have asked for no log level hear from on, at least. What a server says that was told no level is its
own choice in MCP; there is no way back to that."""


class Audience:
    """The clients of one session at a time."""

    def __init__(self) -> None:
        self.clients: set[Client] = set()
        """Those of the handshake era."""
        self.missing: set[Client] = set()
        """Those of them that are served without the upstream, and are to be told once it is there."""
        self.levels: dict[Client, str] = {}
        """The log levels that they have asked for."""
        self._watchers: dict[str, set[Client]] = {}

    @property
    def everybody(self) -> set[Client]:
        """Those of either era who are there, or want to be told anything."""
        return self.clients.union(self.levels, *self._watchers.values())

    @property
    def wants(self) -> bool:
        """Whether anybody wants to be told anything."""
        return bool(self.levels or self._watchers)

    @property
    def watched(self) -> KeysView[str]:
        """The resources that somebody watches."""
        return self._watchers.keys()

    @property
    def level(self) -> str:
        """The log level that lets through what anybody wants to hear."""
        wanted = set(self.levels.values())
        if not wanted or self.clients - self.levels.keys():
            wanted.add(DEFAULT_LEVEL)
        return min(wanted, key=LEVELS.index)

    def serves(self, client: Client) -> bool:
        """Whether a client is there, or wants to be told anything."""
        return any(client in some for some in (self.clients, self.levels, *self._watchers.values()))

    def is_watched(self, client: Client, uri: str) -> bool:
        """Whether a client watches a resource."""
        return client in self._watchers.get(uri, ())

    def watch(self, client: Client, uri: str) -> None:
        """A client watches a resource."""
        self._watchers.setdefault(uri, set()).add(client)
        client.watched.add(uri)

    def unwatch(self, client: Client, uri: str) -> bool:
        """A client watches it no more; whether nobody does now."""
        client.watched.discard(uri)
        watchers = self._watchers.get(uri, set())
        watchers.discard(client)
        if not watchers:
            self._watchers.pop(uri, None)
        return not watchers

    def take(self, client: Client, other: Audience) -> None:
        """Serve a client of another audience, with all that it has asked for there."""
        if client in other.clients:
            self.clients.add(client)
        if client in other.levels:
            self.levels[client] = other.levels[client]
        for uri, watchers in other._watchers.items():
            if client in watchers:
                self.watch(client, uri)

    def leave(self, client: Client) -> list[str]:
        """A client has gone; the resources that nobody watches now."""
        self.clients.discard(client)
        self.missing.discard(client)
        self.levels.pop(client, None)
        return [uri for uri in list(self.watched) if client in self._watchers[uri] and self.unwatch(client, uri)]
