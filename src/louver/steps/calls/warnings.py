"""Warnings that an answer is large, with advice; in `_meta["dev.louver/warnings"]`, and as text in `content`.

    {"code": "WARNING", "message": ..., "path": "issues", "items": 312, "limit": 100}
    {"code": "TOKEN_WARNING", "message": ..., "characters": 61234, "tokens": 17495, "limit": 50000}

Source: 001, "Proactive Warnings", and its limits; the estimate of tokens is ours.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any, Final

from louver.core.json import compact, is_array, is_object
from louver.core.paths.find import longest
from louver.limits import CHARACTERS_A_TOKEN
from louver.wire.output import texts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from louver.core.json import Json

MANY_ITEMS = 100
MANY_CHARACTERS = 50_000
"""Elements of an array, and characters of an answer (some 14,000 tokens), above which there is a warning."""

CODES: Final = ("WARNING", "TOKEN_WARNING")  # too many elements; too many characters


def warnings_of(result: dict[str, Any], value: Json) -> list[dict[str, Any]]:
    """The warnings for an answer, without advice; `value` is its output, or its texts."""
    found: list[dict[str, Any]] = []
    largest = longest(value, within_arrays=True)
    if largest is not None and (items := len(largest.items)) > MANY_ITEMS:
        location = f"The array {str(largest.path)!r}" if largest.path.steps else "The answer"
        message = f"{location} has {items:,} elements, more than {MANY_ITEMS:,}."
        found.append(_warning("WARNING", message, path=str(largest.path), items=items, limit=MANY_ITEMS))
    if (characters := _characters(result)) > MANY_CHARACTERS:
        tokens = ceil(characters / CHARACTERS_A_TOKEN)
        message = f"About {tokens:,} tokens ({characters:,} characters), over {MANY_CHARACTERS:,} characters."
        sizes = {"characters": characters, "tokens": tokens, "limit": MANY_CHARACTERS}
        found.append(_warning("TOKEN_WARNING", message, **sizes))
    return found


def reduction_advice(options: Sequence[str], *, has_views: bool = False) -> str:
    """Advice for a smaller answer; `by` lists the ways to name fields in a call, then views if they differ."""
    if not options:
        return "Narrow the arguments."
    selection = "the fields that you need, or a view," if has_views else "the fields that you need"
    return f"Name {selection} by {' or '.join(options if has_views else options[:1])}; or narrow the arguments."


def has_fields(value: Json) -> bool:
    """Whether naming fields can leave something out: an object in the value has two members."""
    todo = [value]
    while todo:
        part = todo.pop()
        if is_object(part):
            if len(part) > 1:
                return True
            todo += part.values()
        elif is_array(part):
            todo += part
    return False


def warning_text(warning: dict[str, Any]) -> str:
    return f"{warning['code']}: {warning['message']}"


def _warning(code: str, message: str, **fields: Any) -> dict[str, Any]:
    return {"code": code, "message": message, **fields}


def _characters(result: dict[str, Any]) -> int:
    """The characters that a model reads: of the texts, or of the structured content if that is longer."""
    structured = len(compact(result["structuredContent"])) if "structuredContent" in result else 0
    return max(sum(map(len, texts_of(result))), structured)
