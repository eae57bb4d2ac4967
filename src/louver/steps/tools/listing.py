"""The entry of a tool in `tools/list`: with the hint, and a schema that projections satisfy; and its argument."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from louver.wire.hint import extension_hint, literal_hint
from louver.wire.names import HINT, HINT_LITERAL

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
) -> dict[str, Any]:
    """The tool as clients see it, but for its argument; without an output schema nothing is added."""
    listed = dict(tool)
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


def with_argument(schema: dict[str, Any], argument: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """An input schema with one argument more: its name and schema."""
    name, argument_schema = argument
    return {**schema, "properties": {**(schema.get("properties") or {}), name: argument_schema}}
