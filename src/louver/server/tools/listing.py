"""The entry of a tool in `tools/list`: with the hint, the argument, and a schema that projections satisfy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from louver.protocol.hint import extension_hint, literal_hint
from louver.protocol.names import HINT, HINT_LITERAL

if TYPE_CHECKING:
    from louver.catalogue.entry import Entry

# The listed `outputSchema` of a tool with one: `relax(S)`, nothing, or `S`. With `strict` only clients that declare
# the extension get projections, since a stock client would refuse them.
Listing = Literal["relaxed", "omit", "strict"]


def listed_tool(
    tool: dict[str, Any],
    entry: Entry,
    listing: Listing,
    *,
    exact: bool,
    argument: tuple[str, dict[str, Any]] | None,
) -> dict[str, Any]:
    """The tool as clients see it, with the argument (name, schema); without an output schema nothing else is added."""
    listed = dict(tool)
    if argument is not None:
        name, argument_schema = argument
        schema = tool["inputSchema"]
        properties: dict[str, Any] = {**(schema.get("properties") or {}), name: argument_schema}
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
