"""The capabilities for projection and search, in `initialize` and `server/discover`, each in two forms.

    {"tools": {"projection": {"supported": true, "modes": ["include", ...], "maxDepth": 32}, "filtering": true},
     "extensions": {"dev.louver/projection": {... the same ..., "argument": "output_fields", "schema": [...]},
                    "dev.louver/search": {"maxCharacters": 256, "pageSize": 20}}}

Typed clients drop the first form. Source: issue #1704, section 1; SEP-1821; the extension forms are ours.
"""

from __future__ import annotations

from typing import Any, get_args

from msgspec import field

from louver.core.json import members
from louver.core.projection.request import Mode, SchemaForm
from louver.limits import MATCHES_A_PAGE, MAX_QUERY_CHARACTERS, MAX_SEGMENTS
from louver.wire.model import Count, WireModel
from louver.wire.names import FILTERING_LITERAL, PROJECTION, PROJECTION_LITERAL, SEARCH


class Capability(WireModel, frozen=True, kw_only=True):
    supported: bool = True
    modes: list[Mode] = field(default_factory=lambda: list(get_args(Mode)))
    max_depth: Count = MAX_SEGMENTS  # longest field path, in segments


class ExtensionCapability(Capability, frozen=True, kw_only=True):
    argument: str | None = None  # the argument that tools accept a projection by, if they do
    schema_forms: list[SchemaForm] = field(default_factory=lambda: list(get_args(SchemaForm)), name="schema")


class SearchCapability(WireModel, frozen=True, kw_only=True):
    max_characters: Count = MAX_QUERY_CHARACTERS  # longest query, in code points
    page_size: Count = MATCHES_A_PAGE  # most tools on a page of what is found


def advertised(capabilities: dict[str, Any], argument: str | None, *, readable: bool) -> dict[str, Any]:
    """`capabilities` with both forms of projection; `readable`: the client can read kept results."""
    tools = capabilities.get("tools")
    extensions = capabilities.get("extensions")
    if tools is None:
        return capabilities
    return {
        **capabilities,
        **({"resources": capabilities.get("resources") or {}} if readable else {}),
        "tools": {**tools, PROJECTION_LITERAL: Capability().to_wire()},
        "extensions": {**(extensions or {}), PROJECTION: ExtensionCapability(argument=argument).to_wire()},
    }


def searchable(capabilities: dict[str, Any]) -> dict[str, Any]:
    return {
        **capabilities,
        "tools": {**capabilities["tools"], FILTERING_LITERAL: True},
        "extensions": {**(capabilities.get("extensions") or {}), SEARCH: SearchCapability().to_wire()},
    }


def not_searchable(capabilities: dict[str, Any]) -> dict[str, Any]:
    tools = {key: value for key, value in members(capabilities.get("tools")).items() if key != FILTERING_LITERAL}
    extensions = {key: value for key, value in members(capabilities.get("extensions")).items() if key != SEARCH}
    return {**capabilities, "tools": tools, **({"extensions": extensions} if "extensions" in capabilities else {})}
