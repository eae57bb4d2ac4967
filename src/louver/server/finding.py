"""Finding the output in a result, beside the event loop where it is JSON text that is large.

What stands in `structuredContent` was read with the result; a text in it, or a lone block of text, is JSON once more.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from louver.protocol.output import find_output, may_be_output
from louver.server.aside import aside

if TYPE_CHECKING:
    from louver.protocol.output import Output


async def found_output(result: dict[str, Any], wrapper: str | None) -> Output | None:
    """The output that can be projected; `None` if there is none.

    Args:
        result: The wire object of a complete result.
        wrapper: The property of the structured content, if any, whose string may be JSON text.
    """
    return await aside(may_be_output(result, wrapper), partial(find_output, result, wrapper))
