"""Answers as TOON, which names the fields of alike objects once; imported only where the setting is on.

    {"rows":[{"id":1,"name":"Ann"},{"id":2,"name":"Bob"}]}      rows[2]{id,name}:
                                                                  1,Ann
                                                                  2,Bob

Law: what is sent decodes to the output that a program gets (`tests/steps/calls/test_toon.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from toon_format import decode, encode

from louver.core.json import NotJson, compact, is_array, is_object, levels, parse
from louver.core.size import is_heavier
from louver.limits import MAX_TOON
from louver.wire.output import blocks, find_output, is_structured, texts_of

if TYPE_CHECKING:
    from louver.catalogue.hosts import Shown
    from louver.core.json import Json

MAX_TOON_SHARE: Final = 0.9
"""Length of TOON, of the compact JSON's, over which an answer stays JSON, which models know better."""

MAX_TOON_LEVELS: Final = 16
"""Levels over which an answer stays JSON: each is an indentation of every line below it."""


def with_toon(result: dict[str, Any], shown: Shown, *, is_data: bool) -> dict[str, Any]:
    """The result with its output as TOON text, for a host that shows `shown`; itself, if that is not shorter.

    `is_data`: its text is the output, if nothing is structured.
    """
    if not is_structured(result):
        output = find_output(result) if is_data else None
        text = None if output is None else toon(output.value)
    elif shown == "structured" or (shown == "text" and _is_repeated(result)):
        text = toon(result["structuredContent"])
    else:
        return result
    if text is None:
        return result
    others = [block for block in blocks(result) if block.get("type") != "text"]
    answer = {**result, "content": [{"type": "text", "text": text}, *others]}
    if shown == "structured":
        answer.pop("structuredContent", None)
    return answer


def toon(value: Json) -> str | None:
    """A value with several objects in an array as TOON, if that is shorter by a tenth and reads as the same value."""
    if is_heavier(value, MAX_TOON) or not _has_rows(value):
        return None
    try:
        text = encode(value)
        is_shorter = len(text) <= MAX_TOON_SHARE * len(compact(value))
        return text if is_shorter and decode(text) == value else None
    except ValueError:
        # A string may hold half a surrogate pair.
        return None


def _has_rows(value: Json) -> bool:
    has_rows = False
    for depth, level in enumerate(levels(value)):
        if depth > MAX_TOON_LEVELS:
            return False
        has_rows = has_rows or any(is_array(part) and sum(map(is_object, part)) > 1 for part in level)
    return has_rows


def _is_repeated(result: dict[str, Any]) -> bool:
    """Whether the texts repeat the structured content, or its only member: as one value, or one an element."""
    structured: Any = result["structuredContent"]
    try:
        read = [parse(text) for text in texts_of(result)]
    except NotJson:
        return False
    only = next(iter(structured.values())) if is_object(structured) and len(structured) == 1 else structured
    return read in ([structured], [only], only)
