"""Fields of a sample to request, picked by their place in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from louver.core.json import is_array, members
from louver.core.paths.path import FieldPath

if TYPE_CHECKING:
    from louver.core.json import Json
    from louver_conformance.sample import Sample


def parent(sample: Sample) -> tuple[str, ...]:
    """A member that is an object, and a field in it; empty if there is none."""
    found = [path for path in sample.fields if len(path.names) > 1]
    return (str(FieldPath(found[0].steps[:1])), str(found[0])) if found else ()


def nested(sample: Sample, *, through_array: bool | None) -> str:
    """A field within objects, within an array, or in either (`None`); empty if there is none."""
    for path in sample.fields:
        if len(path.names) > 1 and (through_array is None or _meets_array(sample.value, path.names) is through_array):
            return str(path)
    return ""


def in_top_array(sample: Sample) -> tuple[str, ...]:
    """A member that is an array of objects, and a member of its elements."""
    for path in sample.fields:
        if len(path.names) == 2 and is_array(members(sample.value).get(path.names[0] or "")):
            return tuple(str(FieldPath((step,))) for step in path.names)
    return ()


def plain_name(sample: Sample) -> str:
    names = [str(path) for path in sample.fields if len(path.names) == 1]
    return next((name for name in names if name.isidentifier()), "")


def is_closed(sample: Sample) -> bool:
    """Whether the listed schema names all members that there can be."""
    schema = sample.tool.output_schema
    if schema is None or schema.get("additionalProperties", False) is not False or "$ref" in schema:
        return False
    named = members(schema.get("properties"))
    return (
        bool(named) and set(named) != {"result"} and not {"patternProperties", "allOf", "anyOf", "oneOf"} & set(schema)
    )


def _meets_array(value: Json, steps: tuple[str | None, ...]) -> bool:
    for step in steps:
        if is_array(value):
            return True
        value = members(value).get(step or "")
    return False
