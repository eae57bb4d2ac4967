r"""What an answer holds: finding the value to project, and writing the kept value back.

A tool's output can stand in three places, and is written back where it stood::

    structuredContent                       {"id": 1, "name": "Ann"}
    a string in it, `result` or `content`   {"result": "{\"id\": 1, \"name\": \"Ann\"}"}
    one text block                          {"type": "text", "text": "{\"id\": 1, ...}"}

`structuredContent` and `content` come from the one kept value. Text that is not
this value is dropped whenever a projection applies: it may hold what was left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from louver.core import json
from louver.core.json import is_array, is_object

if TYPE_CHECKING:
    from louver.core.json import Json

Seat = Literal["structured", "wrapped text", "text"]


@dataclass(frozen=True, slots=True)
class Output:
    """A tool's output, and where in the result it stands.

    Args:
        value: What is projected.
        seat: Where it stands.
        wrapper: The property of the structured content that holds it as JSON text, if it does.
    """

    value: Json
    seat: Seat
    wrapper: str | None = None


def find_output(result: dict[str, Any], wrapper: str | None = None) -> Output | None:
    """The output that can be projected; `None` if there is none.

    Args:
        result: The wire object of a complete result.
        wrapper: The property of the structured content, if any, whose string may be JSON text.
    """
    if "structuredContent" in result:
        structured: Any = result["structuredContent"]
        if wrapper is not None and is_object(structured) and (parsed := _parsed(structured.get(wrapper))) is not None:
            return Output(parsed, "wrapped text", wrapper)
        return Output(structured, "structured")
    texts = [block for block in blocks(result) if block.get("type") == "text"]
    if len(texts) == 1 and (parsed := _parsed(texts[0].get("text"))) is not None:
        return Output(parsed, "text")
    return None


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


def texts_of(result: dict[str, Any]) -> list[str]:
    """The texts among the blocks of a result's content."""
    return [text for block in blocks(result) if isinstance(text := block.get("text"), str)]


def blocks(result: dict[str, Any]) -> list[dict[str, Any]]:
    """The blocks of a result's content, as far as they are any."""
    content: Any = result.get("content")
    return [block for block in content if is_object(block)] if is_array(content) else []


def _parsed(text: object) -> Json | None:
    """The object or array that a text holds; `None` if it holds no such JSON, or not strictly."""
    if not isinstance(text, str) or text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.parse(text)
    except json.NotJson:
        return None
