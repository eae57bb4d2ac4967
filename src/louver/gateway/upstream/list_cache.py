"""The lists of an upstream, kept as it gave them while that is right.

A list is kept where the upstream tells when it changes, or says for how long it stays::

    {"capabilities": {"tools": {"listChanged": true}}}    until notifications/tools/list_changed
    {"tools": [...], "ttlMs": 60000}                      for a minute

Of a list of pages each is kept that goes on from the one before, which is kept: a client can make up any cursor, and
many servers ignore those.
"""

from __future__ import annotations

import logging
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from louver.concurrency.offload import by_turns
from louver.core.json import is_array, is_object
from louver.core.size import is_heavier
from louver.limits import MAX_LOG_LINE, MAX_TOOL_BYTES

if TYPE_CHECKING:
    from collections.abc import Container

    from louver.jsonrpc.codec import Params

logger = logging.getLogger(__name__)

TOOLS_CHANGED: Final = "notifications/tools/list_changed"

_LISTS: Final = {
    "tools/list": ("tools", TOOLS_CHANGED),
    "prompts/list": ("prompts", "notifications/prompts/list_changed"),
    "resources/list": ("resources", "notifications/resources/list_changed"),
    "resources/templates/list": ("resources", "notifications/resources/list_changed"),
}
"""The methods, each with the capability that goes with it and how a change is told."""

CHANGES: Final = frozenset(told for _, told in _LISTS.values())
"""The notifications of a change."""

CHANGING: Final = frozenset(capability for capability, _ in _LISTS.values())
"""The capabilities whose lists can change."""


def change_of(method: str) -> str | None:
    """How a change of a list is told, if it can be."""
    return _LISTS[method][1] if method in _LISTS else None


def changes_with(capabilities: Container[str]) -> frozenset[str]:
    """How it is told that all lists have changed of an upstream with these capabilities; tools some have unsaid."""
    return frozenset(told for needed, told in _LISTS.values() if needed in capabilities) | {TOOLS_CHANGED}


_Pages = dict[str | None, tuple[dict[str, Any], float, float]]
"""By cursor: a page, since when it is kept, and for how many milliseconds."""


class Lists:
    """The kept lists of one session."""

    def __init__(self) -> None:
        self.told_of = frozenset[str]()
        """The capabilities of which the upstream tells changes."""
        # By method and cursor, each page after the one that it goes on from.
        self._kept: dict[str, _Pages] = {}
        self._changes = 0

    @property
    def state(self) -> int:
        """Grows with each change: a list that was asked for before is not kept."""
        return self._changes

    def find(self, method: str, params: Params) -> dict[str, Any] | None:
        """The kept answer to a request for a list; `None` if there is none, or if it asks for more than a page."""
        if (key := _key(method, params)) is None or (kept := self._kept.get(key[0], {}).get(key[1])) is None:
            return None
        result, since, ttl_ms = kept
        return result if (monotonic() - since) * 1000 < ttl_ms else None

    def keep(self, method: str, params: Params, result: dict[str, Any], state: int) -> None:
        """Keep an answer, if that is right; `state` is what it was when the list was asked for."""
        key = _key(method, params)
        if key is None or state != self._changes:
            return
        ttl_ms = result.get("ttlMs")
        if _LISTS[method][0] in self.told_of:
            ttl_ms = float("inf")
        # Compared alone: it may be an integer that no float is as large as.
        if isinstance(ttl_ms, int | float) and ttl_ms > 0:
            pages = self._pages_before(*key)
            if key[1] is None or (pages and next(reversed(pages.values()))[0].get("nextCursor") == key[1]):
                # Without the text that it was read from.
                pages[key[1]] = (dict(result), monotonic(), ttl_ms)

    def forget(self, told: str) -> None:
        """Forget what a notification says has changed."""
        self._changes += 1
        self._kept = {method: kept for method, kept in self._kept.items() if _LISTS[method][1] != told}

    def _pages_before(self, method: str, cursor: str | None) -> _Pages:
        """The kept pages that come before one: of what came after it nobody knows whether it still does."""
        pages = self._kept.setdefault(method, {})
        while cursor in pages:
            pages.popitem()
        return pages


_OPTIONAL: Final = {"title": str, "description": str, "outputSchema": dict, "annotations": dict, "_meta": dict}
"""What a tool may have, and of which kind it is then."""


async def without_bad_tools(result: dict[str, Any]) -> dict[str, Any]:
    """A list of tools without those that are none, that are too large, or that bear a name that came before."""
    listed: Any = result.get("tools")
    tools: dict[str, dict[str, Any]] = {}
    async for tool in by_turns(listed if is_array(listed) else []):
        if not is_object(tool) or not isinstance(tool.get("name"), str) or not is_object(tool.get("inputSchema")):
            logger.error("a listed tool is left out: it has no name, or no input schema")
        elif not isinstance(tool["inputSchema"].get("properties") or None, dict | None):
            # In PHP an empty list stands for no members.
            logger.error("tool %r is left out: its properties are not as MCP has them", tool["name"][:MAX_LOG_LINE])
        elif wrong := [key for key, kind in _OPTIONAL.items() if not isinstance(tool.get(key), kind | None)]:
            logger.error("tool %r is left out: its %s is not as MCP has it", tool["name"][:MAX_LOG_LINE], wrong[0])
        elif is_heavier({**tool, "icons": None}, MAX_TOOL_BYTES):
            logger.error("tool %r is left out: it has over some %d bytes", tool["name"][:MAX_LOG_LINE], MAX_TOOL_BYTES)
        elif tools.setdefault(tool["name"], tool) is not tool:
            logger.error("tool %r is listed twice: the second is left out", tool["name"][:MAX_LOG_LINE])
    good = list(tools.values())
    return result if good == listed else {**result, "tools": good}


def _key(method: str, params: Params) -> tuple[str, str | None] | None:
    said = params or {}
    if method not in _LISTS or not said.keys() <= {"cursor", "_meta"}:
        return None
    return method, said.get("cursor")
