"""What a tool answers, as far as the suite needs to know it, and fields of it to ask for.

    {"id": 7, "address": {"city": "...", "zip": "..."}, "orders": [{"id": 1}]}
    id, address.city, address.zip, orders.id

Fields are chosen from an answer, since a schema may know ones that no answer has. Names look through arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from louver.core.json import NotJson, is_array, is_object, members, parse
from louver.core.paths.path import FieldPath, Step
from louver.core.projection.plan import compile_projection
from louver.core.projection.request import Projection
from louver.limits import CONFORMANCE_LEAVES, MAX_PATH_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from louver.core.json import Json
    from louver_conformance.tools import Tool

_DEEPEST = 6
"""Names in a field that is asked for: every server takes so many."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A call of a tool, and what it answers without a projection.

    Args:
        tool: The tool.
        arguments: Those of the call.
        result: The answer.
        value: Its output: the structured content, or what the one text block holds as JSON.
        others: What other sets of arguments are answered.
    """

    tool: Tool
    arguments: dict[str, Any]
    result: dict[str, Any]
    value: Json
    others: tuple[tuple[dict[str, Any], Json], ...] = ()

    @property
    def fields(self) -> list[FieldPath]:
        """Fields with values of their own, in the order of the answer, but for those which are always there."""
        always = {*self.tool.always}
        return [path for path in leaves(self.value) if str(path) not in always]

    def included(self, *paths: str) -> Json:
        """What is left of the output if just these fields are kept."""
        return compile_projection(Projection.include(*paths, *self.tool.always))(self.value)

    def excluded(self, *paths: str) -> Json:
        """What is left of the output if these fields are left out."""
        return compile_projection(Projection.exclude(*paths))(self.value)


def output_of(result: dict[str, Any]) -> Json | None:
    """The output that a result holds; `None` if that is no object and no array."""
    value = result["structuredContent"] if "structuredContent" in result else json_in(result)
    return value if is_object(value) or is_array(value) else None


def json_in(result: dict[str, Any]) -> Json | None:
    """What the one text block of a result holds as JSON; `None` if there is no such block."""
    texts = [block for block in texts_of(result) if block.lstrip()[:1] in ("{", "[")]
    if len(texts) != 1:
        return None
    try:
        return parse(texts[0])
    except NotJson:
        return None


def texts_of(result: dict[str, Any]) -> list[str]:
    """The texts of a result's content."""
    content = result.get("content")
    blocks = [members(block) for block in content] if is_array(content) else []
    texts = [block.get("text") for block in blocks if block.get("type") == "text"]
    return [text for text in texts if isinstance(text, str)]


def leaves(value: Json) -> list[FieldPath]:
    """The fields of a value that hold neither objects nor arrays of objects, each once."""
    return list(dict.fromkeys(islice(_leaves(value, ()), CONFORMANCE_LEAVES)))


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
