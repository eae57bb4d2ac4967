"""What changes at an upstream of 2026-07-28, which tells it in the stream of a request that stays open.

::

    -> subscriptions/listen {"notifications": {"toolsListChanged": true, "resourceSubscriptions": ["file:///a"]}}
    <- notifications/subscriptions/acknowledged
    <- notifications/tools/list_changed, notifications/resources/updated, ...

One stream serves all clients of a session. It is opened anew when other resources are watched, and when it ends.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from mcp import MCPError
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY

from louver.core.json import members
from louver.errors import UpstreamError
from louver.gateway.eras import enveloped
from louver.gateway.link import Call, unasked
from louver.limits import MAX_BACKOFF_S, MIN_BACKOFF_S

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from louver.gateway.link import Link, Params

ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
ENDED: Final = "stream ended"
"""Told in place of a notification when changes are no longer heard of."""


class Changes:
    """The stream of one session.

    Args:
        link: The connection.
        envelope: Who asks.
        lists: The capabilities whose lists can change: `tools`, `prompts`, `resources`.
        told: Gets each notification, and `ENDED`.
    """

    def __init__(
        self,
        link: Link,
        envelope: dict[str, Any],
        lists: frozenset[str],
        told: Callable[[str, Params], Awaitable[None]],
    ) -> None:
        self._link = link
        self._envelope = envelope
        self._lists = lists
        self._told = told
        self._task: asyncio.Task[None] | None = None
        self.watch(set())

    def watch(self, uris: set[str]) -> None:
        """Hear of these resources from now on."""
        self.stop()
        wanted: dict[str, Any] = {f"{name}ListChanged": True for name in sorted(self._lists)}
        if uris:
            wanted["resourceSubscriptions"] = sorted(uris)
        if wanted:
            self._task = asyncio.create_task(self._listen(wanted))

    def stop(self) -> None:
        """Hear nothing any more."""
        if self._task is not None:
            self._task.cancel()

    async def _listen(self, wanted: dict[str, Any]) -> None:
        params = enveloped({"notifications": wanted}, self._envelope)
        wait_s = MIN_BACKOFF_S
        while True:
            try:
                await self._link.call(Call("subscriptions/listen", params, self._heard, unasked))
            except (MCPError, UpstreamError):
                # It knows no such request, or is gone: then others will notice.
                return
            finally:
                await self._told(ENDED, None)
            # A server that ends the stream at once is not asked again at once.
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, MAX_BACKOFF_S)

    async def _heard(self, method: str, params: Params) -> None:
        said = params or {}
        meta = {key: value for key, value in members(said.get("_meta")).items() if key != SUBSCRIPTION_ID_META_KEY}
        rest = {key: value for key, value in said.items() if key != "_meta"}
        await self._told(method, {**rest, "_meta": meta} if meta else rest or None)
