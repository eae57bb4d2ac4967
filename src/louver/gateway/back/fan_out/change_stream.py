"""The `subscriptions/listen` stream of a session with a 2026-07-28 upstream, for all its clients.

    -> subscriptions/listen {"notifications": {"toolsListChanged": true, "resourceSubscriptions": ["file:///a"]}}
    <- notifications/subscriptions/acknowledged
    <- notifications/tools/list_changed, notifications/resources/updated, ...

It reopens when other resources are watched and, with backoff, when it ends: an HTTP upstream may restart silently.
"""

from __future__ import annotations

import asyncio
import logging
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from louver.core.json import members
from louver.errors import UpstreamError
from louver.gateway.back.transports.transport import Call, refuse_request
from louver.gateway.clients.revisions import with_envelope
from louver.limits import MAX_BACKOFF_S, MIN_BACKOFF_S
from louver.wire.jsonrpc.errors import JsonRpcError
from louver.wire.mcp import SUBSCRIPTION_ID_META_KEY

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from louver.gateway.back.transports.transport import Transport
    from louver.wire.jsonrpc.codec import Params

logger = logging.getLogger(__name__)

# Passed in place of a notification method when the stream has ended.
ENDED: Final = "stream ended"


class ChangeStream:
    def __init__(
        self,
        name: str,
        transport: Transport,
        envelope: dict[str, Any],
        lists: frozenset[str],  # capabilities with changing lists: tools, prompts, resources
        on_notification: Callable[[str, Params], Awaitable[None]],  # gets each notification, and `ENDED`
    ) -> None:
        self._name = name
        self._transport = transport
        self._envelope = envelope
        self._lists = lists
        self._on_notification = on_notification
        self._is_supported = False
        self._wanted: dict[str, Any] = {}
        self._task: asyncio.Task[None] | None = None

    def watch(self, uris: set[str]) -> None:
        """Watch exactly these resources; a stream that already does so stays open."""
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
        if self._task is not None:
            self._task.cancel()

    async def _listen(self, wanted: dict[str, Any]) -> None:
        params = with_envelope({"notifications": wanted}, self._envelope)
        wait_s = MIN_BACKOFF_S
        while True:
            began = monotonic()
            try:
                await self._transport.call(Call("subscriptions/listen", params, self._receive, refuse_request))
            except (JsonRpcError, UpstreamError) as error:
                if wait_s == MIN_BACKOFF_S:
                    logger.warning("upstream %r tells of no changes: %s", self._name, _reason(error))
                if not self._is_supported and _is_refusal(error):
                    return
            finally:
                await self._on_notification(ENDED, None)
            # The backoff starts over only after a stream that lasted.
            wait_s = MIN_BACKOFF_S if monotonic() - began > MAX_BACKOFF_S else wait_s
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, MAX_BACKOFF_S)

    async def _receive(self, method: str, params: Params) -> None:
        self._is_supported = True
        params_dict = params or {}
        meta = {
            key: value for key, value in members(params_dict.get("_meta")).items() if key != SUBSCRIPTION_ID_META_KEY
        }
        rest = {key: value for key, value in params_dict.items() if key != "_meta"}
        await self._on_notification(method, {**rest, "_meta": meta} if meta else rest or None)


def _is_refusal(error: JsonRpcError | UpstreamError) -> bool:
    """Whether the upstream does not know the request."""
    return isinstance(error, JsonRpcError) or error.fields.get("status", 500) < 500


def _reason(error: JsonRpcError | UpstreamError) -> str:
    return error.message if isinstance(error, UpstreamError) else f"error {error.code}"
