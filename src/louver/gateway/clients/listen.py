"""Streams of `subscriptions/listen`: a 2026-07-28 client is notified of the changes that it names.

subscriptions/listen {"notifications": {"toolsListChanged": true}}
<- notifications/subscriptions/acknowledged, then each notifications/tools/list_changed, at last the result
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Any, Final

from louver.concurrency.backoff import Pace
from louver.concurrency.budget import BudgetByKey
from louver.limits import EXPIRY_LOOK_S
from louver.wire.jsonrpc.errors import INTERNAL_ERROR, JsonRpcError
from louver.wire.mcp import (
    PROMPTS_CHANGED,
    RESOURCE_UPDATED,
    RESOURCES_CHANGED,
    SUBSCRIPTION_ACKNOWLEDGED,
    SUBSCRIPTION_ID_META_KEY,
    TOOLS_CHANGED,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.catalogue.grants import PrincipalKey
    from louver.steps.request import Request
    from louver.wire.jsonrpc.codec import Params

MAX_LISTENERS = 1024
MAX_UNHEARD_EVENTS = 1024
"""Streams of `subscriptions/listen`, and changes that wait for one of them; over it the stream is ended."""

MAX_PEER_LISTENERS = 128
"""Streams of `subscriptions/listen` of one such client; a host needs one for each window."""

LIST_PACE_S = 0.002
"""Between two notifications of changed lists, in seconds: a thousand clients do not ask for a list all at once."""


logger = logging.getLogger(__name__)

_LISTS: Final = {
    TOOLS_CHANGED: "toolsListChanged",
    PROMPTS_CHANGED: "promptsListChanged",
    RESOURCES_CHANGED: "resourcesListChanged",
}


class _Stream:
    def __init__(self, filters: dict[str, Any], principal: PrincipalKey | None) -> None:
        self.principal = principal
        self.filters = {name: filters[name] for name in _LISTS.values() if filters.get(name)}
        self._uris = frozenset[str](filters.get("resourceSubscriptions") or ())
        if self._uris:
            self.filters["resourceSubscriptions"] = filters["resourceSubscriptions"]
        self.events = asyncio.Queue[tuple[str, dict[str, Any]] | None]()
        self.unheard_lists: set[str] = set()
        self.expiry: asyncio.TimerHandle | None = None

    def matches(self, method: str, params: dict[str, Any]) -> bool:
        return params.get("uri") in self._uris if method == RESOURCE_UPDATED else _LISTS[method] in self.filters


class ListenStreams:
    """The open streams; each ends with its request, with its token, or with all others."""

    def __init__(self) -> None:
        self.list_pace = Pace(LIST_PACE_S)  # of clients of both revisions
        self._streams: set[_Stream] = set()
        self._by_peer = BudgetByKey(MAX_PEER_LISTENERS)
        self._on_tools_changed: dict[object, Callable[[], None]] = {}

    @property
    def want_lists(self) -> bool:
        """Whether any of them wants to know of changed lists."""
        return any(not stream.filters.keys().isdisjoint(_LISTS.values()) for stream in self._streams)

    async def serve(self, request: Request) -> dict[str, Any]:
        """Send what matches until the stream is closed; returns the `_meta` of the result."""
        if len(self._streams) >= MAX_LISTENERS:
            raise JsonRpcError(INTERNAL_ERROR, f"at most {MAX_LISTENERS} clients listen at once")
        if not self._by_peer.take(request.peer):
            raise JsonRpcError(INTERNAL_ERROR, f"one client has at most {MAX_PEER_LISTENERS} such streams at once")
        stream = _Stream(request.params["notifications"], request.identity.key)
        meta = {SUBSCRIPTION_ID_META_KEY: request.id}
        notify = request.connection.notify
        self._streams.add(stream)
        try:
            if request.identity.expires is not None:
                self._end_when_expired(stream, request.identity.expires)
            acknowledged = {"notifications": stream.filters, "_meta": meta}
            await notify(SUBSCRIPTION_ACKNOWLEDGED, acknowledged, request.id)
            while (event := await stream.events.get()) is not None:
                method, params = event
                if method in _LISTS:
                    await self.list_pace.turn()
                    stream.unheard_lists.discard(method)
                await notify(method, {**params, "_meta": meta}, request.id)
        finally:
            self._streams.discard(stream)
            self._by_peer.give_back(request.peer)
            if stream.expiry is not None:
                stream.expiry.cancel()
        return meta

    def publish(self, method: str, params: Params, only: PrincipalKey | None = None) -> None:
        """Send a change to the clients that named it, of all principals or one; other notifications are ignored."""
        uri = (params or {}).get("uri")
        if method == RESOURCE_UPDATED and isinstance(uri, str):
            event = method, {"uri": uri}
        elif method in _LISTS:
            event = method, dict[str, Any]()
        else:
            return
        for stream in list(self._streams):
            if stream.matches(*event) and only in (None, stream.principal):
                self._put(stream, event)
        if method == TOOLS_CHANGED:
            for callback in list(self._on_tools_changed.values()):
                callback()

    def on_tools_changed(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call it whenever the list of tools changes; returns what ends that."""
        key = object()
        self._on_tools_changed[key] = callback

        def unsubscribe() -> None:
            self._on_tools_changed.pop(key, None)

        return unsubscribe

    def close(self) -> None:
        """End all streams, each with its result."""
        for stream in list(self._streams):
            self._end(stream)

    def _end_when_expired(self, stream: _Stream, expires: float) -> None:
        left_s = expires - time.time()
        if left_s <= 0:
            self._end(stream)
        else:
            wait_s = min(left_s, EXPIRY_LOOK_S)
            stream.expiry = asyncio.get_running_loop().call_later(wait_s, self._end_when_expired, stream, expires)

    def _put(self, stream: _Stream, event: tuple[str, dict[str, Any]]) -> None:
        method, _ = event
        if method in stream.unheard_lists:
            return
        if method in _LISTS:
            stream.unheard_lists.add(method)
        if stream.events.qsize() < MAX_UNHEARD_EVENTS:
            stream.events.put_nowait(event)
        else:
            # It lists everything again once it listens again, so nothing is lost.
            logger.warning("a client that listens does not read: its stream is ended")
            self._end(stream)

    def _end(self, stream: _Stream) -> None:
        self._streams.discard(stream)
        stream.events.put_nowait(None)
