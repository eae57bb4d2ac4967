"""What a server says of projection when a client connects.

On `initialize` and on `server/discover`, twice::

    {"capabilities": {
        "tools": {"projection": {"supported": true, "modes": ["include", "exclude", "view"], "maxDepth": 32}},
        "extensions": {"dev.louver/projection": {... the same ..., "argument": "_projection",
                                                 "schema": ["inline", "digest", "none"],
                                                 "schemaResource": "louver://schemas/{digest}"}}}}

Typed clients drop the first on receipt, the second survives.
Source: issue #1704, section 1; the extension form is ours.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from louver.core.projection import Mode, SchemaForm
from louver.limits import MAX_SEGMENTS
from louver.protocol.model import WireModel
from louver.protocol.names import PROJECTION, PROJECTION_LITERAL, SCHEMAS_URI


class Capability(WireModel):
    """The literal form: `capabilities.tools.projection`."""

    supported: Literal[True] = True
    modes: list[Mode] = Field(default=["include", "exclude", "view"])
    max_depth: int = Field(default=MAX_SEGMENTS, ge=1, description="Longest field path, in segments.")


class ExtensionCapability(Capability):
    """The extension form: `capabilities.extensions["dev.louver/projection"]`."""

    argument: str | None = Field(
        default=None, description="The reserved argument that tools accept a projection by, if they do."
    )
    schema_forms: list[SchemaForm] = Field(
        default=["inline", "digest", "none"],
        alias="schema",
        description="How a projected schema can be told.",
    )
    schema_resource: str = Field(
        default=f"{SCHEMAS_URI}{{digest}}", description="The URI of the resource that holds a projected schema."
    )


def advertised(capabilities: dict[str, Any], argument: str | None) -> dict[str, Any]:
    """`capabilities` with both forms added, and resources, which hold projected schemas; what was there stays.

    A server without tools has nothing to project.
    """
    tools = capabilities.get("tools")
    extensions = capabilities.get("extensions")
    if tools is None:
        return capabilities
    return {
        **capabilities,
        "resources": capabilities.get("resources") or {},
        "tools": {**tools, PROJECTION_LITERAL: Capability().to_wire()},
        "extensions": {**(extensions or {}), PROJECTION: ExtensionCapability(argument=argument).to_wire()},
    }
