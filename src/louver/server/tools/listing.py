"""What `tools/list` says of a tool that can be projected.

Added to each tool with an output schema::

    outputSchema      relax(S): stock clients validate answers against what is listed
    annotations       the hint, literal form
    _meta             the hint, extension form
    inputSchema       the argument `output_fields`, where the server offers it
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from louver.protocol.hint import extension_hint, literal_hint
from louver.protocol.names import HINT, HINT_LITERAL

if TYPE_CHECKING:
    from louver.catalogue.entry import Entry

Listing = Literal["relaxed", "omit", "strict"]
"""What stands as `outputSchema` of a tool that can be projected: `relax(S)`, nothing, or `S`.

With `strict` only clients that declare the extension get projections: a stock client
would refuse them.
"""


def listed_tool(
    tool: dict[str, Any],
    entry: Entry,
    listing: Listing,
    *,
    exact: bool,
    argument: tuple[str, dict[str, Any]] | None,
) -> dict[str, Any]:
    """The tool as clients see it; a tool without an output schema only gets the argument.

    Args:
        tool: As the server lists it.
        entry: What is known of it.
        listing: What stands as its output schema.
        exact: Whether the exact output schema stands in the hint.
        argument: What the argument is called, and its schema, if the tool takes it.
    """
    listed = dict(tool)
    if argument is not None:
        name, described = argument
        schema = tool["inputSchema"]
        properties: dict[str, Any] = {**(schema.get("properties") or {}), name: described}
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
    listed["_meta"] = {**(tool.get("_meta") or {}), HINT: hint.to_wire()}
    return listed
