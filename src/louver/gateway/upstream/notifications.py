"""Which clients get a notification of an upstream. In the stream of a call, its client gets it.

    progress, task status, log    the client, if only one can be meant; else logs go to all that want their level
    list_changed                  all clients, debounced
    resources/updated             all clients that watch the resource or a parent of it

Other notifications go to all clients. Each client's `outbox` keeps their order.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from louver.concurrency.background import Tasks
from louver.gateway.clients.client import UPDATED, wholes
from louver.gateway.upstream.list_cache import CHANGES
from louver.limits import CALM_S

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from logging import Logger

    from louver.gateway.clients.client import Caller, Client
    from louver.gateway.upstream.in_flight import Turns
    from louver.gateway.upstream.policy_guard import Guard
    from louver.gateway.upstream.subscribers import Audience
    from louver.jsonrpc.codec import Params


logger = logging.getLogger(__name__)

_LOG: Final = "notifications/message"
# They belong to one client's request, but name it by a token that another client may use too.
_OF_ONE_ALONE: Final = frozenset({"notifications/progress", "notifications/tasks/status"})


class Telling:
    def __init__(
        self,
        name: str,
        audience: Audience,
        turns: Turns,
        told: Callable[[str, Params], Awaitable[None]],  # gets them for 2026-07-28 clients
        changed: Callable[[str], None],  # called for each `list_changed`
        default_level: Callable[[], str | None],  # log level for clients that set none; `None`: every level
        guard: Guard | None,
    ) -> None:
        self._name = name
        self._audience = audience
        self._turns = turns
        self._told = told
        self._changed = changed
        self._default_level = default_level
        self._guard = guard
        self._storms = Storms(self._tell, logger)

    async def close(self) -> None:
        await self._storms.close()

    def may_say(self, method: str, params: Params) -> bool:
        """Whether the policy allows a message to reach clients."""
        return self._guard is None or self._guard.policed.may_say(method, (params or {}).get("uri"))

    def said(self, method: str, params: Params) -> Params:
        """The params that the policy allows."""
        return params if self._guard is None else self._guard.policed.said(method, params)

    async def heard(self, method: str, params: Params) -> None:
        if method in CHANGES:
            self._changed(method)
            await self._storms.put(method, params)
        else:
            await self._tell(method, params)

    async def heard_by(self, turn: Caller, method: str, params: Params) -> None:
        """Deliver a notification of a request; logs below its client's level are dropped."""
        if method in CHANGES:
            self._changed(method)
        if method != _LOG or turn.client.takes_level(params, self._default_level()):
            await turn.heard(method, params)
        # Caused by one request, but other clients have the list or resource too.
        if method in CHANGES:
            await self._storms.put(method, params, turn.client)
        elif method == UPDATED:
            await self._tell(method, params, turn.client)

    async def _tell(self, method: str, params: Params, knows: Client | None = None) -> None:
        """Deliver to all clients except the one that has it already."""
        if not self.may_say(method, params):
            return
        params = self.said(method, params)
        for said in self._as_watched(params) if method == UPDATED else (params,):
            await self._told(method, said)
        is_of_one = method in _OF_ONE_ALONE
        if (is_of_one or method == _LOG) and (turn := self._turns.meant) is not None:
            await self.heard_by(turn, method, params)
            return
        others = [client for client in self._audience.clients if client is not knows]
        if is_of_one and len(others) > 1:
            logger.info("upstream %r: %r is told to nobody: several clients could be meant", self._name, method)
            return
        for client in others:
            if client.takes(method, params, self._default_level()):
                client.hear(method, params)

    def _as_watched(self, params: Params) -> list[Params]:
        """The params, and a copy for each watched parent: 2026-07-28 streams match exact URIs."""
        uri = (params or {}).get("uri")
        watched = [each for each in wholes(uri) if each != uri and each in self._audience.watched]
        return [params, *({**(params or {}), "uri": each} for each in watched)]


class Storms:
    """Debounces the `list_changed` notifications of one session."""

    def __init__(self, tell: Callable[[str, Params, Client | None], Awaitable[None]], logger: Logger) -> None:
        self._tell = tell
        self._tasks = Tasks(logger)
        self._calming: set[str] = set()
        self._came: dict[str, Params] = {}

    async def put(self, method: str, params: Params, knows: Client | None = None) -> None:
        """Notify all clients but `knows`; within `CALM_S` of another change, notify all clients later."""
        if method in self._calming:
            self._came[method] = params
            return
        self._calming.add(method)
        self._tasks.start(self._calm(method))
        await self._tell(method, params, knows)

    async def close(self) -> None:
        await self._tasks.close()

    async def _calm(self, method: str) -> None:
        try:
            await asyncio.sleep(CALM_S)
            while method in self._came:
                await self._tell(method, self._came.pop(method), None)
                await asyncio.sleep(CALM_S)
        finally:
            self._calming.discard(method)
