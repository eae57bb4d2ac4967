r"""What an answer holds: finding the value to project, and writing the kept value back.

A tool's output can stand in three places, and is written back where it stood::

    structuredContent                       {"id": 1, "name": "Ann"}
    structuredContent.result, a string      {"result": "{\"id\": 1, \"name\": \"Ann\"}"}
    one text block                          {"type": "text", "text": "{\"id\": 1, ...}"}

`structuredContent` and `content` come from the one kept value. Text that is not
this value is dropped whenever a projection applies: it may hold what was left out.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from louver.core.json import is_object
from louver.core.plan import WRAPPER
from louver.limits import MAX_JSON_DEPTH

if TYPE_CHECKING:
    from louver.core.json import Json

Seat = Literal["structured", "wrapped text", "text"]


@dataclass(frozen=True, slots=True)
class Output:
    """A tool's output, and where in the result it stands."""

    value: Json
    seat: Seat


def find_output(result: dict[str, Any], *, may_wrap_text: bool) -> Output | None:
    """The output that can be projected; `None` if there is none.

    Args:
        result: The wire object of a complete result.
        may_wrap_text: Whether the tool's output is one string in the SDK's wrapper.
    """
    if "structuredContent" in result:
        structured: Any = result["structuredContent"]
        if (
            may_wrap_text
            and is_object(structured)
            and (parsed := _parsed(structured.get(WRAPPER))) is not None
        ):
            return Output(parsed, "wrapped text")
        return Output(structured, "structured")
    texts = [block for block in _blocks(result) if block.get("type") == "text"]
    if len(texts) == 1 and (parsed := _parsed(texts[0].get("text"))) is not None:
        return Output(parsed, "text")
    return None


def write_output(result: dict[str, Any], seat: Seat, kept: Json, *, keep_blocks: bool) -> int:
    """Put the kept value into `result`, in `content` too.

    Args:
        result: The result, which is changed.
        seat: Where the output stood.
        kept: What is left of it.
        keep_blocks: Whether blocks that are not text stay.

    Returns:
        The number of such blocks that were dropped.
    """
    text = json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
    if seat == "structured":
        result["structuredContent"] = kept
    elif seat == "wrapped text":
        result["structuredContent"] = {WRAPPER: text}
    others = [block for block in _blocks(result) if block.get("type") != "text"]
    result["content"] = [{"type": "text", "text": text}, *(others if keep_blocks else [])]
    return 0 if keep_blocks else len(others)


def _blocks(result: dict[str, Any]) -> list[dict[str, Any]]:
    blocks: list[Any] = result.get("content") or []
    return [block for block in blocks if is_object(block)]


def _parsed(text: object) -> Json | None:
    """The object or array that a text holds; `None` if it holds no such JSON, or not strictly."""
    if not isinstance(text, str) or text.lstrip()[:1] not in ("{", "["):
        return None
    if text.count("{") + text.count("[") > MAX_JSON_DEPTH and _depth(text) > MAX_JSON_DEPTH:
        return None
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_not_json, parse_float=_finite)
    except (ValueError, RecursionError):
        return None


def _depth(text: str) -> int:
    """The deepest nesting of a JSON text, strings left aside; read without recursion."""
    depth = deepest = 0
    quoted = escaped = False
    for character in text:
        if quoted:
            quoted, escaped = escaped or character != '"', not escaped and character == "\\"
        elif character == '"':
            quoted = True
        elif character in "{[":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "}]":
            depth -= 1
    return deepest


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


def _not_json(_constant: str) -> None:
    raise ValueError("NaN and infinities are not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError("a number is too large")
    return number
