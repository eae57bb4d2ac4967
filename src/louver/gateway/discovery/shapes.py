"""The shape of an answer: its fields with their kinds and weights, and a view that leaves out what weighs most.

    {"ran": true, "seat": "structured", "bytes": 45200, "elements": 100,
     "fields": [{"path": "items.id", "types": ["integer"], "seen": 1.0, "bytes": 690, "share": 0.02}, ...],
     "suggestedView": {"include": ["items.id", "items.title"]}}

Of its values nothing is told, unless all of it is asked for. What a suggested view keeps says `louver.core.lean`.
"""

from __future__ import annotations

from typing import Any

from louver.core.json import is_array, is_object
from louver.core.preview import preview
from louver.core.weigh import size_of
from louver.core.wrapper import text_wrapper_in
from louver.protocol.output import blocks, find_output


def shape(result: dict[str, Any], *, full: bool) -> dict[str, Any]:
    """The shape of a tool's result.

    Args:
        result: In its wire form.
        full: Whether the answer itself is told too.
    """
    output = find_output(result, text_wrapper_in(result.get("structuredContent")))
    if output is None or not (is_object(output.value) or is_array(output.value)):
        found = blocks(result)
        types = [str(block.get("type")) for block in found]
        return {"ran": True, "seat": "blocks", "bytes": size_of(found), "blocks": types} | (
            {"data": found} if full else {}
        )
    size = size_of(output.value)
    said = {"ran": True, "seat": output.seat, "bytes": size, **preview(output.value, size)}
    return said | ({"data": output.value} if full else {})
