r"""The object that SDKs wrap around an output which is not one.

Structured content had to be an object before 2026-07-28, so for `-> list[Label]` SDKs
list and send::

    {"type": "object", "properties": {"result": {"type": "array", ...}}, "required": ["result"]}
    {"result": [...]}

Clients think of the output without the wrapper. So paths may leave it out (`name`
and `result.name` are the same), and it stays on the wire whatever is left of what it holds.

Where the output is one string, the string may hold JSON text; many servers so send what
they once sent as text, in `result` or in `content`::

    {"content": "[{\"name\": \"a.txt\", \"type\": \"file\"}]"}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from louver.core.json import is_array, is_object
from louver.core.paths.path import FieldPath, fold

if TYPE_CHECKING:
    from louver.core.json import Json, Schema

WRAPPER = "result"
"""The property that holds the output."""

TEXT_WRAPPERS = (WRAPPER, "content")
"""The properties whose lone string may hold JSON text."""


def is_wrapped(schema: Schema | None) -> bool:
    """Whether a schema only wraps the output to make it an object.

    The root has the sole property `result`, which is required, or is marked with `x-fastmcp-wrap-result`.
    """
    return _sole_property(schema) == WRAPPER


def text_wrapper(schema: Schema | None) -> str | None:
    """The property of a schema for one string that may be JSON text; `None` if it is not for that."""
    name = _sole_property(schema)
    if name not in TEXT_WRAPPERS or not is_object(schema):
        return None
    return name if schema["properties"][name].get("type") == "string" else None


def text_wrapper_in(structured: Json) -> str | None:
    """Likewise, of structured content of which no schema is known."""
    if not is_object(structured) or len(structured) != 1:
        return None
    return next((name for name in TEXT_WRAPPERS if isinstance(structured.get(name), str)), None)


def as_object(output: Json) -> dict[str, Any]:
    """An output as structured content that both revisions know."""
    return output if is_object(output) else {WRAPPER: output}


def within(schema: Schema | None, paths: tuple[FieldPath, ...]) -> tuple[FieldPath, ...]:
    """`paths` from the root of the output, where they were written without its wrapper.

    A path whose first name is the wrapper's property is taken as it is.
    """
    if not is_wrapped(schema):
        return paths
    named = ((), (WRAPPER,))
    return fold(tuple(path if path.deep or path.steps[:1] in named else _inside(path) for path in paths))


def within_text(wrapper: str | None, paths: tuple[FieldPath, ...]) -> tuple[FieldPath, ...]:
    """`paths` from the root of the JSON text in a wrapper, where they were written with the wrapper."""
    return fold(tuple(FieldPath(path.steps[1:]) if _begins(path, wrapper) else path for path in paths))


def schema_of_text(schema: Schema, wrapper: str) -> Schema:
    """The schema of the wrapper around a string of JSON text, whose value `schema` describes."""
    held = {"type": "string", "contentMediaType": "application/json", "contentSchema": schema}
    return {"type": "object", "properties": {wrapper: held}, "required": [wrapper], "additionalProperties": False}


def _sole_property(schema: Schema | None) -> str | None:
    """The one property that a root object has, and must have."""
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
