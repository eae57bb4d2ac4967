r"""The `result` object that SDKs wrap around an output that is not an object.

Structured content had to be an object before 2026-07-28, so a tool `-> list[Label]` sends `{"result": [...]}`.
Paths may leave the wrapper out (`name` and `result.name` are the same); the answer always keeps it.
A lone string in `result` or `content` may hold JSON text: many servers send there what they once sent as text::

    {"content": "[{\"name\": \"a.txt\", \"type\": \"file\"}]"}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from louver.core.json import is_array, is_object
from louver.core.paths.path import FieldPath, fold

if TYPE_CHECKING:
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
    """The paths from the root of a wrapped output: `result` is prepended to paths without it."""
    if not is_wrapped(schema):
        return paths
    named = ((), (WRAPPER,))
    return fold(tuple(path if path.deep or path.steps[:1] in named else _inside(path) for path in paths))


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


def _inside(path: FieldPath) -> FieldPath:
    return FieldPath((WRAPPER, *path.steps))
