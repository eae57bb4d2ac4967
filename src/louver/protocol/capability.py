"""What a server says of projection, and of search, when a client connects.

On `initialize` and on `server/discover`, twice::

    {"capabilities": {
        "tools": {"projection": {"supported": true, "modes": ["include", "exclude", "view"], "maxDepth": 32}},
        "extensions": {"dev.louver/projection": {... the same ..., "argument": "output_fields",
                                                 "schema": ["inline", "digest", "none"],
                                                 "schemaResource": "louver://schemas/{digest}"}}}}

A server whose tools can be searched says that twice too::

    {"capabilities": {"tools": {"filtering": true},
                      "extensions": {"dev.louver/search": {"maxCharacters": 256, "pageSize": 20}}}}

Typed clients drop the first on receipt, the second survives.
Source: issue #1704, section 1; SEP-1821, "ServerCapabilities.tools.filtering"; the extension forms are ours.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from louver.core.json import members
from louver.core.projection.request import Mode, SchemaForm
from louver.limits import MATCHES_A_PAGE, MAX_QUERY_CHARACTERS, MAX_SEGMENTS
from louver.protocol.model import WireModel
from louver.protocol.names import FILTERING_LITERAL, PROJECTION, PROJECTION_LITERAL, SCHEMAS_URI, SEARCH


class Capability(WireModel):
    """The literal form: `capabilities.tools.projection`."""

    supported: Literal[True] = True
    modes: list[Mode] = Field(default=["include", "exclude", "view"])
    max_depth: int = Field(default=MAX_SEGMENTS, ge=1, description="Longest field path, in segments.")


class ExtensionCapability(Capability):
    """The extension form: `capabilities.extensions["dev.louver/projection"]`."""

    argument: str | None = Field(
        default=None, description="The argument that tools accept a projection by, if they do."
    )
    schema_forms: list[SchemaForm] = Field(
        default=["inline", "digest", "none"],
        alias="schema",
        description="How a projected schema can be told.",
    )
    schema_resource: str = Field(
        default=f"{SCHEMAS_URI}{{digest}}", description="The URI of the resource that holds a projected schema."
    )


class SearchCapability(WireModel):
    """The extension form of search: `capabilities.extensions["dev.louver/search"]`."""

    max_characters: int = Field(default=MAX_QUERY_CHARACTERS, ge=1, description="Longest query, in code points.")
    page_size: int = Field(default=MATCHES_A_PAGE, ge=1, description="Most tools on a page of what is found.")


def advertised(capabilities: dict[str, Any], argument: str | None, *, readable: bool) -> dict[str, Any]:
    """`capabilities` with both forms added; what was there stays. A server without tools has nothing to project.

    Args:
        capabilities: Those of the server.
        argument: What the argument is called, if tools take one.
        readable: Whether there are resources of ours that the client can read: kept results, or projected schemas.
    """
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
    """`capabilities` of a server with tools, with both forms of search added; what was there stays."""
    return {
        **capabilities,
        "tools": {**capabilities["tools"], FILTERING_LITERAL: True},
        "extensions": {**(capabilities.get("extensions") or {}), SEARCH: SearchCapability().to_wire()},
    }


def not_searchable(capabilities: dict[str, Any]) -> dict[str, Any]:
    """`capabilities` without search: where the tools that could be found are not listed."""
    tools = {key: said for key, said in members(capabilities.get("tools")).items() if key != FILTERING_LITERAL}
    extensions = {key: said for key, said in members(capabilities.get("extensions")).items() if key != SEARCH}
    return {**capabilities, "tools": tools, **({"extensions": extensions} if "extensions" in capabilities else {})}
