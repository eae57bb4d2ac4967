"""Subscriptions and log levels of a session's clients, merged as if they were one client.

    client A   resources/subscribe a     ->   resources/subscribe a
    client B   resources/subscribe a     ->   nothing: already subscribed
    client A   logging/setLevel error    ->   logging/setLevel info: client B has set no level

A 2026-07-28 upstream gets the subscriptions by `change_stream.py`, and no log level.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from mcp import MCPError

from louver.errors import UpstreamError, UpstreamTimeout
from louver.gateway.upstream.subscribers import DEFAULT_LEVEL

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Collection

    from louver.gateway.clients.client import Caller, Client
    from louver.gateway.upstream.change_stream import Changes
    from louver.gateway.upstream.subscribers import Audience
    from louver.jsonrpc.codec import Params

logger = logging.getLogger(__name__)


class Subscriptions:
    def __init__(
        self,
        name: str,
        audience: Audience,
        changes: Changes | None,  # `None` for a handshake upstream
        call: Callable[[Caller, str, Params], Awaitable[dict[str, Any]]],  # sends a client's request
        ask: Callable[[str, Params], Awaitable[dict[str, Any]]],  # sends the gateway's own
        may_say: Callable[[str, Params], bool],  # whether the policy allows a notification
        timeout_s: float,  # longest wait for another client's request
    ) -> None:
        self._name = name
        self._audience = audience
        self._changes = changes
        self._call = call
        self._ask = ask
        self._may_say = may_say
        self._timeout_s = timeout_s
        self._subscribed: set[str] = set()
        # By URI, while a task holds the lock or waits for it.
        self._locks = WeakValueDictionary[str, asyncio.Lock]()
        self._level: str | None = None
        self._leveling = asyncio.Lock()

    @property
    def default_level(self) -> str | None:
        """The log level of clients that set none; `None` if the upstream was sent no level."""
        return None if self._level is None else DEFAULT_LEVEL

    async def resume(self) -> None:
        """Subscribe again in a new session; failures are only logged."""
        if self._changes is not None:
            self._changes.watch(self._wanted)
            return
        try:
            async with self._leveling:
                level = self._audience.level
                is_to_be = bool(self._audience.levels) and self._may_say("notifications/message", {})
                if is_to_be and await self._again("logging/setLevel", {"level": level}):
                    self._level = level
            for uri in sorted(self._wanted):
                async with self._in_turn(uri):
                    is_to_be = uri in self._audience.watched and uri not in self._subscribed
                    if is_to_be and await self._again("resources/subscribe", {"uri": uri}):
                        self._subscribed.add(uri)
        except UpstreamError as error:
            logger.warning("upstream %r is not asked again for all that is wanted of it: %s", self._name, error)

    async def watch(self, turn: Caller, params: dict[str, Any]) -> dict[str, Any]:
        uri = params["uri"]
        if self._changes is not None:
            self._audience.watch(turn.client, uri)
            self._changes.watch(self._wanted)
            return {}
        async with self._held(self._in_turn(uri), turn.client):
            self._audience.watch(turn.client, uri)
            if uri in self._subscribed:
                return {}
            try:
                result = await self._call(turn, "resources/subscribe", params)
            except BaseException:  # a cancelled client does not watch it either
                self._audience.unwatch(turn.client, uri)
                raise
            self._subscribed.add(uri)
            return result

    async def watch_all(self, turn: Caller, uris: Collection[str]) -> None:
        """Subscribe a client to many resources; refusals are ignored."""
        if self._changes is None:
            for uri in uris:
                with suppress(MCPError, UpstreamError):
                    await self.watch(turn, {"uri": uri})
        elif uris:
            for uri in uris:
                self._audience.watch(turn.client, uri)
            # Once, since it reopens the stream.
            self._changes.watch(self._wanted)

    async def unwatch(self, turn: Caller, params: dict[str, Any]) -> dict[str, Any]:
        uri = params["uri"]
        if self._changes is not None:
            self._audience.unwatch(turn.client, uri)
            self._changes.watch(self._wanted)
            return {}
        async with self._held(self._in_turn(uri), turn.client):
            if not self._audience.unwatch(turn.client, uri):
                return {}
            self._subscribed.discard(uri)
            return await self._call(turn, "resources/unsubscribe", params)

    async def set_level(self, turn: Caller, params: dict[str, Any]) -> dict[str, Any]:
        """Set a client's log level; in 2026-07-28 every request carries it, so the upstream gets none."""
        client, level = turn.client, params["level"]
        if self._changes is not None:
            client.log_level = level
            return {}
        async with self._held(self._leveling, client):
            self._audience.levels[client] = level
            before, self._level = self._level, self._audience.level
            try:
                result = await self._call(turn, "logging/setLevel", {**params, "level": self._level})
            except MCPError:
                # The upstream has no log.
                self._audience.levels.pop(client, None)
                self._level = before
                raise
            client.log_level = level
            return result

    async def settle_level(self) -> None:
        """Adjust the upstream's log level to its clients, if one was set."""
        async with self._leveling:
            await self._settle()

    async def narrow(self, left: list[str]) -> None:
        """A client has left: drop its subscriptions (`left`) and adjust the log level; failures are ignored."""
        if self._changes is not None:
            if left:
                self._changes.watch(self._wanted)
            return
        for uri in left:
            with suppress(MCPError, UpstreamError):
                async with self._held(self._in_turn(uri)):
                    if uri in self._subscribed and uri not in self._audience.watched:
                        self._subscribed.discard(uri)
                        await self._ask("resources/unsubscribe", {"uri": uri})
        with suppress(UpstreamTimeout):
            async with self._held(self._leveling):
                await self._settle()

    @property
    def _wanted(self) -> set[str]:
        said = "notifications/resources/updated"
        return {uri for uri in self._audience.watched if self._may_say(said, {"uri": uri})}

    def _in_turn(self, uri: str) -> asyncio.Lock:
        """The lock for requests about one resource."""
        return self._locks.setdefault(uri, asyncio.Lock())

    @asynccontextmanager
    async def _held(self, lock: asyncio.Lock, client: Client | None = None) -> AsyncGenerator[None]:
        """Hold a lock for a client; raises if the wait is too long or the client has gone."""
        try:
            async with asyncio.timeout(self._timeout_s):
                await lock.acquire()
        except TimeoutError:
            message = f"the upstream has not answered others who ask it for the same within {self._timeout_s:g} s"
            raise UpstreamTimeout(message) from None
        try:
            if client is not None:
                client.check_is_there(self._name)
            yield
        finally:
            lock.release()

    async def _settle(self) -> None:
        """Adjust the log level, with the lock held."""
        if self._level not in (None, level := self._audience.level):
            self._level = level
            with suppress(MCPError, UpstreamError):
                await self._ask("logging/setLevel", {"level": level})

    async def _again(self, method: str, params: dict[str, Any]) -> bool:
        try:
            await self._ask(method, params)
        except MCPError as refused:
            logger.warning("upstream %r refuses %r after its restart: error %d", self._name, method, refused.code)
            return False
        return True
