"""What an answer holds once it is projected: the kept value is written back where the output stood.

Where that is says `louver.protocol.output`. `structuredContent` and `content` come from the one kept value.
Text that is not this value is dropped whenever a projection applies: it may hold what was left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from louver.core import json
from louver.protocol.output import blocks

if TYPE_CHECKING:
    from louver.core.json import Json
    from louver.protocol.output import Output


def write_output(result: dict[str, Any], output: Output, kept: Json, *, keep_blocks: bool) -> int:
    """Put the kept value into `result`, in `content` too.

    Args:
        result: The result, which is changed.
        output: The output, for where it stood.
        kept: What is left of it.
        keep_blocks: Whether blocks that are not text stay.

    Returns:
        The number of such blocks that were dropped.
    """
    text = json.compact(kept)
    if output.seat == "structured":
        result["structuredContent"] = kept
    elif output.seat == "wrapped text":
        result["structuredContent"] = {output.wrapper: text}
    others = [block for block in blocks(result) if block.get("type") != "text"]
    result["content"] = [{"type": "text", "text": text}, *(others if keep_blocks else [])]
    return 0 if keep_blocks else len(others)
