r"""Where a tool's output is in a result, for projecting and for reading a projection.

structuredContent                       {"id": 1, "name": "Ann"}
a string in it, `result` or `content`   {"result": "{\"id\": 1, \"name\": \"Ann\"}"}
the same beside other members           {"result": "{\"id\": 1, \"name\": \"Ann\"}", "token": "..."}
one text block                          {"type": "text", "text": "{\"id\": 1, ...}"}
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from louver.core import json
from louver.core.json import is_array, is_object, members
from louver.core.size import is_heavier
from louver.limits import MAX_READ_ON_LOOP
from louver.wire.jsonrpc.codec import Result

if TYPE_CHECKING:
    from louver.core.json import Json

Seat = Literal["structured", "wrapped text", "text beside members", "text"]


@dataclass(frozen=True, slots=True)
class Output:
    value: Json  # the text in a wrapper is parsed
    seat: Seat
    wrapper: str | None = None  # property of structured content with the JSON text


def find_output(result: dict[str, Any], wrapper: str | None = None) -> Output | None:
    """The output that can be projected; the string in its property `wrapper` may be JSON text."""
    parsed = _parsed(may_be_output(result, wrapper))
    if not is_structured(result):
        return None if parsed is None else Output(parsed, "text")
    structured: Any = result["structuredContent"]
    if parsed is None:
        return Output(structured, "structured")
    if len(structured) == 1:
        return Output(parsed, "wrapped text", wrapper)
    return Output({**structured, wrapper: parsed}, "text beside members", wrapper)


def may_be_output(result: dict[str, Any], wrapper: str | None = None) -> Json:
    """The text that may be the output as JSON; `None` if there is none."""
    if is_structured(result):
        structured: Any = result["structuredContent"]
        return structured.get(wrapper) if wrapper is not None and is_object(structured) else None
    texts = [block for block in blocks(result) if block.get("type") == "text"]
    return texts[0].get("text") if len(texts) == 1 else None


def is_structured(result: dict[str, Any]) -> bool:
    """Whether the output is the structured content. Some servers write `null` if they have none."""
    if "structuredContent" not in result:
        return False
    return result["structuredContent"] is not None or all(
        str(block.get("text")).strip() == "null" for block in blocks(result)
    )


def texts_of(result: dict[str, Any]) -> list[str]:
    return [text for block in blocks(result) if isinstance(text := block.get("text"), str)]


def weight_of(result: dict[str, Any] | None) -> int:
    """About the bytes of a result, found in less time than it takes to write it; no more than some are counted."""
    if isinstance(result, Result):
        return result.size
    if texts := texts_of(members(result)):
        # Structured content is about as long.
        return 2 * sum(map(len, texts))
    return MAX_READ_ON_LOOP + is_heavier(result, MAX_READ_ON_LOOP)


def blocks(result: dict[str, Any]) -> list[dict[str, Any]]:
    content: Any = result.get("content")
    return [block for block in content if is_object(block)] if is_array(content) else []


def _parsed(text: object) -> Json | None:
    if not isinstance(text, str) or text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        value = json.parse(text)
    except json.NotJson:
        return None
    # Such names could not stand in a schema or a receipt; such values can stay, as their escapes.
    return value if not _HALF_PAIR.search(text) or _has_sendable_names(value) else None


def _has_sendable_names(value: Json) -> bool:
    return not any(
        _HALF_PAIR.search("".join(part)) for level in json.levels(value) for part in level if is_object(part)
    )


# Escaped or not.
_HALF_PAIR: Final = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
