"""Whether an untrusted schema can be applied to a value in bounded work. Here a validator takes 2^n ways.

a0: allOf [a1, b1]    a1: allOf [a2, b2]    ...
b0: allOf [a1, b1]    b1: allOf [a2, b2]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from louver.core.json import is_array, is_object, members
from louver.core.schema.applicators import SCHEMA_LIST

if TYPE_CHECKING:
    from louver.core.json import Json, Schema

MAX_CHECKS = 100_000
MAX_CHECKS_A_PART = 50
"""Schema checks of an answer that a client reads, 3 s in Python, plus so many for each part. Over it: shape only."""


_IN_PLACE = ("not", "if", "then", "else")
_MEMBERS = ("patternProperties", "additionalProperties", "unevaluatedProperties", "propertyNames")
_ELEMENTS = ("items", "contains", "unevaluatedItems")


def is_affordable(schema: Schema, value: Json, parts: int) -> bool:
    """Whether schemas are applied no more often than `MAX_CHECKS` and `MAX_CHECKS_A_PART` for each part allow."""
    try:
        return _Count(schema, MAX_CHECKS + MAX_CHECKS_A_PART * parts).of(schema, value) >= 0
    except (_TooMany, RecursionError):
        return False


class _TooMany(Exception): ...


class _Count:
    def __init__(self, root: Schema, most: int) -> None:
        self._definitions: dict[str, Any] = members(members(root).get("$defs"))
        self._most = most
        self._known: dict[tuple[int, int], int] = {}

    def of(self, schema: Any, value: Json) -> int:
        """How often schemas are applied if this one is; each pair of a schema and a value is looked at once."""
        if not is_object(schema):
            return 1
        # All scalars cost the same.
        key = id(schema), id(value) if is_object(value) or is_array(value) else 0
        found = self._known.get(key)
        if found is None:
            # A reference cycle within one value has no meaning, and derived schemas have none.
            self._known[key] = 0
            found = self._known[key] = 1 + sum(self.of(part, of) for part, of in self._below(schema, value))
        if found > self._most or len(self._known) > self._most:
            raise _TooMany
        return found

    def _below(self, schema: dict[str, Any], value: Json) -> list[tuple[Any, Json]]:
        below: list[Any] = [schema[keyword] for keyword in _IN_PLACE if keyword in schema]
        for keyword in SCHEMA_LIST - {"prefixItems"}:
            below += schema.get(keyword, ())
        below += members(schema.get("dependentSchemas")).values()
        if "$ref" in schema:  # a derived schema refers only to its own `$defs`
            below.append(self._definitions.get(str(schema["$ref"]).removeprefix("#/$defs/")))
        applied: list[tuple[Any, Json]] = [(part, value) for part in below]
        if is_object(value):
            applied += _of_members(schema, value)
        elif is_array(value):
            applied += zip(schema.get("prefixItems", ()), value, strict=False)
            applied += [(schema[keyword], each) for keyword in _ELEMENTS if keyword in schema for each in value]
        return applied


def _of_members(schema: dict[str, Any], value: dict[str, Json]) -> list[tuple[Any, Json]]:
    listed = members(schema.get("properties"))
    applied: list[tuple[Any, Json]] = [(part, value[name]) for name, part in listed.items() if name in value]
    others = [member for name, member in value.items() if name not in listed]
    for keyword in _MEMBERS:
        if keyword == "patternProperties":
            parts = [*members(schema.get(keyword)).values()]
            applied += [(part, member) for part in parts for member in value.values()]
        elif keyword in schema:
            applied += [(schema[keyword], member) for member in others]
    return applied
