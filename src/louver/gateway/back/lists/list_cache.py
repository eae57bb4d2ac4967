"""Cached lists of an upstream, unchanged, for as long as they are valid.

    {"capabilities": {"tools": {"listChanged": true}}}    until notifications/tools/list_changed
    {"tools": [...], "ttlMs": 60000}                      for a minute

A page is cached only if it follows the last cached page: clients can invent cursors, and many servers ignore cursors.
"""

from __future__ import annotations

import logging
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from louver.concurrency.offload import yielding
from louver.core.json import is_array, is_object
from louver.core.size import is_heavier
from louver.limits import MAX_LOG_LINE
from louver.wire.mcp import PROMPTS_CHANGED, RESOURCES_CHANGED, TOOLS_CHANGED

if TYPE_CHECKING:
    from collections.abc import Container

    from louver.wire.jsonrpc.codec import Params

MAX_TOOL_BYTES = 256 * 1024
"""Tool definition of an upstream, in bytes without icons; a larger one is left out. GitHub's largest has 74 kB."""


logger = logging.getLogger(__name__)

# List method -> its capability, and the notification of a change.
_LISTS: Final = {
    "tools/list": ("tools", TOOLS_CHANGED),
    "prompts/list": ("prompts", PROMPTS_CHANGED),
    "resources/list": ("resources", RESOURCES_CHANGED),
    "resources/templates/list": ("resources", RESOURCES_CHANGED),
}

# All methods that list.
LIST_METHODS: Final = _LISTS.keys()

# The capabilities with lists that can change.
LIST_CAPABILITIES: Final = frozenset(capability for capability, _ in _LISTS.values())


def change_notification(method: str) -> str | None:
    return _LISTS[method][1] if method in _LISTS else None


def change_notifications(capabilities: Container[str]) -> frozenset[str]:
    """The notifications that announce a change of every list; some upstreams have tools without declaring them."""
    return frozenset(notification for capability, notification in _LISTS.values() if capability in capabilities) | {
        TOOLS_CHANGED
    }


# Cursor -> page, time of storing, lifetime in milliseconds.
_Pages = dict[str | None, tuple[dict[str, Any], float, float]]


class ListCache:
    def __init__(self) -> None:
        self.announced = frozenset[str]()  # capabilities with announced list changes
        # Method -> cursor -> page, in the order of the pages.
        self._pages: dict[str, _Pages] = {}
        self.generation = 0  # counts the changes: a list requested in an earlier state is not cached

    def is_announced(self, notification: str) -> bool:
        """Whether the upstream announces changes of a list, over a channel that is open."""
        return any(name in self.announced for name, change in _LISTS.values() if change == notification)

    def find(self, method: str, params: Params) -> dict[str, Any] | None:
        """The cached result, if it is valid; `None` if the request has params besides a cursor."""
        if (key := _key(method, params)) is None or (cached := self._pages.get(key[0], {}).get(key[1])) is None:
            return None
        result, stored_at, ttl_ms = cached
        return result if (monotonic() - stored_at) * 1000 < ttl_ms else None

    def store(self, method: str, params: Params, result: dict[str, Any], generation: int) -> None:
        """Cache a result if that is allowed; `state` is the state at the time of the request."""
        key = _key(method, params)
        if key is None or generation != self.generation:
            return
        ttl_ms = result.get("ttlMs")
        if _LISTS[method][0] in self.announced:
            ttl_ms = float("inf")
        # Not converted: an integer can exceed every float.
        if isinstance(ttl_ms, int | float) and ttl_ms > 0:
            pages = self._pages_before(*key)
            if key[1] is None or (pages and next(reversed(pages.values()))[0].get("nextCursor") == key[1]):
                # `dict` drops the raw text that came with the result.
                pages[key[1]] = (dict(result), monotonic(), ttl_ms)

    def invalidate(self, notification: str) -> None:
        self.generation += 1
        self._pages = {method: pages for method, pages in self._pages.items() if _LISTS[method][1] != notification}

    def _pages_before(self, method: str, cursor: str | None) -> _Pages:
        """The cached pages before a cursor; its page and all later ones are dropped, since they may be outdated."""
        pages = self._pages.setdefault(method, {})
        while cursor in pages:
            pages.popitem()
        return pages


# Optional members of a tool, with their types.
_OPTIONAL: Final = {"title": str, "description": str, "outputSchema": dict, "annotations": dict, "_meta": dict}


async def without_bad_tools(result: dict[str, Any]) -> dict[str, Any]:
    """A tool list without malformed, oversized and duplicate tools."""
    listed: Any = result.get("tools")
    tools: dict[str, dict[str, Any]] = {}
    async for tool in yielding(listed if is_array(listed) else []):
        if not is_object(tool) or not isinstance(tool.get("name"), str) or not is_object(tool.get("inputSchema")):
            logger.error("a listed tool is left out: it has no name, or no input schema")
        elif not isinstance(tool["inputSchema"].get("properties") or None, dict | None):
            # PHP servers send an empty list for an empty object.
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
    params_dict = params or {}
    if method not in _LISTS or not params_dict.keys() <= {"cursor", "_meta"}:
        return None
    return method, params_dict.get("cursor")
