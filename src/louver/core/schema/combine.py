"""Combinations of schemas: all of several, one of several, or null. `True` and `False` among them are simplified.

both([True, {"type": "object"}])    {"type": "object"}
either([False, {"const": 1}])       {"const": 1}
or_null({"type": "object"})         {"type": ["null", "object"]}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from louver.core.json import is_object, strings
from louver.core.schema import type_bounds

if TYPE_CHECKING:
    from louver.core.json import Schema


# Keywords that can refuse null next to a `type`.
_SAY_OF_NULL = ("$ref", "allOf", "anyOf", "oneOf", "not", "if", "enum", "const")


def both(parts: list[Schema]) -> Schema:
    if False in parts:
        return False
    asserting = [part for part in parts if part is not True and part != {}]
    if not asserting:
        return True
    return asserting[0] if len(asserting) == 1 else {"allOf": asserting}


def joined(conjuncts: list[Schema]) -> Schema:
    """All of them at once, in one object as far as their keywords do not collide."""
    first, *others = conjuncts
    apart: list[Schema] = []
    for part in others:
        alone = is_object(part) and part.keys() in ({"$ref"}, {"anyOf"})
        if alone and is_object(first) and is_object(part) and first.keys().isdisjoint(part):
            first.update(part)
        else:
            apart.append(part)
    if not apart:
        return first
    if is_object(first) and first and "allOf" not in first:
        return {**first, "allOf": apart}
    return both([first, *apart])


def either(parts: list[Schema]) -> Schema:
    if True in parts or {} in parts:
        return True
    possible = [part for part in parts if part is not False]
    if not possible:
        return False
    return possible[0] if len(possible) == 1 else {"anyOf": possible}


def or_null(schema: Schema) -> Schema:
    if isinstance(schema, bool):
        return schema or {"type": "null"}
    if not schema:
        return schema
    names: Any = schema.get("type")
    names = [names] if isinstance(names, str) else strings(names)
    if names and schema.keys().isdisjoint(_SAY_OF_NULL):
        return schema if "null" in names else {**schema, "type": sorted([*names, "null"])}
    branches: list[Schema] = schema["anyOf"] if schema.keys() == {"anyOf"} else [schema]
    return {"anyOf": branches if {"type": "null"} in branches else [*branches, {"type": "null"}]}


def typed(kinds: int) -> dict[str, Any]:
    names = type_bounds.type_names(kinds)
    return {"type": names[0] if len(names) == 1 else names}
