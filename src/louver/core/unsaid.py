"""A schema that says nothing of some names: what would tell them is left out, which only makes it looser.

::

    names   {"ssn"}
    S       {"properties": {"id": {"type": "integer"}, "kind": {"enum": ["ssn", "passport"]}},
             "propertyNames": {"pattern": "^(id|kind|ssn)$"}}
    ->      {"properties": {"id": {"type": "integer"}, "kind": {}}}

A text tells a name if it stands in it between characters that are neither letters nor digits, however it is written
(`louver.core.twins`). A keyword that tells one is dropped whole, unless it is one that gets looser with what it holds.
Source: PRIVACY.md, P6.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from louver.core.json import is_array, is_object
from louver.core.twins import key_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from louver.core.json import Json, Schema

_LOOSENS = frozenset({"allOf", "anyOf", "prefixItems", "items", "additionalProperties"})
"""Keywords that hold schemas, and are looser with looser ones."""

_LOOSENS_NAMED = frozenset({"properties", "dependentSchemas", "$defs"})
"""Likewise, by name."""

_NOT_BY = frozenset(
    {"not", "if", "then", "else", "oneOf", "unevaluatedItems", "unevaluatedProperties", "maxContains", "contains"}
)
"""Keywords that can be tighter where something else is looser."""

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f]")


class Names:
    """Names that are not told.

    Args:
        names: The names.
    """

    def __init__(self, names: Iterable[str]) -> None:
        keys = sorted({key for name in names if (key := key_of(name))}, key=len, reverse=True)
        self._told = re.compile(f"(?<![^\\W_])(?:{'|'.join(map(re.escape, keys))})(?![^\\W_])") if keys else None

    def are_told(self, text: str) -> bool:
        """Whether a text tells one of them."""
        if self._told is None:
            return False
        # A key has no control characters, of which line breaks keep words apart.
        return any(self._told.search(key_of(each)) for each in {text, _CONTROLS.sub(" ", text)})

    def are_in(self, value: Json) -> bool:
        """Whether a text within a value does, or the name of a member."""
        todo: list[Json] = [value]
        while todo:
            value = todo.pop()
            if isinstance(value, str) and self.are_told(value):
                return True
            if is_array(value):
                todo += value
            elif is_object(value):
                todo += value
                todo += value.values()
        return False


def unsaid(schema: Schema, names: Names) -> Schema:
    """The schema without what tells one of the names; it admits all that it did.

    Args:
        schema: A derived schema: one document of draft 2020-12, without annotations.
        names: Those that it must not tell. None is a property of it.
    """
    if not names.are_in(schema):
        return schema
    return _Unsaying(names).schema(schema)


class _Unsaying:
    def __init__(self, names: Names) -> None:
        self._names = names

    def schema(self, schema: Schema) -> Schema:
        """A schema, and those within it; what would not be looser beside something looser is gone."""
        if not is_object(schema):
            return schema
        out: dict[str, Any] = {}
        for keyword, argument in schema.items():
            if keyword in _LOOSENS:
                out[keyword] = [self.schema(each) for each in argument] if is_array(argument) else self.schema(argument)
            elif keyword in _LOOSENS_NAMED and is_object(argument):
                out[keyword] = {name: self.schema(each) for name, each in argument.items()}
            elif keyword == "patternProperties" or keyword in _NOT_BY:
                continue
            elif not self._names.are_in(argument):
                out[keyword] = argument
        if "patternProperties" in schema:
            self._patterns(schema, out)
        return out

    def _patterns(self, schema: dict[str, Any], out: dict[str, Any]) -> None:
        """Patterns that tell nothing stay; where one is dropped, its members would count as additional."""
        patterns: dict[str, Any] = schema["patternProperties"]
        kept = {pattern: self.schema(each) for pattern, each in patterns.items() if not self._names.are_told(pattern)}
        if kept:
            out["patternProperties"] = kept
        if len(kept) < len(patterns):
            out.pop("additionalProperties", None)
