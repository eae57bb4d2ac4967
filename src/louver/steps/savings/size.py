"""The size of an answer as a model reads it, which depends on its host (`louver.catalogue.hosts`).

Images and sound do not count: their tokens do not follow from their bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from louver.core.json import compact_bytes, members
from louver.wire.output import blocks, is_structured, texts_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from louver.catalogue.hosts import Shown
    from louver.core.json import Json


class ShownSize(NamedTuple):
    bytes: int = 0
    characters: int = 0


def shown_size(result: dict[str, Any], shown: Shown) -> ShownSize:
    """The size of the result of a call, or of a read of a resource."""
    if shown == "whole":
        return _of_json(dict(result))
    if shown == "text" or not is_structured(result):
        return _sum(map(_of_text, _texts(result)))
    structured = _of_json(result["structuredContent"])
    return _sum([structured, *map(_of_text, _texts(result))]) if shown == "both" else structured


def list_size(tools: list[dict[str, Any]]) -> ShownSize:
    """The size of a list of tools: the names, descriptions and input schemas."""
    shown = [{key: tool[key] for key in ("name", "description", "inputSchema") if key in tool} for tool in tools]
    return _of_json(shown)


def shows_same(result: dict[str, Any], other: dict[str, Any], shown: Shown) -> bool:
    """Whether two results are plainly of one size: their structured content is one value, and all that is shown."""
    return result is other or (
        shown == "structured"
        and is_structured(result)
        and is_structured(other)
        and result["structuredContent"] is other["structuredContent"]
    )


def _texts(result: dict[str, Any]) -> list[str]:
    embedded = [members(block.get("resource")) for block in blocks(result)]
    return [*texts_of(result), *texts_of({"content": embedded}), *texts_of({"content": result.get("contents")})]


def _sum(sizes: Iterable[ShownSize]) -> ShownSize:
    return ShownSize(*map(sum, zip((0, 0), *sizes, strict=True)))


def _of_json(value: Json) -> ShownSize:
    written = compact_bytes(value)
    return ShownSize(len(written), len(written) if written.isascii() else len(written.decode()))


def _of_text(text: str) -> ShownSize:
    return ShownSize(len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass")), len(text))
