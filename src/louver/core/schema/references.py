"""Schemas in their documents: where a schema stands, and where its references lead.

A `Place` is a schema and the resource that its references start from. `$id` and older dialects are resolved here::

    {"$ref": "#/$defs/user", "$defs": {"user": {...}}}      place.resolve("#/$defs/user")

Nothing is ever fetched: a reference out of the document has no place. Older dialects read as 2020-12 (`Place.words`).
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import unquote, urldefrag, urljoin

from louver.core.json import Schema, is_array, is_object
from louver.core.schema.applicators import DEFINITIONS, ONE_SCHEMA, SCHEMA_LIST, SCHEMA_MAP

Dialect = Literal["2020-12", "2019-09", "7", "6"]

_DIALECTS: dict[str, Dialect] = {
    "https://json-schema.org/draft/2020-12/schema": "2020-12",
    "https://json-schema.org/draft/2019-09/schema": "2019-09",
    "http://json-schema.org/draft-07/schema": "7",
    "http://json-schema.org/draft-06/schema": "6",
    "https://json-schema.org/schema": "2020-12",
    "http://json-schema.org/schema": "2020-12",
}
# Dialects in which a `$ref` stands alone, and a `$id` that is a fragment is an anchor.
_OLD = ("7", "6")

# Keywords without meaning before 2019-09.
_LATER = (
    "dependentRequired dependentSchemas unevaluatedItems unevaluatedProperties minContains maxContains"
    " $anchor $dynamicAnchor $dynamicRef $recursiveRef"
).split()

_POSITION = re.compile(r"0|[1-9][0-9]{0,8}")


class UnknownDialect(Exception):
    """A schema is in a dialect that is not known here, so its keywords may mean anything."""


class _Document:
    def __init__(self) -> None:
        self.scopes: dict[int, _Scope] = {}  # by the id of a schema with a `$id`
        self.resources: dict[str, _Scope] = {}
        self.anchors: dict[tuple[str, str], Place] = {}
        self.unsearched: list[Place] = []

    def search(self) -> None:
        """Find every resource and anchor, once; the first of several with one name counts."""
        while self.unsearched:
            place = self.unsearched.pop()
            scope = place.scope
            if scope.contents is place.schema:
                self.resources.setdefault(scope.uri, scope)
            for anchor in _anchors(place):
                self.anchors.setdefault((scope.uri, anchor), place)
            self.unsearched.extend(reversed(_inner(place)))


class _Scope:
    def __init__(self, contents: Schema, uri: str, dialect: Dialect, document: _Document) -> None:
        self.contents = contents
        self.uri = uri
        self.dialect: Dialect = dialect
        self.document = document
        self.found: dict[str, Place | None] = {}
        self.words: dict[int, dict[str, Any]] = {}


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """One schema in its resource; equal to the same schema object in the same resource."""

    schema: Schema
    scope: _Scope

    @property
    def key(self) -> tuple[int, int]:
        """Equal for the same schema in the same resource; valid as long as the document exists."""
        return id(self.schema), id(self.scope)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Place) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def words(self) -> dict[str, Any]:
        """The keywords as 2020-12 writes them; empty for a boolean schema."""
        if not is_object(self.schema):
            return {}
        if self.scope.dialect == "2020-12":
            return self.schema
        words = self.scope.words.get(id(self.schema))
        if words is None:
            words = self.scope.words[id(self.schema)] = _modern(self.schema, self.scope.dialect)
        return words

    def at(self, schema: Any) -> Place:
        """The place of a schema within this one. Raises `UnknownDialect` if that declares an unknown one."""
        if not is_object(schema):
            # A boolean; or no schema at all, and then nothing is known of it.
            return Place(schema is not False, self.scope)
        if schema is self.scope.contents or not (identifier := _identifier(schema, self.scope.dialect)):
            return Place(schema, self.scope)
        scopes = self.scope.document.scopes
        if id(schema) not in scopes:
            uri = _joined(self.scope.uri, identifier)[0]
            dialect = _dialect(schema, self.scope.dialect)
            scopes[id(schema)] = _Scope(schema, uri, dialect, self.scope.document)
        return Place(schema, scopes[id(schema)])

    def below(self, keyword: str) -> list[Place]:
        """The places of a keyword's schemas, in their order; empty if it is absent or malformed."""
        argument: Any = self.words.get(keyword)
        if argument is None:
            return []
        if keyword in ONE_SCHEMA:
            return [self.at(argument)]
        if keyword in SCHEMA_LIST:
            return [self.at(schema) for schema in argument] if is_array(argument) else []
        return [self.at(schema) for schema in argument.values()] if is_object(argument) else []

    def named(self, keyword: str) -> dict[str, Place]:
        argument: Any = self.words.get(keyword)
        if not is_object(argument):
            return {}
        return {name: self.at(schema) for name, schema in argument.items()}

    def member(self, keyword: str, name: str) -> Place | None:
        argument: Any = self.words.get(keyword)
        return self.at(argument[name]) if is_object(argument) and name in argument else None

    def resolve(self, reference: object) -> Place | None:
        """The target of a reference; `None` if it is not within the document. Raises `UnknownDialect`."""
        if not isinstance(reference, str):
            return None
        found = self.scope.found
        if reference not in found:
            found[reference] = self._looked_up(reference)
        return found[reference]

    def _looked_up(self, reference: str) -> Place | None:
        uri, fragment = _joined(self.scope.uri, reference)
        found = self.scope.document
        if uri != self.scope.uri or (fragment and not fragment.startswith("/")):
            found.search()
        if fragment and not fragment.startswith("/"):
            return found.anchors.get((uri, unquote(fragment)))
        scope = self.scope if uri == self.scope.uri else found.resources.get(uri)
        if scope is None:
            return None
        root = Place(scope.contents, scope)
        return root._pointed(unquote(fragment[1:]).split("/")) if fragment else root

    def _pointed(self, tokens: list[str]) -> Place | None:
        """The target of a JSON Pointer; resources on the way are entered."""
        place: Place = self
        target: Any = self.schema
        is_schema = True
        for index, token in enumerate(tokens):
            token = token.replace("~1", "/").replace("~0", "~")
            if is_object(target) and token in target:
                # A `$id` counts only in a schema; `properties` can have a member of that name.
                is_schema = not is_schema or token in ONE_SCHEMA
                target = target[token]
            elif is_array(target) and _POSITION.fullmatch(token) and int(token) < len(target):
                is_schema, target = True, target[int(token)]
            else:
                return None
            if is_object(target) and is_schema and index < len(tokens) - 1:
                place = place.at(target)
        return place.at(target) if isinstance(target, bool) or is_object(target) else None


def document(schema: Schema) -> Place:
    """The place of a whole document; `UnknownDialect` if its `$schema` is not known."""
    dialect = _dialect(schema, "2020-12")
    uri = _joined("", _identifier(schema, dialect))[0] if is_object(schema) else ""
    found = _Document()
    place = Place(schema, _Scope(schema, uri, dialect, found))
    found.unsearched.append(place)
    return place


def _inner(place: Place) -> list[Place]:
    schemas: list[Any] = []
    for keyword, argument in place.words.items():
        if keyword in ONE_SCHEMA:
            schemas.append(argument)
        elif keyword in SCHEMA_LIST and is_array(argument):
            schemas += argument
        elif keyword in SCHEMA_MAP and is_object(argument):
            schemas += argument.values()
    if is_object(place.schema):
        for keyword in DEFINITIONS:
            if is_object(held := place.schema.get(keyword)):
                schemas += held.values()
    places: list[Place] = []
    for schema in schemas:
        if is_object(schema):
            with suppress(UnknownDialect):
                places.append(place.at(schema))
    return places


def _anchors(place: Place) -> list[str]:
    schema: dict[str, Any] = place.schema if is_object(place.schema) else {}
    if place.scope.dialect in _OLD:
        named: list[Any] = [schema.get("$id")] if "$ref" not in schema else []
        return [name[1:] for name in named if isinstance(name, str) and name.startswith("#")]
    return [name for key in ("$anchor", "$dynamicAnchor") if isinstance(name := schema.get(key), str)]


def _identifier(schema: dict[str, Any], dialect: Dialect) -> str:
    """The `$id` that makes a schema a resource of its own; empty if it is none."""
    identifier: object = schema.get("$id")
    if not isinstance(identifier, str) or identifier.startswith("#"):
        return ""
    # An older dialect ignores keywords next to `$ref`, unless the schema names a newer one.
    return "" if _dialect(schema, dialect) in _OLD and "$ref" in schema else identifier


def _joined(base: str, reference: str) -> tuple[str, str]:
    """The URI without a fragment, and the fragment, of a reference in `base`."""
    if reference.startswith("#"):
        return base, reference[1:]
    try:
        uri, fragment = urldefrag(urljoin(base, reference))
    except ValueError:
        # Not a URI, so not a URI of this document.
        return reference, ""
    return uri, fragment


def _dialect(schema: Schema, default: Dialect) -> Dialect:
    named: object = schema.get("$schema") if is_object(schema) else None
    if named is None:
        return default
    dialect = _DIALECTS.get(named.rstrip("#")) if isinstance(named, str) else None
    if dialect is None:
        raise UnknownDialect(named)
    return dialect


def _modern(schema: dict[str, Any], dialect: Dialect) -> dict[str, Any]:
    """The keywords of an older dialect as 2020-12 writes them; the schemas below stay the same objects."""
    if dialect in _OLD and isinstance(schema.get("$ref"), str):
        return {"$ref": schema["$ref"]}
    words = {name: argument for name, argument in schema.items() if name not in ("prefixItems", "additionalItems")}
    if is_array(schema.get("items")):
        words["prefixItems"] = words.pop("items")
        if "additionalItems" in schema:
            words["items"] = schema["additionalItems"]
    if dialect in _OLD:
        for later in _LATER if dialect == "7" else (*_LATER, "if", "then", "else"):
            words.pop(later, None)
        needs: Any = words.pop("dependencies", None)
        for name, needed in needs.items() if is_object(needs) else ():
            group = "dependentRequired" if is_array(needed) else "dependentSchemas"
            words.setdefault(group, {})[name] = needed
    return words
