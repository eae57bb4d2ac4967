"""Inferred schemas: the types and members that the values of an answer show, where a server declares nothing.

    infer([{"id": 1, "tags": []}, {"id": 2.5, "tags": ["a", null]}])
    {"type": "object", "required": ["id", "tags"], "properties": {
      "id": {"type": "number"}, "tags": {"type": "array", "items": {"type": ["null", "string"]}}}}

Laws (`tests/core/schema/test_infer.py`): every sample satisfies the schema; the order of samples and members does not
matter.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from louver.core.json import Json, Schema, is_array, is_object
from louver.limits import MAX_INFERRED_DEPTH, MAX_INFERRED_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable

# The first that fits is right: a `bool` is an `int` too. Everything else is a `number`.
_TYPES = ((type(None), "null"), (bool, "boolean"), (int, "integer"), (str, "string"), (list, "array"), (dict, "object"))


def infer(values: Iterable[Json]) -> Schema:
    """The 2020-12 schema of samples of one thing; it says nothing below `MAX_INFERRED_DEPTH` levels."""
    return _of(list(values), MAX_INFERRED_DEPTH)


def closed(inferred: Schema) -> Schema:
    """An inferred schema that admits only the members seen, where it lists them."""
    if not is_object(inferred):
        return inferred
    out = {**inferred}
    for keyword in ("items", "additionalProperties"):
        if keyword in out:
            out[keyword] = closed(out[keyword])
    if "properties" in out:
        out["properties"] = {name: closed(schema) for name, schema in out["properties"].items()}
        out["additionalProperties"] = False
    return out


def unsettled(inferred: Schema) -> Any:
    """An inferred schema for future answers: what was always null may be anything."""
    if not is_object(inferred):
        return inferred
    if inferred == {"type": "null"}:
        return {}
    out = {**inferred}
    for keyword in ("items", "additionalProperties"):
        if keyword in out:
            out[keyword] = unsettled(out[keyword])
    if "properties" in out:
        out["properties"] = {name: unsettled(schema) for name, schema in out["properties"].items()}
    return out


def _of(samples: list[Json], levels: int) -> Schema:
    if not samples or not levels:
        return True
    types = {_type_of(kind) for kind in set(map(type, samples))}
    if "number" in types:
        types.discard("integer")
    schema: dict[str, Any] = {"type": sorted(types) if len(types) > 1 else min(types)}
    if "object" in types:
        schema |= _members([sample for sample in samples if is_object(sample)], levels - 1)
    if "array" in types:
        schema |= _elements([sample for sample in samples if is_array(sample)], levels - 1)
    return schema


def _members(objects: list[dict[str, Any]], levels: int) -> dict[str, Any]:
    found: dict[str, list[Json]] = {}
    for sample in objects:
        for name, member in sample.items():
            found.setdefault(name, []).append(member)
    # So many names are data: a map by id, for example.
    if len(found) > MAX_INFERRED_NAMES:
        return {"additionalProperties": _of([*chain.from_iterable(found.values())], levels)}
    names = sorted(found)
    required = [name for name in names if len(found[name]) == len(objects)]
    keywords = {"required": required, "properties": {name: _of(found[name], levels) for name in names}}
    return {keyword: argument for keyword, argument in keywords.items() if argument}


def _elements(arrays: list[list[Json]], levels: int) -> dict[str, Any]:
    found = [*chain.from_iterable(arrays)]
    return {"items": _of(found, levels)} if found else {}


def _type_of(kind: type) -> str:
    return next((name for base, name in _TYPES if issubclass(kind, base)), "number")
