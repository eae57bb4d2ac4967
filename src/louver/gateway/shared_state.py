"""The state that a gateway shares with its replicas, and what they notify each other of.

changed       a list of a server has changed
configured    the version of the configuration that a replica has read; one that differs for long is logged
"""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from louver.concurrency.background import BackgroundTasks
from louver.concurrency.offload import in_thread
from louver.errors import StateUnavailable
from louver.gateway.upstream.list_cache import LIST_CHANGED_METHODS
from louver.limits import CONFIG_SETTLED_S, MAX_LOG_LINE, TOOL_PINS_S
from louver.state.shared import SharedState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from louver.gateway.config.model import Config
    from louver.gateway.upstream.notifications import PassOn
    from louver.gateway.upstream.tool_pins import SharedPins
    from louver.gateway.upstream.upstream import Upstream
    from louver.state.url import StateUrl

logger = logging.getLogger(__name__)

_CHANGED: Final = "changed"
"""A message to the other replicas: the server's id, the notification, and whether one call alone reported it."""

_CONFIGURED: Final = "configured"
"""A message to the other replicas: the version of the configuration here."""


class GatewayState:
    """The stores of a configuration: that of `state`, and another one that results may be kept in."""

    def __init__(self, config: Config, upstreams: Callable[[], Mapping[str, Upstream]]) -> None:
        self._keys = config.keys
        self._upstreams = upstreams
        self._server_ids: dict[str, str] = {}  # by name
        self._stores: dict[StateUrl, SharedState] = {}
        self._deliveries = BackgroundTasks(logger)
        self._version = ""
        self._version_elsewhere = ""
        self._comparing: asyncio.Task[None] | None = None
        self.shared = None if config.state is None else self.open(config.state)
        if self.shared is not None:
            self.shared.on(_CHANGED, self._on_changed)
            self.shared.on(_CONFIGURED, self._on_configured)

    def open(self, url: StateUrl) -> SharedState:
        """The store at a URL, one for all that is in it."""
        if url not in self._stores:
            self._stores[url] = SharedState(url, self._keys)
        return self._stores[url]

    def reconfigure(self, config: Config) -> None:
        self._keys = config.keys
        if self._version != config.version:
            self._version = config.version
            self._announce()
        self._server_ids = {each.name: each.server_id for each in config.upstreams}
        for store in self._stores.values():
            store.use_keys(config.keys)

    def pass_on(self, upstream: str) -> PassOn | None:
        """What notifies other replicas of the changed lists of an upstream."""
        return None if self.shared is None else partial(self._pass_on, self.shared, upstream)

    def pins(self, server_id: str) -> SharedPins | None:
        """The digests of a server's tools, as all replicas were listed them."""
        return None if self.shared is None else _StoredPins(self.shared, f"pins:{server_id}")

    def listen(self) -> None:
        if self.shared is not None:
            self.shared.listen(self._on_connected)

    async def close(self) -> None:
        if self._comparing is not None:
            self._comparing.cancel()
        await self._deliveries.close()
        await asyncio.gather(*(store.close() for store in self._stores.values()))

    def _pass_on(self, state: SharedState, upstream: str, method: str, *, in_call: bool) -> None:
        if (server_id := self._server_ids.get(upstream)) is not None:
            state.publish(_CHANGED, server_id, method, in_call)

    def _on_changed(self, server_id: Any, method: Any, in_call: Any) -> None:
        name = next((name for name, each in self._server_ids.items() if each == server_id), None)
        if name is not None and method in LIST_CHANGED_METHODS:
            upstream = self._upstreams()[name]
            self._deliveries.start(upstream.on_change_elsewhere(method, in_call=in_call is True))

    def _on_connected(self) -> None:
        self._announce()
        # What has changed before was not heard.
        for upstream in self._upstreams().values():
            for method in LIST_CHANGED_METHODS:
                self._deliveries.start(upstream.on_change_elsewhere(method, in_call=False))

    def _announce(self) -> None:
        if self.shared is not None and self.shared.is_listening:
            self.shared.publish(_CONFIGURED, self._version)

    def _on_configured(self, version: str) -> None:
        if version == self._version_elsewhere:
            return
        self._version_elsewhere = version
        if version != self._version:
            # A replica that has just started has not heard of the others.
            self._announce()
            if self._comparing is None or self._comparing.done():
                self._comparing = asyncio.create_task(self._compare())

    async def _compare(self) -> None:
        await asyncio.sleep(CONFIG_SETTLED_S)
        if self._version_elsewhere != self._version:
            message = "another replica has another configuration or policy: version %s, here %s"
            logger.warning(message, self._version_elsewhere[:MAX_LOG_LINE], self._version)


class _StoredPins:
    def __init__(self, state: SharedState, key: str) -> None:
        self._state = state
        self._key = key

    async def get(self) -> dict[str, str] | None:
        try:
            stored = await self._state.get(self._key)
        except StateUnavailable:
            return None
        return {} if stored is None else await in_thread(lambda: json.loads(stored))

    async def put(self, digests: Mapping[str, str]) -> None:
        with suppress(StateUnavailable):
            await self._state.put(self._key, json.dumps(digests).encode(), TOOL_PINS_S)
