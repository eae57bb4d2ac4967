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


def nested(sample: Sample, *, through_array: bool | None) -> list[str]:
    """The first and the last field within objects, within an array, or in either (`None`), as far as there are some."""
    return _ends(
        [
            path
            for path in sample.fields
            if len(path.names) > 1 and through_array in (None, _meets_array(sample.value, path.names))
        ]
    )


def at_each_depth(sample: Sample) -> list[str]:
    """The first and the last field: of all, of those within objects, and of those within an array."""
    everywhere = _ends(sample.fields)
    return list(dict.fromkeys([*everywhere, *nested(sample, through_array=False), *nested(sample, through_array=True)]))


def in_top_array(sample: Sample) -> tuple[str, ...]:
    """A member that is an array of objects, and a member of its elements."""
    for path in sample.fields:
        if len(path.names) == 2 and is_array(members(sample.value).get(path.names[0] or "")):
            return tuple(str(FieldPath((step,))) for step in path.names)
    return ()


def rows(sample: Sample) -> list[str]:
    """JSONPaths of some rows of an array: by position, by slice, and those that have what the first one has."""
    for path in sample.fields:
        name, *inner = path.names
        array = members(sample.value).get(name or "")
        if not is_array(array) or len(inner) != 1 or not all(step and step.isidentifier() for step in path.names):
            continue
        value = members(array[0]).get(inner[0] or "")
        selectors = ["0", "-1", "1:", f"?@.{inner[0]}"]
        if isinstance(value, int) and not isinstance(value, bool):
            selectors += [f"?@.{inner[0]} == {value}", f"?@.{inner[0]} > {value}"]
        return [f"$.{name}[{selector}].{inner[0]}" for selector in selectors]
    return []


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


def _ends(paths: list[FieldPath]) -> list[str]:
    return list(dict.fromkeys(map(str, [*paths[:1], *paths[-1:]])))


def _meets_array(value: Json, steps: tuple[str | None, ...]) -> bool:
    for step in steps:
        if is_array(value):
            return True
        value = members(value).get(step or "")
    return False
