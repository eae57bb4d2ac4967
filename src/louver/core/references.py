"""Schemas in their documents: where a schema stands, and where its references lead.

A `Place` is one schema together with the resource that its references start
from. Everything that walks a schema walks places, so that `$ref`, `$id`,
`$anchor` and the dialects are dealt with here and nowhere else::

    {"$ref": "#/$defs/user", "$defs": {"user": {...}}}      place.resolve("#/$defs/user")

Nothing is ever fetched: a reference that leads out of the document has no
place, and whoever walks treats it as a schema of which nothing is known.

Older dialects are read in the words of 2020-12 (`Place.words`): `items` as a
list is `prefixItems`, `dependencies` is `dependentRequired` and
`dependentSchemas`, and draft 7 ignores what stands beside a `$ref`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from referencing import Registry, Specification
from referencing import Resource as _Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT7, DRAFT201909, DRAFT202012

from louver.core.json import Schema, is_array, is_object

_DIALECTS: dict[str, Specification[Any]] = {
    "https://json-schema.org/draft/2020-12/schema": DRAFT202012,
    "https://json-schema.org/draft/2019-09/schema": DRAFT201909,
    "http://json-schema.org/draft-07/schema": DRAFT7,
    "http://json-schema.org/draft-06/schema": DRAFT7,
    "https://json-schema.org/schema": DRAFT202012,
    "http://json-schema.org/schema": DRAFT202012,
}

ONE = frozenset(
    {
        "additionalProperties",
        "unevaluatedProperties",
        "propertyNames",
        "items",
        "unevaluatedItems",
        "contains",
        "not",
        "if",
        "then",
        "else",
        "contentSchema",
    }
)
"""Keywords of 2020-12 whose argument is one schema."""

MANY = frozenset({"prefixItems", "allOf", "anyOf", "oneOf"})
"""Keywords of 2020-12 whose argument is a list of schemas."""

NAMED = frozenset({"properties", "patternProperties", "dependentSchemas"})
"""Keywords of 2020-12 whose argument is an object of schemas."""


class UnknownDialect(Exception):
    """A schema is written in a dialect that is not known here, so its words may mean anything."""


class _Scope:
    """One schema resource: what `#` means in it, and its dialect."""

    def __init__(self, contents: Schema, resolver: Any, dialect: Specification[Any]) -> None:
        self.contents = contents
        self.resolver = resolver
        self.dialect = dialect
        self.found: dict[str, Place | None] = {}
        self.words: dict[int, dict[str, Any]] = {}
        self.inner: dict[int, _Scope] = {}


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """One schema, and the resource in which it stands. Equal to the same schema in the same resource."""

    schema: Schema
    scope: _Scope

    @property
    def key(self) -> tuple[int, int]:
        """Equal for the same schema in the same resource; valid while the document is."""
        return id(self.schema), id(self.scope)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Place) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def words(self) -> dict[str, Any]:
        """The keywords, in the words of 2020-12; empty for a boolean schema."""
        if not is_object(self.schema):
            return {}
        if self.scope.dialect is DRAFT202012:
            return self.schema
        words = self.scope.words.get(id(self.schema))
        if words is None:
            words = self.scope.words[id(self.schema)] = _modern(self.schema, self.scope.dialect)
        return words

    def at(self, schema: Any) -> Place:
        """The place of a schema that stands within this one."""
        if not is_object(schema):
            # Neither an object nor a boolean is not a schema: nothing is known of it.
            return Place(schema is not False, self.scope)
        identifier: object = schema.get("$id")
        if not isinstance(identifier, str) or schema is self.scope.contents:
            return Place(schema, self.scope)
        scope = self.scope.inner.get(id(schema))
        if scope is None:
            scope = self.scope.inner[id(schema)] = self._embedded(schema)
        return Place(schema, scope)

    def below(self, keyword: str) -> list[Place]:
        """The places of a keyword's schemas, in their order; empty if it is absent or not well formed."""
        argument: Any = self.words.get(keyword)
        if argument is None:
            return []
        if keyword in ONE:
            return [self.at(argument)]
        if keyword in MANY:
            return [self.at(schema) for schema in argument] if is_array(argument) else []
        return [self.at(schema) for schema in argument.values()] if is_object(argument) else []

    def named(self, keyword: str) -> dict[str, Place]:
        """The places of a keyword that is an object of schemas."""
        argument: Any = self.words.get(keyword)
        if not is_object(argument):
            return {}
        return {name: self.at(schema) for name, schema in argument.items()}

    def resolve(self, reference: object) -> Place | None:
        """The place that a reference leads to; `None` if that is not within the document.

        Raises:
            UnknownDialect: The target is written in a dialect that is not known.
        """
        if not isinstance(reference, str):
            return None
        found = self.scope.found
        if reference not in found:
            found[reference] = self._pointed(reference) or self._looked_up(reference)
        return found[reference]

    def _pointed(self, reference: str) -> Place | None:
        """The target of `#` or `#/...`, where no embedded resource lies on the way."""
        if reference not in ("", "#") and not reference.startswith("#/"):
            return None
        target: Any = self.scope.contents
        for token in unquote(reference[2:]).split("/") if reference[2:] else []:
            token = token.replace("~1", "/").replace("~0", "~")
            if is_object(target) and token in target:
                target = target[token]
            elif is_array(target) and token.isdigit() and int(token) < len(target):
                target = target[int(token)]
            else:
                return None
            if is_object(target) and "$id" in target:
                return None
        return Place(target, self.scope) if isinstance(target, bool) or is_object(target) else None

    def _looked_up(self, reference: str) -> Place | None:
        try:
            resolved = self.scope.resolver.lookup(reference)
            contents: Schema = resolved.resolver.lookup("#").contents
        except (Unresolvable, ValueError):
            return None
        target: Any = resolved.contents
        if not isinstance(target, bool) and not is_object(target):
            return None
        if contents is self.scope.contents:
            return Place(target, self.scope)
        scope = self.scope.inner.get(id(contents))
        if scope is None:
            dialect = _dialect(contents, self.scope.dialect)
            scope = self.scope.inner[id(contents)] = _Scope(contents, resolved.resolver, dialect)
        return Place(target, scope)

    def _embedded(self, schema: dict[str, Any]) -> _Scope:
        dialect = _dialect(schema, self.scope.dialect)
        resource = _Resource(contents=schema, specification=dialect)
        identifier = resource.id()
        if identifier is None or (dialect is DRAFT7 and "$ref" in schema):
            # A bare fragment names an anchor, and draft 7 ignores what stands beside `$ref`.
            return self.scope
        return _Scope(schema, self.scope.resolver.in_subresource(resource), dialect)


def document(schema: Schema) -> Place:
    """The place of a whole schema document.

    Raises:
        UnknownDialect: Its `$schema` names a dialect that is not known.
    """
    dialect = _dialect(schema, DRAFT202012)
    resource = _Resource(contents=schema, specification=dialect)
    registry: Registry[Any] = Registry()
    identifier = (resource.id() or "") if is_object(schema) else ""
    resolver = registry.with_resource(identifier, resource).resolver(identifier)
    return Place(schema, _Scope(schema, resolver, dialect))


def _dialect(schema: Schema, default: Specification[Any]) -> Specification[Any]:
    named: object = schema.get("$schema") if is_object(schema) else None
    if named is None:
        return default
    dialect = _DIALECTS.get(named.rstrip("#")) if isinstance(named, str) else None
    if dialect is None:
        raise UnknownDialect(named)
    return dialect


def _modern(schema: dict[str, Any], dialect: Specification[Any]) -> dict[str, Any]:
    """The keywords of an older dialect in the words of 2020-12; the schemas below are the same objects."""
    if dialect is DRAFT7 and isinstance(schema.get("$ref"), str):
        return {"$ref": schema["$ref"]}
    words = {
        name: argument for name, argument in schema.items() if name not in ("prefixItems", "additionalItems")
    }
    if is_array(schema.get("items")):
        words["prefixItems"] = words.pop("items")
        if "additionalItems" in schema:
            words["items"] = schema["additionalItems"]
    if dialect is DRAFT7:
        for newer in ("dependentRequired", "dependentSchemas", "unevaluatedItems", "unevaluatedProperties"):
            words.pop(newer, None)
        for newer in ("minContains", "maxContains"):
            words.pop(newer, None)
    dependencies = words.pop("dependencies", None)
    if is_object(dependencies):
        for name, needs in dependencies.items():
            group = "dependentRequired" if is_array(needs) else "dependentSchemas"
            words[group] = {**words.get(group, {}), name: needs}
    return words
