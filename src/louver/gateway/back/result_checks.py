"""Checks of the members that the gateway itself reads from an upstream's result.

    tools/list     {"tools": [...], "nextCursor": "2"}
    tools/call     {"content": [...]}
    initialize     {"capabilities": {"tools": {}}, "instructions": "..."}

Other members pass unchecked. Malformed tools are left out by `list_cache.py`.
"""

from __future__ import annotations

from typing import Any, Final

from louver.core.json import members
from louver.errors import UpstreamInvalidOutput

_LIST: Final = (list, "a list")
_TEXT: Final = (str, "a text")
_OBJECT: Final = (dict, "an object")
_CAPABILITIES: Final = ("tools", "extensions")
_OPENING: Final = {"capabilities": _OBJECT, "instructions": _TEXT}
_CHECKED_MEMBERS: Final = {
    "initialize": _OPENING,
    "server/discover": _OPENING,
    "tools/list": {"tools": _LIST, "nextCursor": _TEXT},
    "prompts/list": {"prompts": _LIST, "nextCursor": _TEXT},
    "resources/list": {"resources": _LIST, "nextCursor": _TEXT},
    "resources/templates/list": {"resourceTemplates": _LIST, "nextCursor": _TEXT},
    "tools/call": {"content": _LIST},
}


def check_result(method: str, result: dict[str, Any]) -> dict[str, Any]:
    """The result, if the members that the gateway reads have the types of MCP."""
    for name, (kind, word) in _CHECKED_MEMBERS.get(method, {}).items():
        if not isinstance(result.get(name), kind | None):
            raise UpstreamInvalidOutput(f"the upstream answers {method!r} with {name!r} that is not {word}")
    if _CHECKED_MEMBERS.get(method) is _OPENING:
        capabilities = members(result.get("capabilities"))
        for name in _CAPABILITIES:
            if not isinstance(capabilities.get(name), dict | None):
                raise UpstreamInvalidOutput(f"the upstream answers {method!r} with a capability {name!r} that is none")
    return result
