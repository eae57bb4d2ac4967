"""Describe one listed tool for `tool-details` and `get`, or the shape of a result for `inspect-tool-response`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from louver.core.json import is_array, is_object, members
from louver.core.preview.field_sizes import size_of
from louver.core.preview.preview import preview
from louver.core.schema.outline import outline
from louver.core.wrapper import text_wrapper_in
from louver.limits import SAMPLE_DATA_BYTES
from louver.wire.hint import read_hint
from louver.wire.names import HINT
from louver.wire.output import blocks, find_output

if TYPE_CHECKING:
    from collections.abc import Mapping


def describe_tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    details: dict[str, Any] = {
        "description": tool["description"] if isinstance(tool.get("description"), str) else "",
        "readOnly": is_read_only(tool),
        "parameters": [
            {"name": each.path.steps[0] if len(each.path.steps) == 1 else str(each.path)}
            | {"type": each.type, "required": each.required}
            | ({"description": each.description} if each.description else {})
            for each in outline(tool["inputSchema"])
        ],
    }
    hint = members(members(tool.get("_meta")).get(HINT))
    output = hint.get("outputSchema", tool.get("outputSchema"))
    if output is not None and (fields := outline(output)):
        details["fields"] = [{"path": str(each.path), "type": each.type} for each in fields]
    if views := read_hint(tool.get("_meta"))[0].named:
        details["views"] = sorted(views)
    return details


def is_read_only(tool: Mapping[str, Any]) -> bool:
    """Whether the tool is annotated as read-only."""
    return members(tool.get("annotations")).get("readOnlyHint") is True


def result_shape(result: dict[str, Any], *, full: bool) -> dict[str, Any]:
    """Return the shape of a tool's result, and the result itself if it is small, or by `full`."""
    output = find_output(result, text_wrapper_in(result.get("structuredContent")))
    if output is None or not (is_object(output.value) or is_array(output.value)):
        data = blocks(result)
        size = size_of(data)
        shape = {"seat": "blocks", "blocks": [str(block.get("type")) for block in data]}
    else:
        data = output.value
        size = size_of(data)
        shape = {"seat": output.seat, **preview(data, size)}
    return {"ran": True, "bytes": size, **shape} | ({"data": data} if full or size <= SAMPLE_DATA_BYTES else {})
