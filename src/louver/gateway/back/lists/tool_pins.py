"""Rug pull detection: which tools have changed since they were first listed. Also, which are safe to call again.

    tools/list -> get_user "Read a user."                   first listed: its digest is remembered
    tools/list -> get_user "Read a user, and send it ..."   "warn": logged; the new definition counts from now on
                                                            "block": left out and refused until it is restored

Digests last as long as the gateway, across reconnects; those in a store that replicas share, for longer. A policy can
pin the same digest for good.
"""

from __future__ import annotations

import logging
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

from louver.catalogue.entry import definition_digest
from louver.concurrency.offload import yielding
from louver.core.json import digest, members
from louver.limits import MAX_LOG_LINE, TOOL_PINS_RENEWED_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from louver.gateway.config.model import OnChange

MAX_KNOWN_DEFINITIONS = 100_000
"""Pinned tools of an upstream: 20 MB. Changes of further tools go unnoticed, or these are blocked where changes are."""


logger = logging.getLogger(__name__)


class SharedPins(Protocol):
    """Digests of an upstream's tools, by digests of their names, in a store that replicas share."""

    async def get(self) -> Mapping[str, str] | None:
        """The digests; `None` if the store is away."""
        ...

    async def put(self, digests: Mapping[str, str]) -> None: ...


class ToolPins:
    def __init__(self, upstream: str, on_change: OnChange, shared: SharedPins | None = None) -> None:
        self._upstream = upstream
        self.blocks = on_change == "block"
        self._shared = shared
        self._renew_at = 0.0
        self._digests: dict[str, str] = {}  # by the digest of the tool's name
        self._retryable: set[str] = set()

    async def learn(self, tools: Iterable[dict[str, Any]]) -> set[str]:
        """Record listed tools; return the names of blocked ones."""
        shared = None if self._shared is None else await self._shared.get()
        # What any replica was listed first counts everywhere.
        self._digests.update(shared or {})
        blocked: set[str] = set()
        async for tool in yielding(tools):
            if self._has_changed(tool) and self.blocks:
                blocked.add(tool["name"])
            else:
                self._record_retryable(tool)
        if self._shared is not None and shared is not None:
            await self._share(self._shared, shared)
        return blocked

    async def pin(self, tools: Iterable[dict[str, Any]]) -> None:
        """Record tools that are listed before their upstream answers; whether they are retryable, it has to say."""
        async for tool in yielding(tools):
            if (key := digest(tool["name"])) not in self._digests and len(self._digests) < MAX_KNOWN_DEFINITIONS:
                self._digests[key] = definition_digest(tool)

    def is_retryable(self, tool: object) -> bool:
        """Whether a tool declares that a second call does no harm."""
        return tool in self._retryable

    async def _share(self, store: SharedPins, before: Mapping[str, str]) -> None:
        if self._digests != before or monotonic() >= self._renew_at:
            self._renew_at = monotonic() + TOOL_PINS_RENEWED_S
            await store.put(self._digests)

    def _record_retryable(self, tool: dict[str, Any]) -> None:
        annotations = members(tool.get("annotations"))
        is_retryable = annotations.get("readOnlyHint") is True or annotations.get("idempotentHint") is True
        (self._retryable.add if is_retryable else self._retryable.discard)(tool["name"])

    def _has_changed(self, tool: dict[str, Any]) -> bool:
        key, definition = digest(tool["name"]), definition_digest(tool)
        known = self._digests.get(key)
        if known is None and len(self._digests) < MAX_KNOWN_DEFINITIONS:
            known = self._digests[key] = definition
        if known == definition:
            return False
        if known is not None:
            suffix = ": it is blocked" if self.blocks else ""
            message = "upstream %r: tool %r is defined otherwise than before%s"
            logger.warning(message, self._upstream, tool["name"][:MAX_LOG_LINE], suffix)
            if not self.blocks:
                self._digests[key] = definition
        return True
