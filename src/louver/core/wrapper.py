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

_SAYING_NOTHING = frozenset({"$schema", "$id", "title", "description", "type", "additionalProperties"})


def is_wrapped(schema: Schema | None) -> bool:
    """Whether a root has the sole property `result`, required or marked with `x-fastmcp-wrap-result`."""
    return _sole_property(schema) == WRAPPER


def says_something(schema: Schema | None) -> bool:
    """Whether a schema says which members a root has, so that it is known whether that is a wrapper."""
    if not is_object(schema):
        return schema is False
    return not _SAYING_NOTHING.issuperset(schema) or schema.get("additionalProperties", True) is not True


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
    if not wrapped:
        return fold(tuple(map(from_root, paths))) if any(path.absolute for path in paths) else paths
    return fold(tuple(_inside(path, WRAPPER) if _may_leave_out(path, WRAPPER) else _settled(path) for path in paths))


def beside(
    paths: tuple[FieldPath, ...], names: Set[str], *, exclude: bool, wrapper: str = WRAPPER
) -> tuple[FieldPath, ...]:
    """The paths from the root of an object that is no wrapper, although its schema looks like one.

    Args:
        paths: As they were requested.
        names: The members of the object. An include takes its own member, and only otherwise one within `wrapper`.
        exclude: Both are left out.
        wrapper: The member that would be the wrapper's.
    """
    found: list[FieldPath] = []
    for path in paths:
        may_leave_out = _may_leave_out(path, wrapper)
        is_own = not may_leave_out or path.steps[0] is None or path.steps[0] in names
        if exclude or is_own:
            found.append(_settled(path, wrapper))
        if may_leave_out and (exclude or not is_own):
            found.append(_inside(path, wrapper))
    return fold(tuple(found))


def around_or_not(paths: tuple[FieldPath, ...]) -> tuple[FieldPath, ...]:
    """The paths of an exclude from the root of a value that no schema describes: it may be a wrapper."""
    return fold((*map(from_root, paths), *(_inside(path, WRAPPER) for path in paths if _may_leave_out(path, WRAPPER))))


def maybe_within(paths: tuple[FieldPath, ...]) -> tuple[FieldPath, ...]:
    """The paths that may be meant within the wrapper, if the value that no schema describes is one."""
    return tuple(path for path in paths if _may_leave_out(path, WRAPPER))


def from_root(path: FieldPath) -> FieldPath:
    return FieldPath(path.steps, path.deep) if path.absolute else path


def in_wrapper(path: FieldPath) -> FieldPath | None:
    """A path from the root of what the wrapper holds; `None` if it leads to another member."""
    if not path.absolute or path.steps[0] in (None, WRAPPER):
        return FieldPath(path.steps[1:]) if path.absolute or _begins(path, WRAPPER) else path
    return None


def within_text(wrapper: str | None, paths: tuple[FieldPath, ...]) -> tuple[FieldPath, ...]:
    """The paths from the root of the JSON text in a wrapper: a leading name of the wrapper is removed."""
    return fold(tuple(FieldPath(path.steps[1:]) if _begins(path, wrapper) else path for path in paths))


def schema_of_text(schema: Schema, wrapper: str) -> Schema:
    properties = {wrapper: _text_of(schema)}
    return {"type": "object", "properties": properties, "required": [wrapper], "additionalProperties": False}


def schema_with_text(schema: Schema, wrapper: str) -> Schema:
    """The schema of an object with a structure in `wrapper`, for the object with that as JSON text."""
    if not is_object(schema) or not is_object(properties := schema.get("properties")) or wrapper not in properties:
        return schema
    return {**schema, "properties": {**properties, wrapper: _text_of(properties[wrapper])}}


def _text_of(schema: Schema) -> Schema:
    return {"type": "string", "contentMediaType": "application/json", "contentSchema": schema}


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


def _may_leave_out(path: FieldPath, wrapper: str) -> bool:
    """Whether a path may mean a place within the wrapper without naming it."""
    return bool(path.steps) and not path.deep and not path.absolute and path.steps[0] != wrapper


def _settled(path: FieldPath, wrapper: str = WRAPPER) -> FieldPath:
    """A path from the root, absolute if it would be read within the wrapper otherwise."""
    plain = from_root(path)
    return FieldPath(path.steps, absolute=True) if _may_leave_out(plain, wrapper) else plain


def _inside(path: FieldPath, wrapper: str) -> FieldPath:
    return FieldPath((wrapper, *path.steps))
