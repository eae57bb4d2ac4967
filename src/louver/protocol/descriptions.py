"""Descriptions of tools on the wire: what asks for them, and what is answered.

::

    resources/read  resource:///tool_descriptions?tools=get_issue,list_isues
    -> {"get_issue": {"name": "get_issue", "description": "...", "inputSchema": {...}, "examples": [...]},
        "list_isues": {"error": "Tool 'list_isues' not found", "available_tools": ["list_issues"]}}

The answer is one JSON object, tool name -> description, and nothing beside it. What a server
says of this when a client connects stands in `capabilities.extensions["dev.louver/disclosure"]`::

    {"uri": "resource:///tool_descriptions", "enforced": true}

Source: 000 sections 4, 6 and 11; the capability, `outputSchema` and the bounds are ours.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote, unquote

from pydantic import Field

from louver.errors import MissingToolSelection
from louver.protocol.model import WireModel
from louver.protocol.names import DESCRIPTIONS_URI
from louver.protocol.uris import UriForm

Guidance = str | dict[str, Any]
"""Notes on a tool: a text, or an object of them."""


class DisclosureCapability(WireModel):
    """`capabilities.extensions["dev.louver/disclosure"]`."""

    uri: str = Field(default=DESCRIPTIONS_URI, description="The resource that full descriptions are read from.")
    enforced: bool = Field(description="Whether a tool can be called only after its description was read.")


class Description(WireModel):
    """The full description of one tool."""

    name: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None = None
    examples: list[Any] | None = None
    usage_guidance: Guidance | None = Field(default=None, alias="usage_guidance")
    error_guidance: Guidance | None = Field(default=None, alias="error_guidance")


class UnknownTool(WireModel):
    """What stands in place of the description of a tool that is not there."""

    error: str
    available_tools: list[str] = Field(alias="available_tools")


def unknown_tool(name: str, available: list[str]) -> dict[str, Any]:
    """The entry of a tool that is not there."""
    return UnknownTool(error=f"Tool '{name}' not found", available_tools=available).to_wire()


def no_tool_named() -> MissingToolSelection:
    """What a read that names no tool is answered."""
    return MissingToolSelection([f"{DESCRIPTIONS_URI}?tools={names}" for names in ("tool_name", "tool1,tool2")])


def uri_of(tool: str) -> str:
    """The URI of a tool's description."""
    return f"{DESCRIPTIONS_URI}?tools={quote(tool, safe='')}"


def is_about_descriptions(uri: str) -> bool:
    """Whether a URI names the resource of descriptions, be it under another scheme or host."""
    return _PATH.match(uri) is not None


def asked_by(uri: str) -> list[str]:
    """The names in the `tools` of a URI, each decoded once, empty ones left out.

    A comma separates names, wherever `tools` stands in the query and however often. One that is
    escaped is part of a name. Other parameters are not read.

    Raises:
        InvalidUri: It is not the resource's, is too long, or cannot be decoded; with `offset` in code points
            from 0 and `expected`.
    """
    _check(uri)
    query = uri.partition("?")[2]
    pairs = [parameter.partition("=") for parameter in query.split("&")]
    values = [value for name, _, value in pairs if unquote(name) == "tools"]
    return [unquote(name) for value in values for name in value.split(",") if name]


_PATH = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(//[^/?#]*)?/tool_descriptions(?=[?#]|$)")
_URI = UriForm("a URI of descriptions", uri_of("tool_name"))


def _check(uri: str) -> None:
    _URI.check_length(uri)
    if re.split(r"[?#]", uri, maxsplit=1)[0] != DESCRIPTIONS_URI:
        raise _URI.invalid(0, f"'{DESCRIPTIONS_URI}?tools='")
    _URI.check(uri)
