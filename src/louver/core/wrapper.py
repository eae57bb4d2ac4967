r"""The `result` object that SDKs wrap around an output that is not an object.

Structured content had to be an object before 2026-07-28, so a tool `-> list[Label]` sends `{"result": [...]}`.
Paths may leave the wrapper out (`name` and `result.name` are the same); the answer always keeps it. A schema makes a
wrapper likely, and the value decides: with other members beside `result` it is an object like any other.
A lone string in `result` or `content` may hold JSON text: many servers send there what they once sent as text::

    {"content": "[{\"name\": \"a.txt\", \"type\": \"file\"}]"}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from louver.core.json import is_array, is_object
from louver.core.paths.path import FieldPath, fold

if TYPE_CHECKING:
    from collections.abc import Set

    from louver.core.json import Json, Schema

# The property that holds the output.
WRAPPER = "result"

# The properties that may hold JSON text as their string.
TEXT_WRAPPERS = (WRAPPER, "content")


def is_wrapped(schema: Schema | None) -> bool:
    """Whether a root has the sole property `result`, required or marked with `x-fastmcp-wrap-result`."""
    return _sole_property(schema) == WRAPPER


def text_wrapper(schema: Schema | None) -> str | None:
    """The sole property of a schema, if it is a string that may hold JSON text."""
    name = _sole_property(schema)
    if name not in TEXT_WRAPPERS or not is_object(schema):
        return None
    return name if schema["properties"][name].get("type") == "string" else None


def text_wrapper_in(structured: Json) -> str | None:
    if not is_object(structured) or len(structured) != 1:
        return None
    return next((name for name in TEXT_WRAPPERS if isinstance(structured.get(name), str)), None)


def as_object(output: Json) -> dict[str, Any]:
    """An output as structured content that both protocol revisions allow."""
    return output if is_object(output) else {WRAPPER: output}


def within(schema: Schema | None, paths: tuple[FieldPath, ...]) -> tuple[FieldPath, ...]:
    """The paths from the root of a wrapped output: `result` is prepended to paths without it, unless absolute."""
    wrapped = is_wrapped(schema)
    if not wrapped and not any(path.absolute for path in paths):
        return paths
    return fold(tuple(_inside(path) if wrapped and _may_leave_out(path) else from_root(path) for path in paths))


def beside(paths: tuple[FieldPath, ...], names: Set[str], *, exclude: bool) -> tuple[FieldPath, ...]:
    """The paths from the root of an object that is no wrapper, although its schema looks like one.

    Args:
        paths: As they were requested.
        names: The members of the object. An include takes its own member, and only otherwise one within `result`.
        exclude: Both are left out.
    """
    found: list[FieldPath] = []
    for path in paths:
        is_own = not _may_leave_out(path) or path.steps[0] is None or path.steps[0] in names
        if exclude or is_own:
            found.append(from_root(path))
        if _may_leave_out(path) and (exclude or not is_own):
            found.append(_inside(path))
    return fold(tuple(found))


def from_root(path: FieldPath) -> FieldPath:
    return FieldPath(path.steps, path.deep) if path.absolute else path


def within_text(wrapper: str | None, paths: tuple[FieldPath, ...]) -> tuple[FieldPath, ...]:
    """The paths from the root of the JSON text in a wrapper: a leading name of the wrapper is removed."""
    return fold(tuple(FieldPath(path.steps[1:]) if _begins(path, wrapper) else path for path in paths))


def schema_of_text(schema: Schema, wrapper: str) -> Schema:
    held = {"type": "string", "contentMediaType": "application/json", "contentSchema": schema}
    return {"type": "object", "properties": {wrapper: held}, "required": [wrapper], "additionalProperties": False}


def _sole_property(schema: Schema | None) -> str | None:
    """The only property of a root object, if the object requires it."""
    if not is_object(schema) or schema.get("type") != "object":
        return None
    properties: Any = schema.get("properties")
    if not is_object(properties) or len(properties) != 1:
        return None
    [(name, held)] = properties.items()
    required: Any = schema.get("required")
    must = schema.get("x-fastmcp-wrap-result") is True or (is_array(required) and name in required)
    return name if must and is_object(held) else None


def _begins(path: FieldPath, wrapper: str | None) -> bool:
    return wrapper is not None and not path.deep and path.steps[:1] == (wrapper,)


def _may_leave_out(path: FieldPath) -> bool:
    """Whether a path may mean a place within the wrapper without naming it."""
    return bool(path.steps) and not path.deep and not path.absolute and path.steps[0] != WRAPPER


def _inside(path: FieldPath) -> FieldPath:
    return FieldPath((WRAPPER, *path.steps))
