"""Samples: the answer of a tool without a projection, and its fields to request.

    {"id": 7, "address": {"city": "...", "zip": "..."}, "orders": [{"id": 1}]}
    id, address.city, address.zip, orders.id

Fields come from an answer, since a schema may have fields that no answer has. Names look through arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from louver.core.json import NotJson, is_array, is_object, members, parse
from louver.core.paths.path import FieldPath, Step
from louver.core.projection.plan import compile_projection
from louver.core.projection.request import Projection
from louver_conformance.limits import MAX_FIELDS, MAX_PATH_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from louver.core.json import Json
    from louver_conformance.tools import Tool

# Names in a requested field: every server takes so many.
_DEEPEST = 6


@dataclass(frozen=True, slots=True)
class Sample:
    tool: Tool
    arguments: dict[str, Any]
    result: dict[str, Any]
    # The output: the structured content, or the JSON in the one text block.
    value: Json
    # Other sets of arguments, with their outputs.
    others: tuple[tuple[dict[str, Any], Json], ...] = ()

    @property
    def fields(self) -> list[FieldPath]:
        """The fields of the output in their order, without those that are always kept."""
        always = {*self.tool.always}
        return [path for path in leaves(self.value) if str(path) not in always]

    def included(self, *paths: str) -> Json:
        """The kept value of an include of these fields."""
        return compile_projection(Projection(include=[*paths, *self.tool.always]))(self.value)

    def excluded(self, *paths: str) -> Json:
        """The kept value of an exclude of these fields."""
        return compile_projection(Projection(exclude=[*paths]))(self.value)


def output_of(result: dict[str, Any]) -> Json | None:
    """The output in a result; `None` unless it is an object or an array."""
    value = result["structuredContent"] if "structuredContent" in result else json_in(result)
    return value if is_object(value) or is_array(value) else None


def json_in(result: dict[str, Any]) -> Json | None:
    """The JSON in the one text block of a result; `None` without such a block."""
    texts = [block for block in texts_of(result) if block.lstrip()[:1] in ("{", "[")]
    if len(texts) != 1:
        return None
    try:
        return parse(texts[0])
    except NotJson:
        return None


def texts_of(result: dict[str, Any]) -> list[str]:
    content = result.get("content")
    blocks = [members(block) for block in content] if is_array(content) else []
    texts = [block.get("text") for block in blocks if block.get("type") == "text"]
    return [text for text in texts if isinstance(text, str)]


def leaves(value: Json) -> list[FieldPath]:
    """The fields of a value that hold neither objects nor arrays of objects."""
    return list(dict.fromkeys(islice(_leaves(value, ()), MAX_FIELDS)))


def _leaves(value: Json, steps: tuple[Step, ...]) -> Iterator[FieldPath]:
    if is_array(value):
        for element in value[:20]:
            yield from _leaves(element, steps) if is_object(element) or is_array(element) else ()
    elif is_object(value) and len(steps) < _DEEPEST:
        for name, member in value.items():
            path = FieldPath((*steps, name))
            if not name or not _is_sendable(path):
                continue
            if is_object(member) or (is_array(member) and any(is_object(e) or is_array(e) for e in member)):
                yield from _leaves(member, path.steps)
            else:
                yield path


def _is_sendable(path: FieldPath) -> bool:
    text = str(path)
    return len(text) <= MAX_PATH_CHARACTERS and text.isprintable() and text.isascii()
