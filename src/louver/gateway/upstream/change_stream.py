"""What changes at an upstream of 2026-07-28, which tells it in the stream of a request that stays open.

::

    -> subscriptions/listen {"notifications": {"toolsListChanged": true, "resourceSubscriptions": ["file:///a"]}}
    <- notifications/subscriptions/acknowledged
    <- notifications/tools/list_changed, notifications/resources/updated, ...

One stream serves all clients of a session. It is opened anew when other resources are watched, and when it ends or
breaks: over HTTP an upstream may start anew without a word. Each time in a row that is later.
"""

from __future__ import annotations

import asyncio
import logging
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from mcp import MCPError
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY

from louver.core.json import members
from louver.errors import UpstreamError
from louver.gateway.clients.revisions import enveloped
from louver.gateway.transports.transport import Call, unasked
from louver.limits import MAX_BACKOFF_S, MIN_BACKOFF_S

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from louver.gateway.transports.transport import Link
    from louver.jsonrpc.codec import Params

logger = logging.getLogger(__name__)

ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
ENDED: Final = "stream ended"
"""Told in place of a notification when changes are no longer heard of."""


class Changes:
    """The stream of one session.

    Args:
        name: The upstream's name.
        link: The connection.
        envelope: Who asks.
        lists: The capabilities whose lists can change: `tools`, `prompts`, `resources`.
        told: Gets each notification, and `ENDED`.
    """

    def __init__(
        self,
        name: str,
        link: Link,
        envelope: dict[str, Any],
        lists: frozenset[str],
        told: Callable[[str, Params], Awaitable[None]],
    ) -> None:
        self._name = name
        self._link = link
        self._envelope = envelope
        self._lists = lists
        self._told = told
        self._is_known = False
        self._wanted: dict[str, Any] = {}
        self._task: asyncio.Task[None] | None = None

    def watch(self, uris: set[str]) -> None:
        """Hear of these resources from now on; a stream in which they are heard of goes on."""
        wanted: dict[str, Any] = {f"{name}ListChanged": True for name in sorted(self._lists)}
        if uris:
            wanted["resourceSubscriptions"] = sorted(uris)
        if wanted == self._wanted and self._task is not None and not self._task.done():
            return
        self.stop()
        self._wanted = wanted
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
            began = monotonic()
            try:
                await self._link.call(Call("subscriptions/listen", params, self._heard, unasked))
            except (MCPError, UpstreamError) as error:
                if wait_s == MIN_BACKOFF_S:
                    logger.warning("upstream %r tells of no changes: %s", self._name, _reason(error))
                if not self._is_known and _is_refusal(error):
                    return
            finally:
                await self._told(ENDED, None)
            # A server that ends the stream at once is not asked again at once.
            wait_s = MIN_BACKOFF_S if monotonic() - began > MAX_BACKOFF_S else wait_s
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, MAX_BACKOFF_S)

    async def _heard(self, method: str, params: Params) -> None:
        self._is_known = True
        said = params or {}
        meta = {key: value for key, value in members(said.get("_meta")).items() if key != SUBSCRIPTION_ID_META_KEY}
        rest = {key: value for key, value in said.items() if key != "_meta"}
        await self._told(method, {**rest, "_meta": meta} if meta else rest or None)


def _is_refusal(error: MCPError | UpstreamError) -> bool:
    """Whether an upstream says that it knows no such request."""
    return isinstance(error, MCPError) or error.fields.get("status", 500) < 500


def _reason(error: MCPError | UpstreamError) -> str:
    return error.message if isinstance(error, UpstreamError) else f"error {error.code}"
