"""What the tools of an upstream are: which can be called again, and which have become others.

::

    tools/list -> get_user "Read a user."                   first seen: remembered by its digest
    tools/list -> get_user "Read a user, and send it ..."   "warn": told in the log; this one counts from now on
                                                            "block": left out, and not called, until it is as it was

Whoever trusted a tool when it was first listed has not seen what it says now. It is remembered as long as the gateway
runs, whatever becomes of the connection; what is to hold for longer is pinned in a policy, by the same digest.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Literal

from louver.catalogue.policy.policy import definition_digest
from louver.concurrency.offload import by_turns
from louver.core.json import members
from louver.limits import MAX_KNOWN_DEFINITIONS, MAX_LOG_LINE

if TYPE_CHECKING:
    from collections.abc import Iterable

logger = logging.getLogger(__name__)

OnChange = Literal["warn", "block"]
"""What becomes of a tool that is defined otherwise than before."""


class Definitions:
    """The definitions of one upstream's tools, as they were first seen, or last where a change is only told.

    Args:
        upstream: Its name.
        on_change: What becomes of a tool that has changed.
    """

    def __init__(self, upstream: str, on_change: OnChange) -> None:
        self._upstream = upstream
        self._blocks = on_change == "block"
        self._known: dict[str, str] = {}
        self._safe: set[str] = set()

    async def learn(self, tools: Iterable[dict[str, Any]]) -> set[str]:
        """Look at tools that were listed; the names of those that are taken away."""
        blocked: set[str] = set()
        async for tool in by_turns(tools):
            if self._has_changed(tool) and self._blocks:
                blocked.add(tool["name"])
            else:
                self._note_safe(tool)
        return blocked

    def is_safe(self, tool: object) -> bool:
        """Whether a tool of this name says of itself that a second call does no harm."""
        return tool in self._safe

    def _note_safe(self, tool: dict[str, Any]) -> None:
        says = members(tool.get("annotations"))
        is_safe = says.get("readOnlyHint") is True or says.get("idempotentHint") is True
        (self._safe.add if is_safe else self._safe.discard)(tool["name"])

    def _has_changed(self, tool: dict[str, Any]) -> bool:
        name, digest = tool["name"], definition_digest(tool)
        known = self._known.get(name)
        if known is None and len(self._known) < MAX_KNOWN_DEFINITIONS:
            known = self._known[name] = digest
        if known == digest:
            return False
        if known is not None:
            becomes = ": it is blocked" if self._blocks else ""
            told = "upstream %r: tool %r is defined otherwise than before%s"
            logger.warning(told, self._upstream, name[:MAX_LOG_LINE], becomes)
            if not self._blocks:
                self._known[name] = digest
        return True
