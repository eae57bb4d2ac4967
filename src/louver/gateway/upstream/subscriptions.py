"""What the clients of a session want to be told by its upstream, asked of it as if they were one.

    client A   resources/subscribe a       ->   resources/subscribe a
    client B   resources/subscribe a       ->   nothing: the upstream tells of it already
    client A   logging/setLevel error      ->   logging/setLevel info: client B has asked for no level yet
    client B   logging/setLevel debug      ->   logging/setLevel debug
    client A   logging/setLevel warning    ->   logging/setLevel debug; A still hears warnings alone

What is said of one resource is said in turn, and so are levels: what clients want meanwhile counts once the upstream
has answered. They wait for that as long as for an answer of their own.

An upstream of 2026-07-28 is asked by the stream that it tells changes in (`changes.py`), and needs no log level. One
that takes the place of an upstream which has ended is asked for all of it again.
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
    """What is asked of the upstream of one session.

    Args:
        name: The upstream's name.
        audience: Who wants what.
        changes: The stream of changes; `None` where the upstream is of the handshake era.
        call: Sends a client's request.
        ask: Sends one of the gateway itself.
        may_say: Whether a notification of the upstream reaches clients: what does not is not asked for again.
        timeout_s: How long a client waits for what the upstream is still to answer others.
    """

    def __init__(
        self,
        name: str,
        audience: Audience,
        changes: Changes | None,
        call: Callable[[Caller, str, Params], Awaitable[dict[str, Any]]],
        ask: Callable[[str, Params], Awaitable[dict[str, Any]]],
        may_say: Callable[[str, Params], bool],
        timeout_s: float,
    ) -> None:
        self._name = name
        self._audience = audience
        self._changes = changes
        self._call = call
        self._ask = ask
        self._may_say = may_say
        self._timeout_s = timeout_s
        self._subscribed: set[str] = set()
        # By address, while anybody holds it or waits for it.
        self._locks = WeakValueDictionary[str, asyncio.Lock]()
        self._level: str | None = None
        self._leveling = asyncio.Lock()

    @property
    def default_level(self) -> str | None:
        """From which level on clients hear logs that have asked for none; `None` where the upstream was told none."""
        return None if self._level is None else DEFAULT_LEVEL

    async def resume(self) -> None:
        """Ask for what was wanted before there was this session; what fails of it is logged, and nobody is told."""
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
        """Subscribe a client to a resource.

        Raises:
            MCPError: The upstream answers with an error.
            UpstreamError: It does not answer as it should.
        """
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
            except BaseException:  # whoever has given it up does not watch it either
                self._audience.unwatch(turn.client, uri)
                raise
            self._subscribed.add(uri)
            return result

    async def watch_all(self, turn: Caller, uris: Collection[str]) -> None:
        """Subscribe a client to many resources, as far as the upstream lets it."""
        if self._changes is None:
            for uri in uris:
                with suppress(MCPError, UpstreamError):
                    await self.watch(turn, {"uri": uri})
        elif uris:
            for uri in uris:
                self._audience.watch(turn.client, uri)
            # Once: the stream is opened anew for it.
            self._changes.watch(self._wanted)

    async def unwatch(self, turn: Caller, params: dict[str, Any]) -> dict[str, Any]:
        """Likewise, subscribe it no more.

        Raises:
            MCPError: The upstream answers with an error.
            UpstreamError: It does not answer as it should.
        """
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
        """Set what a client hears of logs; in 2026-07-28 each of its requests says so, and there is nothing to ask.

        Raises:
            MCPError: The upstream answers with an error.
            UpstreamError: It does not answer as it should.
        """
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
                # It writes no log.
                self._audience.levels.pop(client, None)
                self._level = before
                raise
            client.log_level = level
            return result

    async def settle_level(self) -> None:
        """Have an upstream that was told a log level say what clients want to hear by now."""
        async with self._leveling:
            await self._settle()

    async def narrow(self, left: list[str]) -> None:
        """A client has gone: the upstream need not tell what it alone wanted, such as these resources.

        One that does not answer goes on telling of it, which nobody hears.
        """
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
        """The resources of which clients are told."""
        said = "notifications/resources/updated"
        return {uri for uri in self._audience.watched if self._may_say(said, {"uri": uri})}

    def _in_turn(self, uri: str) -> asyncio.Lock:
        """Held while a resource is asked for, or given up."""
        return self._locks.setdefault(uri, asyncio.Lock())

    @asynccontextmanager
    async def _held(self, lock: asyncio.Lock, client: Client | None = None) -> AsyncGenerator[None]:
        """A lock is held meanwhile, for a client if it is still there once nobody else holds it.

        Raises:
            UpstreamTimeout: Another has held it for too long.
            UpstreamUnavailable: The client has gone meanwhile.
        """
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
        """Likewise, while no other level is being asked for."""
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
