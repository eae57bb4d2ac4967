"""What `tools/list` says of a tool that can be projected.

Added to each tool with an output schema::

    outputSchema      relax(S): stock clients validate answers against what is listed
    annotations       the hint, literal form
    _meta             the hint, extension form
    inputSchema       the reserved argument `_projection`, where the server offers it
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from louver.protocol.hint import extension_hint, literal_hint
from louver.protocol.names import ARGUMENT, HINT_LITERAL, PROJECTION

if TYPE_CHECKING:
    from louver.catalogue.entry import Entry

Listing = Literal["relaxed", "omit", "strict"]
"""What stands as `outputSchema` of a tool that can be projected: `relax(S)`, nothing, or `S`.

With `strict` only clients that declare the extension get projections: a stock client
would refuse them.
"""


@cache
def argument_schema(default_view: str | None) -> dict[str, Any]:
    """The reserved argument in an input schema.

    Args:
        default_view: The view that a call without it gets, if any.
    """
    without = "the full output." if default_view is None else f"the view '{default_view}', ['*'] is the full output."
    return {
        "description": "Fields of the output to return, as paths: ['id', 'user.login']. "
        "Or {'mode': 'exclude', 'fields': [...]} or {'mode': 'view', 'view': '...'}. "
        f"Leave out for {without}",
        "anyOf": [{"type": "array", "items": {"type": "string"}, "minItems": 1}, {"type": "object"}],
    }


def listed_tool(
    tool: dict[str, Any],
    entry: Entry,
    listing: Listing,
    *,
    exact: bool,
    argument: bool,
    default_view: str | None = None,
) -> dict[str, Any]:
    """The tool as clients see it; a tool without an output schema only gets the argument.

    Args:
        tool: As the server lists it.
        entry: What is known of it.
        listing: What stands as its output schema.
        exact: Whether the exact output schema stands in the hint.
        argument: Whether the tool takes the reserved argument.
        default_view: The view that a call without a request gets.
    """
    listed = dict(tool)
    if argument:
        schema = tool["inputSchema"]
        properties: dict[str, Any] = {**(schema.get("properties") or {}), ARGUMENT: argument_schema(default_view)}
        listed["inputSchema"] = {**schema, "properties": properties}
    if entry.output_schema is None:
        return listed
    if listing == "relaxed":
        listed["outputSchema"] = entry.listing_schema
    elif listing == "strict":
        listed["outputSchema"] = entry.output_schema
    else:
        listed.pop("outputSchema", None)
    schema: Any = entry.output_schema
    hint = extension_hint(entry.views, content=entry.content, output_schema=schema if exact else None)
    listed["annotations"] = {
        **(tool.get("annotations") or {}),
        HINT_LITERAL: literal_hint(entry.views).to_wire(),
    }
    listed["_meta"] = {**(tool.get("_meta") or {}), PROJECTION: hint.to_wire()}
    return listed
