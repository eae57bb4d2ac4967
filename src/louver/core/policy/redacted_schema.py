"""A schema without some names: whatever would reveal one is left out, which only makes the schema looser.

    names   {"ssn"}
    S       {"properties": {"id": {"type": "integer"}, "kind": {"enum": ["ssn", "passport"]}}}
    ->      {"properties": {"id": {"type": "integer"}, "kind": {}}}

Source: PRIVACY.md, P6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from louver.core.json import is_array, is_object, members, strings
from louver.core.schema import type_bounds
from louver.core.schema.budget import OverBudget, StepBudget
from louver.core.schema.combine import either, typed
from louver.core.schema.references import UnknownDialect, document
from louver.core.schema.type_bounds import Kinds

if TYPE_CHECKING:
    from louver.core.json import Schema
    from louver.core.policy.revealed_names import Names


# Keywords with a schema or a list of schemas, which get looser with it.
_LOOSENS = frozenset({"allOf", "anyOf", "prefixItems", "items", "additionalProperties"})

# The same with an object of schemas.
_LOOSENS_NAMED = frozenset({"properties", "dependentSchemas", "$defs"})

# Keywords that can get tighter where something else gets looser.
_NOT_BY = frozenset(
    {"not", "if", "then", "else", "oneOf", "unevaluatedItems", "unevaluatedProperties", "maxContains", "contains"}
)


def redact_schema(schema: Schema, names: Names) -> Schema:
    """A derived schema without whatever reveals a name; it only gets looser. No property has such a name."""
    if not names.are_in(schema):
        return schema
    return _SchemaRedaction(names).schema(schema)


class _SchemaRedaction:
    def __init__(self, names: Names) -> None:
        self._names = names

    def schema(self, schema: Schema) -> Schema:
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
        """Drop patterns that reveal a name, and then `additionalProperties`: it would apply to their members."""
        patterns: dict[str, Any] = schema["patternProperties"]
        kept = {
            pattern: self.schema(each) for pattern, each in patterns.items() if not self._names.are_in_text(pattern)
        }
        if kept:
            out["patternProperties"] = kept
        if len(kept) < len(patterns):
            out.pop("additionalProperties", None)


_TEXT: Schema = {"type": "string"}


def with_texts(visible: Schema, source: Schema, names: list[str]) -> Schema:
    """`visible`, also admitting any text: at the root, or as a member of `names` if nothing else is required."""
    try:
        root = document(source)
        kinds = Kinds(StepBudget()).of
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
