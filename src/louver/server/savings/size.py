"""The size of an answer as a model reads it, which depends on its host (`louver.catalogue.hosts`).

Images and sound do not count: their tokens do not follow from their bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from louver.core.json import compact, members
from louver.protocol.output import blocks, is_structured, texts_of

if TYPE_CHECKING:
    from louver.catalogue.hosts import Shown


class ShownSize(NamedTuple):
    bytes: int = 0
    characters: int = 0


def shown_size(result: dict[str, Any], shown: Shown) -> ShownSize:
    """The size of the result of a call, or of a read of a resource."""
    if shown == "whole":
        return _size([compact(dict(result))])
    if shown == "text" or not is_structured(result):
        return _size(_texts(result))
    others = _texts(result) if shown == "both" else []
    return _size([compact(result["structuredContent"]), *others])


def _texts(result: dict[str, Any]) -> list[str]:
    embedded = [members(block.get("resource")) for block in blocks(result)]
    return [*texts_of(result), *texts_of({"content": embedded}), *texts_of({"content": result.get("contents")})]


def _size(texts: list[str]) -> ShownSize:
    characters = sum(map(len, texts))
    return ShownSize(sum(map(_bytes, texts)), characters)


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
