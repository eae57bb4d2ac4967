"""Who hears what an upstream says over one session.

    notifications/progress in the stream of A's call     A
    notifications/progress beside calls                  A, if it can be of A's requests alone; else nobody
    notifications/message                                likewise; else all who want that level
    notifications/tools/list_changed                     all, wherever it is said, and of a storm few
    notifications/resources/updated                      all who watch that, or what it is a part of
    all else                                             A, in the stream of A's call; else all

What a policy lets through is said by its guard. Each client hears it in order, as fast as it reads: `outbox.py`.
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
_OF_ONE_ALONE: Final = frozenset({"notifications/progress", "notifications/tasks/status"})
"""What is of one client's request, and says of whose only by a name that another may have given too."""


class Telling:
    """Tells clients.

    Args:
        name: The upstream's name.
        audience: Who is served over the session.
        turns: Whose requests are open.
        told: Gets every notification that is not of one request alone, beside who is served.
        changed: Is told of each that a list has changed.
        default_level: From which level on clients hear logs that have asked for none; `None` if from their first.
        guard: Says what reaches clients, if the upstream is under a policy.
    """

    def __init__(
        self,
        name: str,
        audience: Audience,
        turns: Turns,
        told: Callable[[str, Params], Awaitable[None]],
        changed: Callable[[str], None],
        default_level: Callable[[], str | None],
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
        """Tell nothing any more."""
        await self._storms.close()

    def may_say(self, method: str, params: Params) -> bool:
        """Whether what the upstream says or asks reaches clients at all."""
        return self._guard is None or self._guard.policed.may_say(method, (params or {}).get("uri"))

    def said(self, method: str, params: Params) -> Params:
        """What of it reaches them."""
        return params if self._guard is None else self._guard.policed.said(method, params)

    async def heard(self, method: str, params: Params) -> None:
        """What the upstream says that no request belongs to, as far as it tells."""
        if method in CHANGES:
            self._changed(method)
            await self._storms.put(method, params)
        else:
            await self._tell(method, params)

    async def heard_by(self, turn: Caller, method: str, params: Params) -> None:
        """What it says that belongs to a request, told without what it says only because of others."""
        if method in CHANGES:
            self._changed(method)
        if method != _LOG or turn.client.takes_level(params, self._default_level()):
            await turn.heard(method, params)
        # Said because of one request, but of what others have seen too.
        if method in CHANGES:
            await self._storms.put(method, params, turn.client)
        elif method == UPDATED:
            await self._tell(method, params, turn.client)

    async def _tell(self, method: str, params: Params, knows: Client | None = None) -> None:
        """Tell everybody but who knows already."""
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
        """What is said of a resource, also as of what it is a part of: streams of 2026-07-28 go by the address."""
        uri = (params or {}).get("uri")
        watched = [each for each in wholes(uri) if each != uri and each in self._audience.watched]
        return [params, *({**(params or {}), "uri": each} for each in watched)]


class Storms:
    """The changes of one session.

    Args:
        tell: Is told as few, each with who knows of it already.
        logger: Hears of what could not be told.
    """

    def __init__(self, tell: Callable[[str, Params, Client | None], Awaitable[None]], logger: Logger) -> None:
        self._tell = tell
        self._tasks = Tasks(logger)
        self._calming: set[str] = set()
        self._came: dict[str, Params] = {}

    async def put(self, method: str, params: Params, knows: Client | None = None) -> None:
        """Tell of a change, now or soon: then also whoever knows of it."""
        if method in self._calming:
            self._came[method] = params
            return
        self._calming.add(method)
        self._tasks.start(self._calm(method))
        await self._tell(method, params, knows)

    async def close(self) -> None:
        """Tell nothing any more."""
        await self._tasks.close()

    async def _calm(self, method: str) -> None:
        try:
            await asyncio.sleep(CALM_S)
            while method in self._came:
                await self._tell(method, self._came.pop(method), None)
                await asyncio.sleep(CALM_S)
        finally:
            self._calming.discard(method)
