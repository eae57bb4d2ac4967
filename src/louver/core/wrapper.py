"""The object that SDKs wrap around an output which is not one.

Structured content had to be an object before 2026-07-28, so for `-> list[Label]` SDKs
list and send::

    {"type": "object", "properties": {"result": {"type": "array", ...}}, "required": ["result"]}
    {"result": [...]}

Clients think of the output without the wrapper. So paths may leave it out (`name`
and `result.name` are the same), and it stays on the wire whatever is left of what it holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from louver.core.json import is_array, is_object
from louver.core.path import FieldPath, fold

if TYPE_CHECKING:
    from louver.core.json import Schema

WRAPPER = "result"
"""The property that holds the output."""


def is_wrapped(schema: Schema | None) -> bool:
    """Whether a schema only wraps the output to make it an object.

    The root has the sole property `result`, which is required, or is marked with `x-fastmcp-wrap-result`.
    """
    if not is_object(schema) or schema.get("type") != "object":
        return False
    properties: Any = schema.get("properties")
    if not is_object(properties) or list(properties) != [WRAPPER] or not is_object(properties[WRAPPER]):
        return False
    required: Any = schema.get("required")
    return schema.get("x-fastmcp-wrap-result") is True or (is_array(required) and WRAPPER in required)


def wraps_text(schema: Schema | None) -> bool:
    """Whether the output is one string in the wrapper, which may be JSON text."""
    return is_object(schema) and is_wrapped(schema) and schema["properties"][WRAPPER].get("type") == "string"


def within(schema: Schema | None, paths: tuple[FieldPath, ...]) -> tuple[FieldPath, ...]:
    """`paths` from the root of the output, where they were written without its wrapper.

    A path whose first name is the wrapper's property is taken as it is.
    """
    if not is_wrapped(schema):
        return paths
    named = ((), (WRAPPER,))
    return fold(tuple(path if path.deep or path.steps[:1] in named else _inside(path) for path in paths))


def schema_of_text(schema: Schema) -> Schema:
    """The schema of the wrapper around a string of JSON text, whose value `schema` describes."""
    held = {"type": "string", "contentMediaType": "application/json", "contentSchema": schema}
    return {"type": "object", "properties": {WRAPPER: held}, "required": [WRAPPER], "additionalProperties": False}


def _inside(path: FieldPath) -> FieldPath:
    return FieldPath((WRAPPER, *path.steps))
