"""The output of an answer: find it, and write it as structured content and as text.

In a projected answer both come from the one kept value. Other text is dropped, since it may hold what was left out.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from louver.concurrency.offload import in_thread
from louver.core import json
from louver.core.json import is_array, is_object, members
from louver.limits import MAX_READ_ON_LOOP
from louver.wire.output import Output, blocks, find_output, is_structured, may_be_output

if TYPE_CHECKING:
    from louver.core.json import Json


_WHITE_SPACE = ("\n", " ", "\t", "\r")


def write_output(result: dict[str, Any], output: Output, kept: Json, *, keep_blocks: bool) -> int:
    """Write the kept value into `result`, in place; return the number of dropped blocks that are not text."""
    if output.seat == "text beside members" and output.wrapper in kept:
        # Only a structure was text; a view can have put another value in its place.
        held = kept[output.wrapper]
        kept = {**kept, output.wrapper: json.compact(held)} if is_object(held) or is_array(held) else kept
    text = json.compact(kept)
    if output.seat in ("structured", "text beside members"):
        result["structuredContent"] = kept
    elif output.seat == "wrapped text":
        result["structuredContent"] = {output.wrapper: text}
    others = [block for block in blocks(result) if block.get("type") != "text"]
    result["content"] = [{"type": "text", "text": text}, *(others if keep_blocks else [])]
    return 0 if keep_blocks else len(others)


async def without_white_space(result: dict[str, Any]) -> dict[str, Any]:
    """The result with compact text, if its text only repeats the structured content."""
    structured, text = _structured_and_text(result)
    if text is None or not _is_spaced(text):
        return result
    repeats = partial(_compact_repetition, text, structured)
    compact = await in_thread(repeats) if len(text) > MAX_READ_ON_LOOP else repeats()
    if compact is None:
        return result
    (block,) = result["content"]
    return {**result, "content": [{**block, "text": compact}]}


def lone_text(result: dict[str, Any], wrapper: str) -> dict[str, Any]:
    """The result as a text alone, if its structured content is that text in `wrapper`."""
    structured = members(result.get("structuredContent"))
    if structured.keys() != {wrapper} or not isinstance(text := structured[wrapper], str):
        return result
    others = [block for block in blocks(result) if block.get("type") != "text"]
    rest = {key: value for key, value in result.items() if key != "structuredContent"}
    return {**rest, "content": [{"type": "text", "text": text}, *others]}


async def compact_text(result: dict[str, Any]) -> dict[str, Any]:
    """The result with its only text block without white space, if that is JSON."""
    texts = [block for block in blocks(result) if block.get("type") == "text"]
    if len(texts) != 1 or not isinstance(text := texts[0].get("text"), str) or text[:1] not in ("{", "["):
        return result
    unspaced = partial(json.unspaced, text)
    compact = await in_thread(unspaced) if len(text) > MAX_READ_ON_LOOP else unspaced()
    return {
        **result,
        "content": [{**each, "text": compact} if each is texts[0] else each for each in result["content"]],
    }


def _compact_repetition(text: str, structured: Json) -> str | None:
    compact = json.unspaced(text)
    return None if compact == text or compact != json.compact(structured) else compact


def _structured_and_text(result: dict[str, Any]) -> tuple[Json, str | None]:
    """The structured content and the only text block; no text if there are none or several."""
    content: Any = result.get("content") if is_object(result) else None
    if not is_array(content) or len(content) != 1 or not is_object(content[0]):
        return None, None
    text: object = content[0].get("text")
    return result.get("structuredContent"), text if isinstance(text, str) else None  # pyright: ignore


def _is_spaced(text: str) -> bool:
    if not text.startswith("{"):
        return False
    if text[1:2] in _WHITE_SPACE:
        return True
    colon = text.find('":')
    return colon >= 0 and text[colon + 2 : colon + 3] in _WHITE_SPACE


async def find_output_in_thread(result: dict[str, Any], wrapper: str | None) -> Output | None:
    """The output that can be projected, if any; the string in the property `wrapper` may be JSON text."""
    if wrapper is None and is_structured(result):
        return Output(result["structuredContent"], "structured")
    text = may_be_output(result, wrapper)
    if isinstance(text, str) and len(text) > MAX_READ_ON_LOOP:
        return await in_thread(partial(find_output, result, wrapper))
    return find_output(result, wrapper)
