"""What the replicas of a gateway notify each other of, in the state that they share.

changed       a list of a server has changed
configured    the version of the configuration that a replica has read, and its `generation`; one that differs for long
              is logged, and whose generation is lower for long is not ready, while a replica has a higher one
"""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import suppress
from functools import partial
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from louver.concurrency.background import BackgroundTasks
from louver.concurrency.offload import in_thread
from louver.errors import StateUnavailable
from louver.limits import MAX_LOG_LINE, TOOL_PINS_S
from louver.wire.mcp import LIST_CHANGED_METHODS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from louver.gateway.back.fan_out.notifications import PassOn
    from louver.gateway.back.lists.tool_pins import SharedPins
    from louver.gateway.back.upstream import Upstream
    from louver.gateway.config.model import Config
    from louver.team.state.shared import SharedState

CONFIG_SETTLED_S = 120.0
"""Time after which it is logged that replicas differ in configuration, in seconds: a new file reaches all within it."""

GENERATION_S = 15.0
"""How often a replica announces its generation, in seconds."""

MISSED_GENERATIONS = 3
"""Announcements in turn that do not come until a replica counts as gone."""


logger = logging.getLogger(__name__)

_CHANGED: Final = "changed"
"""A message to the other replicas: the server's id, the notification, and whether one call alone reported it."""

_CONFIGURED: Final = "configured"
"""A message to the other replicas: the version of the configuration here, and its generation."""


class ReplicaNews:
    def __init__(self, state: SharedState, upstreams: Callable[[], Mapping[str, Upstream]]) -> None:
        self._state = state
        self._upstreams = upstreams
        self._server_ids: dict[str, str] = {}  # by name
        self._deliveries = BackgroundTasks(logger)
        self._version = ""
        self._version_elsewhere = ""
        self._comparing: asyncio.Task[None] | None = None
        self._generation: int | None = None
        self._announcing: asyncio.TimerHandle | None = None
        self._newer_since = self._newer_at = -inf
        state.on(_CHANGED, self._on_changed)
        state.on(_CONFIGURED, self._on_configured)

    def reconfigure(self, config: Config) -> None:
        if self._version != config.version:
            self._version = config.version
            self._generation = config.generation
            self._newer_at = -inf
            self._announce()
        self._server_ids = {each.name: each.server_id for each in config.upstreams}

    def pass_on(self, upstream: str) -> PassOn:
        return partial(self._pass_on, upstream)

    def pins(self, server_id: str) -> SharedPins:
        return _StoredPins(self._state, f"pins:{server_id}")

    @property
    def is_outdated(self) -> bool:
        return self._is_behind() and monotonic() - self._newer_since > CONFIG_SETTLED_S

    def _is_behind(self) -> bool:
        """Whether a replica with a higher generation was heard of lately."""
        return monotonic() - self._newer_at <= MISSED_GENERATIONS * GENERATION_S

    def listen(self) -> None:
        self._state.listen(self._on_connected)

    async def close(self) -> None:
        if self._comparing is not None:
            self._comparing.cancel()
        if self._announcing is not None:
            self._announcing.cancel()
        await self._deliveries.close()

    def _pass_on(self, upstream: str, method: str, *, in_call: bool) -> None:
        if (server_id := self._server_ids.get(upstream)) is not None:
            self._state.publish(_CHANGED, server_id, method, in_call)

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
        if self._state.is_listening:
            self._state.publish(_CONFIGURED, self._version, self._generation)
            if self._announcing is not None:
                self._announcing.cancel()
            if self._generation is not None:
                self._announcing = asyncio.get_running_loop().call_later(GENERATION_S, self._announce)

    def _on_configured(self, version: str, generation: int | None = None) -> None:
        if generation is not None and generation > (self._generation or 0):
            self._newer_since = self._newer_since if self._is_behind() else monotonic()
            self._newer_at = monotonic()
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
