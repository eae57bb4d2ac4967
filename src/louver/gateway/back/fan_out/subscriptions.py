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

from louver.errors import UpstreamError, UpstreamTimeout
from louver.gateway.back.fan_out.subscribers import DEFAULT_LEVEL
from louver.limits import MAX_URI_BYTES, MAX_WATCHED
from louver.wire.jsonrpc.errors import INVALID_PARAMS, JsonRpcError
from louver.wire.mcp import RESOURCE_UPDATED

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Collection

    from louver.gateway.back.fan_out.change_stream import ChangeStream
    from louver.gateway.back.fan_out.subscribers import Subscribers
    from louver.gateway.clients.client import Caller, GatewayClient
    from louver.wire.jsonrpc.codec import Params

logger = logging.getLogger(__name__)


def check_watchable(uri: str) -> None:
    """Raise if a URI is too long to be kept."""
    if len(uri) > MAX_URI_BYTES:
        message = f"the address of a watched resource has at most {MAX_URI_BYTES} characters"
        raise JsonRpcError(code=INVALID_PARAMS, message=message)


class Subscriptions:
    def __init__(
        self,
        name: str,
        subscribers: Subscribers,
        change_stream: ChangeStream | None,  # `None` for a handshake upstream
        call: Callable[[Caller, str, Params], Awaitable[dict[str, Any]]],  # sends a client's request
        ask: Callable[[str, Params], Awaitable[dict[str, Any]]],  # sends the gateway's own
        reaches_clients: Callable[[str, Params], bool],  # whether the policy allows a notification
        timeout_s: float,  # longest wait for another client's request
    ) -> None:
        self._name = name
        self._subscribers = subscribers
        self._change_stream = change_stream
        self._call = call
        self._ask = ask
        self._reaches_clients = reaches_clients
        self._timeout_s = timeout_s
        self._subscribed: set[str] = set()
        # By URI, while a task holds the lock or waits for it.
        self._locks = WeakValueDictionary[str, asyncio.Lock]()
        self._level: str | None = None
        self._level_lock = asyncio.Lock()

    @property
    def default_level(self) -> str | None:
        """The log level of clients that set none; `None` if the upstream was sent no level."""
        return None if self._level is None else DEFAULT_LEVEL

    async def resume(self) -> None:
        """Subscribe again in a new session; failures are only logged."""
        if self._change_stream is not None:
            self._change_stream.watch(self._watched_uris)
            return
        try:
            async with self._level_lock:
                level = self._subscribers.level
                is_needed = bool(self._subscribers.levels) and self._reaches_clients("notifications/message", {})
                if is_needed and await self._resend("logging/setLevel", {"level": level}):
                    self._level = level
            for uri in sorted(self._watched_uris):
                async with self._lock_of(uri):
                    is_needed = uri in self._subscribers.watched and uri not in self._subscribed
                    if is_needed and await self._resend("resources/subscribe", {"uri": uri}):
                        self._subscribed.add(uri)
        except UpstreamError as error:
            logger.warning("upstream %r is not asked again for all that is wanted of it: %s", self._name, error)

    async def watch(self, caller: Caller, params: dict[str, Any]) -> dict[str, Any]:
        uri = params["uri"]
        check_watchable(uri)
        if len(caller.client.watched) >= MAX_WATCHED and uri not in caller.client.watched:
            raise JsonRpcError(code=INVALID_PARAMS, message=f"one client watches at most {MAX_WATCHED} resources")
        if self._change_stream is not None:
            self._subscribers.watch(caller.client, uri)
            self._change_stream.watch(self._watched_uris)
            return {}
        async with self._hold_lock(self._lock_of(uri), caller.client):
            self._subscribers.watch(caller.client, uri)
            if uri in self._subscribed:
                return {}
            try:
                result = await self._call(caller, "resources/subscribe", params)
            except BaseException:  # a cancelled client does not watch it either
                self._subscribers.unwatch(caller.client, uri)
                raise
            self._subscribed.add(uri)
            return result

    async def watch_all(self, caller: Caller, uris: Collection[str]) -> None:
        """Subscribe a client to many resources; refusals are ignored."""
        if self._change_stream is None:
            for uri in uris:
                with suppress(JsonRpcError, UpstreamError):
                    await self.watch(caller, {"uri": uri})
        elif uris:
            for uri in uris:
                self._subscribers.watch(caller.client, uri)
            # Once, since it reopens the stream.
            self._change_stream.watch(self._watched_uris)

    async def unwatch(self, caller: Caller, params: dict[str, Any]) -> dict[str, Any]:
        uri = params["uri"]
        if self._change_stream is not None:
            self._subscribers.unwatch(caller.client, uri)
            self._change_stream.watch(self._watched_uris)
            return {}
        async with self._hold_lock(self._lock_of(uri), caller.client):
            if not self._subscribers.unwatch(caller.client, uri):
                return {}
            self._subscribed.discard(uri)
            return await self._call(caller, "resources/unsubscribe", params)

    async def set_level(self, caller: Caller, params: dict[str, Any]) -> dict[str, Any]:
        """Set a client's log level; in 2026-07-28 every request carries it, so the upstream gets none."""
        client, level = caller.client, params["level"]
        if self._change_stream is not None:
            client.log_level = level
            return {}
        async with self._hold_lock(self._level_lock, client):
            self._subscribers.levels[client] = level
            before, self._level = self._level, self._subscribers.level
            try:
                result = await self._call(caller, "logging/setLevel", {**params, "level": self._level})
            except JsonRpcError:
                # The upstream has no log.
                self._subscribers.levels.pop(client, None)
                self._level = before
                raise
            client.log_level = level
            return result

    async def adjust_level(self) -> None:
        """Adjust the upstream's log level to its clients, if one was set."""
        async with self._level_lock:
            await self._adjust_level()

    async def on_client_left(self, unwatched_uris: list[str]) -> None:
        """A client has left: drop the subscriptions that only it had and adjust the log level; failures are ignored."""
        if self._change_stream is not None:
            if unwatched_uris:
                self._change_stream.watch(self._watched_uris)
            return
        for uri in unwatched_uris:
            with suppress(JsonRpcError, UpstreamError):
                async with self._hold_lock(self._lock_of(uri)):
                    if uri in self._subscribed and uri not in self._subscribers.watched:
                        self._subscribed.discard(uri)
                        await self._ask("resources/unsubscribe", {"uri": uri})
        with suppress(UpstreamTimeout):
            async with self._hold_lock(self._level_lock):
                await self._adjust_level()

    @property
    def _watched_uris(self) -> set[str]:
        return {uri for uri in self._subscribers.watched if self._reaches_clients(RESOURCE_UPDATED, {"uri": uri})}

    def _lock_of(self, uri: str) -> asyncio.Lock:
        """The lock for requests about one resource."""
        return self._locks.setdefault(uri, asyncio.Lock())

    @asynccontextmanager
    async def _hold_lock(self, lock: asyncio.Lock, client: GatewayClient | None = None) -> AsyncGenerator[None]:
        """Hold a lock for a client; raises if the wait is too long or the client has gone."""
        try:
            async with asyncio.timeout(self._timeout_s):
                await lock.acquire()
        except TimeoutError:
            message = f"the upstream has not answered others who ask it for the same within {self._timeout_s:g} s"
            raise UpstreamTimeout(message) from None
        try:
            if client is not None:
                client.check_is_open(self._name)
            yield
        finally:
            lock.release()

    async def _adjust_level(self) -> None:
        """Adjust the log level, with the lock held."""
        if self._level not in (None, level := self._subscribers.level):
            self._level = level
            with suppress(JsonRpcError, UpstreamError):
                await self._ask("logging/setLevel", {"level": level})

    async def _resend(self, method: str, params: dict[str, Any]) -> bool:
        try:
            await self._ask(method, params)
        except JsonRpcError as refused:
            logger.warning("upstream %r refuses %r after its restart: error %d", self._name, method, refused.code)
            return False
        return True
