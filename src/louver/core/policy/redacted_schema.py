"""A schema that says nothing of some names: what would tell them is left out, which only makes it looser.

::

    names   {"ssn"}
    S       {"properties": {"id": {"type": "integer"}, "kind": {"enum": ["ssn", "passport"]}},
             "propertyNames": {"pattern": "^(id|kind|ssn)$"}}
    ->      {"properties": {"id": {"type": "integer"}, "kind": {}}}

A text tells a name if it stands in it between characters that are neither letters nor digits, however it is written
(`louver.core.policy.name_variants`). A keyword that tells one is dropped, unless it gets looser with its argument.
Source: PRIVACY.md, P6.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from louver.core.json import is_array, is_object, members, strings
from louver.core.policy.name_variants import key_of
from louver.core.schema import type_bounds
from louver.core.schema.budget import Budget, OverBudget
from louver.core.schema.combine import either, typed
from louver.core.schema.references import UnknownDialect, document
from louver.core.schema.type_bounds import Kinds

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


_TEXT: Schema = {"type": "string"}


def with_texts(visible: Schema, source: Schema, names: list[str]) -> Schema:
    """`visible` with room for any text at the root, or as the one member that has one of some names.

    Args:
        visible: What is left of the schema.
        source: The schema, which says whether there may be a text.
        names: The names.
    """
    try:
        root = document(source)
        kinds = Kinds(Budget()).of
        if not kinds(root) & ~(type_bounds.STRING | type_bounds.NULL):
            return _with_text(visible, kinds(root))
        required = {*strings(root.words.get("required"))}
        lone = [name for name in names if required <= {name}]
        may = {name: kinds(place) for name in lone if (place := root.member("properties", name)) is not None}
    except (OverBudget, UnknownDialect):
        return visible
    held: Any = members(visible).get("properties")
    if not is_object(visible) or not is_object(held):
        return visible
    room = {name: _with_text(held[name], may[name]) for name in may if name in held}
    return {**visible, "properties": {**held, **room}}


def _with_text(schema: Schema, kinds: int) -> Schema:
    if not kinds & type_bounds.STRING:
        return schema
    if not kinds & ~(type_bounds.STRING | type_bounds.NULL):
        return typed(kinds)
    parts: list[Schema] = schema["anyOf"] if is_object(schema) and schema.keys() == {"anyOf"} else [schema]
    return schema if _TEXT in parts else either([*parts, _TEXT])
