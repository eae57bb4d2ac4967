"""Tool descriptions on the wire. Source: 000 sections 4, 6 and 11; capability, `outputSchema` and bounds are ours.

resources/read  resource:///tool_descriptions?tools=get_issue,list_isues
-> {"get_issue": {"name": "get_issue", "description": "...", "inputSchema": {...}, "examples": [...]},
    "list_isues": {"error": "Tool 'list_isues' not found", "available_tools": ["list_issues"]}}
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote, unquote

from msgspec import field

from louver.errors import MissingToolSelection
from louver.wire.model import WireModel
from louver.wire.names import DESCRIPTIONS_URI
from louver.wire.uris import UriForm

# Notes on a tool: a text, or an object.
Guidance = str | dict[str, Any]


class DisclosureCapability(WireModel, frozen=True, kw_only=True):
    uri: str = DESCRIPTIONS_URI  # the resource that full descriptions are read from
    enforced: bool  # whether a tool can be called only after its description was read


class Description(WireModel, frozen=True, kw_only=True):
    name: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None = None
    examples: list[Any] | None = None
    usage_guidance: Guidance | None = field(default=None, name="usage_guidance")
    error_guidance: Guidance | None = field(default=None, name="error_guidance")


class UnknownTool(WireModel, frozen=True, kw_only=True):
    error: str
    available_tools: list[str] = field(name="available_tools")


def unknown_tool(name: str, available: list[str]) -> dict[str, Any]:
    return UnknownTool(error=f"Tool '{name}' not found", available_tools=available).to_wire()


def no_tool_named() -> MissingToolSelection:
    return MissingToolSelection([f"{DESCRIPTIONS_URI}?tools={names}" for names in ("tool_name", "tool1,tool2")])


def uri_of(tool: str) -> str:
    return f"{DESCRIPTIONS_URI}?tools={quote(tool, safe='')}"


def is_about_descriptions(uri: str) -> bool:
    """Whether a URI names the resource of descriptions, under any scheme or host."""
    return _PATH.match(uri) is not None


def tool_names_in(uri: str) -> list[str]:
    """The tool names in a URI, each decoded once; an escaped comma is part of a name."""
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
