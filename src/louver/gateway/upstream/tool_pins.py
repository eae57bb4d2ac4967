"""Rug pull detection: which tools have changed since they were first listed. Also, which are safe to call again.

    tools/list -> get_user "Read a user."                   first listed: its digest is remembered
    tools/list -> get_user "Read a user, and send it ..."   "warn": logged; the new definition counts from now on
                                                            "block": left out and refused until it is restored

Digests last as long as the gateway, across reconnects. A policy can pin the same digest for longer.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Literal

from louver.catalogue.policy.policy import definition_digest
from louver.concurrency.offload import yielding
from louver.core.json import members
from louver.limits import MAX_KNOWN_DEFINITIONS, MAX_LOG_LINE

if TYPE_CHECKING:
    from collections.abc import Iterable

logger = logging.getLogger(__name__)

# What happens to a tool that changed.
OnChange = Literal["warn", "block"]


class ToolPins:
    def __init__(self, upstream: str, on_change: OnChange) -> None:
        self._upstream = upstream
        self._blocks = on_change == "block"
        self._digests: dict[str, str] = {}
        self._retryable: set[str] = set()

    async def learn(self, tools: Iterable[dict[str, Any]]) -> set[str]:
        """Record listed tools; return the names of blocked ones."""
        blocked: set[str] = set()
        async for tool in yielding(tools):
            if self._has_changed(tool) and self._blocks:
                blocked.add(tool["name"])
            else:
                self._record_retryable(tool)
        return blocked

    async def pin(self, tools: Iterable[dict[str, Any]]) -> None:
        """Record tools that are listed before their upstream answers; whether they are retryable, it has to say."""
        async for tool in yielding(tools):
            if tool["name"] not in self._digests and len(self._digests) < MAX_KNOWN_DEFINITIONS:
                self._digests[tool["name"]] = definition_digest(tool)

    def is_retryable(self, tool: object) -> bool:
        """Whether a tool declares that a second call does no harm."""
        return tool in self._retryable

    def _record_retryable(self, tool: dict[str, Any]) -> None:
        annotations = members(tool.get("annotations"))
        is_retryable = annotations.get("readOnlyHint") is True or annotations.get("idempotentHint") is True
        (self._retryable.add if is_retryable else self._retryable.discard)(tool["name"])

    def _has_changed(self, tool: dict[str, Any]) -> bool:
        name, digest = tool["name"], definition_digest(tool)
        known = self._digests.get(name)
        if known is None and len(self._digests) < MAX_KNOWN_DEFINITIONS:
            known = self._digests[name] = digest
        if known == digest:
            return False
        if known is not None:
            suffix = ": it is blocked" if self._blocks else ""
            message = "upstream %r: tool %r is defined otherwise than before%s"
            logger.warning(message, self._upstream, name[:MAX_LOG_LINE], suffix)
            if not self._blocks:
                self._digests[name] = digest
        return True
