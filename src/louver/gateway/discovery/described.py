"""What is told of one tool, as it is listed: how it is called, and what its output has.

{"description", "readOnly", "parameters": [{"name", "type", "required", "description"?}],
 "fields"?: [{"path", "type"}], "views"?: [name]}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from louver.core.json import members
from louver.core.outline import outline
from louver.protocol.hint import read_hint
from louver.protocol.names import HINT

if TYPE_CHECKING:
    from collections.abc import Mapping


def described(tool: Mapping[str, Any]) -> dict[str, Any]:
    """What is told of a tool."""
    said: dict[str, Any] = {
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
        said["fields"] = [{"path": str(each.path), "type": each.type} for each in fields]
    if views := read_hint(tool.get("_meta"))[0].named:
        said["views"] = sorted(views)
    return said


def is_read_only(tool: Mapping[str, Any]) -> bool:
    """Whether a tool says of itself that it only reads."""
    return members(tool.get("annotations")).get("readOnlyHint") is True
