"""Random schemas of draft 2020-12, 2019-09 and 7, with every keyword that has a derivation rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT7, DRAFT201909, DRAFT202012

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

Draft = Literal["2020-12", "2019-09", "7"]

NAMES = ("a", "b", "c", "x-a", "x-b", "ab", "")
PATTERNS = ("^a", "b", "^x-", "^[ab]$", "^(a|b)$", "^.?$", "(?=a)", "")
SCALARS: tuple[Any, ...] = (None, True, False, 0, 1, 1.0, 2, "", "a", "ab", "2020-01-01")
TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")

SCHEMA_OF: dict[Draft, str] = {
    "2020-12": "https://json-schema.org/draft/2020-12/schema",
    "2019-09": "https://json-schema.org/draft/2019-09/schema",
    "7": "http://json-schema.org/draft-07/schema#",
}
_DIALECT = {"2020-12": DRAFT202012, "2019-09": DRAFT201909, "7": DRAFT7}
_HOST = "http://louver.example/"


def random_schema(rng: Random, draft: Draft) -> Any:
    """A schema in which no chain of in-place references runs in a circle."""
    while True:
        schema = _Schemas(rng, draft).document()
        if not has_circle(schema, draft):
            return schema


def constant(rng: Random, depth: int = 2) -> Any:
    """A small value."""
    kind = rng.randrange(8) if depth else 0
    if kind < 5:
        return rng.choice(SCALARS)
    if kind == 5:
        return [constant(rng, depth - 1) for _ in range(rng.randrange(3))]
    return {rng.choice(NAMES): constant(rng, depth - 1) for _ in range(rng.randrange(4))}


class _Schemas:
    def __init__(self, rng: Random, draft: Draft) -> None:
        self.rng = rng
        self.draft: Draft = draft
        self.left = rng.choice((3, 4, 5, 6, 12, 20, 32))
        self.references: list[str] = []
        self.words = self._common()
        self.words += self._draft_7() if draft == "7" else self._draft_2019()
        if draft == "2020-12":
            self.words += [self._prefix_items, self._prefix_items, self._dynamic]
        else:
            self.words += [self._item_list, self._item_list]

    def document(self) -> Any:
        rng = self.rng
        defs = "definitions" if self.draft == "7" else "$defs"
        rooted = rng.random() < 0.15
        count = rng.choice((0, 0, 1, 2, 3))
        self.references = ["#", *(f"#/{defs}/d{number}" for number in range(count)), "#/properties/a"]
        if count and rng.random() < 0.3:
            self.references.append("#anchor")
        if count and rng.random() < 0.3:
            self.references.append(f"{_HOST}part")
        if rng.random() < 0.05:
            self.references.append("#/nowhere")
        schema = self.at(3)
        if isinstance(schema, bool):
            return schema
        if count:
            schema[defs] = {f"d{number}": self.at(2) for number in range(count)}
            self._name(schema[defs])
        if self.draft != "2020-12" or rng.random() < 0.1:
            schema["$schema"] = SCHEMA_OF[self.draft]
        if rooted:
            schema["$id"] = f"{_HOST}root"
        if "$dynamicRef" in str(schema):
            schema["$dynamicAnchor"] = "node"
        return schema

    def _name(self, parts: dict[str, Any]) -> None:
        """Give one definition an anchor, and make another a resource of its own, if they are referred to."""
        objects = [part for part in parts.values() if isinstance(part, dict)]
        if "#anchor" in self.references and objects:
            chosen = self.rng.choice(objects)
            if self.draft == "7":
                chosen["$id"] = "#anchor"
            else:
                chosen["$anchor"] = "anchor"
        whole = [part for part in objects if "$id" not in part]
        if f"{_HOST}part" in self.references and whole:
            self.rng.choice(whole)["$id"] = f"{_HOST}part"

    def at(self, depth: int) -> Any:
        """A schema with room for `depth` levels below it."""
        rng = self.rng
        self.left -= 1
        if depth <= 0 or self.left <= 0 or rng.random() < 0.08:
            return self._small()
        schema: dict[str, Any] = {}
        if rng.random() < 0.35:
            # One keyword alone, or beside a reference: references are written in place where that is the same.
            rng.choice(self.words)(schema, depth)
            if rng.random() < 0.3:
                self._reference(schema, depth)
            return schema
        if rng.random() < 0.5:
            self._type(schema, depth)
        for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 4))):
            rng.choice(self.words)(schema, depth)
        if rng.random() < 0.05:
            schema["title"] = "secret"
        return schema

    def _small(self) -> Any:
        rng = self.rng
        pick = rng.randrange(8)
        if pick == 0:
            return True
        if pick == 1:
            return rng.random() < 0.5
        schema: dict[str, Any] = {}
        if pick < 5:
            self._type(schema, 0)
        if pick == 5 and self.references:
            schema["$ref"] = rng.choice(self.references)
        if pick > 5:
            rng.choice((self._const, self._enum, self._scalars, self._required))(schema, 0)
        return schema

    def _common(self) -> list[Callable[[dict[str, Any], int], None]]:
        return [
            *(self._type, self._const, self._enum, self._enum, self._scalars),
            *(self._properties, self._properties, self._properties, self._patterns, self._patterns),
            *(self._additional, self._additional, self._required, self._required, self._counts),
            *(self._property_names, self._items, self._items, self._lengths, self._contains, self._contains),
            *(self._all_of, self._any_of, self._any_of, self._one_of, self._one_of, self._not),
            *(self._if, self._if, self._reference, self._reference, self._reference),
        ]

    def _draft_7(self) -> list[Callable[[dict[str, Any], int], None]]:
        return [self._dependencies, self._dependencies]

    def _draft_2019(self) -> list[Callable[[dict[str, Any], int], None]]:
        return [
            *(self._dependent_required, self._dependent_schemas),
            *(self._contain_counts, self._contain_counts, self._unevaluated, self._unevaluated),
        ]

    def _type(self, schema: dict[str, Any], depth: int) -> None:
        rng = self.rng
        if depth and rng.random() < 0.6:
            schema["type"] = rng.choice(("object", "object", "array"))
        elif rng.random() < 0.6:
            schema["type"] = rng.choice(TYPES)
        else:
            schema["type"] = rng.sample(TYPES, rng.randrange(1, 5))

    def _const(self, schema: dict[str, Any], depth: int) -> None:
        schema["const"] = constant(self.rng)

    def _enum(self, schema: dict[str, Any], depth: int) -> None:
        schema["enum"] = [constant(self.rng, 3) for _ in range(self.rng.randrange(1, 5))]

    def _scalars(self, schema: dict[str, Any], depth: int) -> None:
        rng = self.rng
        keyword, argument = rng.choice(
            (
                ("minimum", 1),
                ("maximum", 1),
                ("exclusiveMinimum", 0),
                ("multipleOf", 2),
                ("minLength", 1),
                ("maxLength", 1),
                ("pattern", "^a"),
                ("format", "date"),
                ("contentMediaType", "application/json"),
            )
        )
        schema[keyword] = argument

    def _properties(self, schema: dict[str, Any], depth: int) -> None:
        names = self.rng.sample(NAMES, self.rng.randrange(1, 4))
        schema["properties"] = {name: self.at(depth - 1) for name in names}

    def _patterns(self, schema: dict[str, Any], depth: int) -> None:
        patterns = self.rng.sample(PATTERNS, self.rng.randrange(1, 3))
        schema["patternProperties"] = {pattern: self.at(depth - 1) for pattern in patterns}

    def _additional(self, schema: dict[str, Any], depth: int) -> None:
        schema["additionalProperties"] = False if self.rng.random() < 0.5 else self.at(depth - 1)

    def _required(self, schema: dict[str, Any], depth: int) -> None:
        schema["required"] = self.rng.sample(NAMES, self.rng.randrange(1, 3))

    def _counts(self, schema: dict[str, Any], depth: int) -> None:
        schema[self.rng.choice(("minProperties", "maxProperties"))] = self.rng.randrange(4)

    def _property_names(self, schema: dict[str, Any], depth: int) -> None:
        rng = self.rng
        schema["propertyNames"] = rng.choice(
            ({"pattern": rng.choice(PATTERNS)}, {"enum": rng.sample(NAMES, 3)}, {"maxLength": 2})
        )
        if rng.random() < 0.3:
            schema["propertyNames"] = self.at(depth - 2)

    def _items(self, schema: dict[str, Any], depth: int) -> None:
        schema["items"] = self.at(depth - 1)

    def _lengths(self, schema: dict[str, Any], depth: int) -> None:
        rng = self.rng
        if rng.random() < 0.5:
            schema["uniqueItems"] = rng.random() < 0.9
        else:
            schema[rng.choice(("minItems", "maxItems"))] = rng.randrange(4)

    def _contains(self, schema: dict[str, Any], depth: int) -> None:
        schema["contains"] = self.at(depth - 1)

    def _contain_counts(self, schema: dict[str, Any], depth: int) -> None:
        if self.rng.random() < 0.8:
            self._contains(schema, depth)
        schema[self.rng.choice(("minContains", "maxContains"))] = self.rng.randrange(3)

    def _prefix_items(self, schema: dict[str, Any], depth: int) -> None:
        schema["prefixItems"] = [self.at(depth - 1) for _ in range(self.rng.randrange(1, 3))]

    def _item_list(self, schema: dict[str, Any], depth: int) -> None:
        schema["items"] = [self.at(depth - 1) for _ in range(self.rng.randrange(1, 3))]
        if self.rng.random() < 0.5:
            schema["additionalItems"] = self.at(depth - 1)

    def _unevaluated(self, schema: dict[str, Any], depth: int) -> None:
        keyword = self.rng.choice(("unevaluatedProperties", "unevaluatedItems"))
        schema[keyword] = False if self.rng.random() < 0.5 else self.at(depth - 1)

    def _dependent_required(self, schema: dict[str, Any], depth: int) -> None:
        rng = self.rng
        names = rng.sample(NAMES, rng.randrange(1, 3))
        schema["dependentRequired"] = {name: rng.sample(NAMES, rng.randrange(1, 3)) for name in names}

    def _dependent_schemas(self, schema: dict[str, Any], depth: int) -> None:
        names = self.rng.sample(NAMES, self.rng.randrange(1, 3))
        schema["dependentSchemas"] = {name: self.at(depth - 1) for name in names}

    def _dependencies(self, schema: dict[str, Any], depth: int) -> None:
        rng = self.rng
        names = rng.sample(NAMES, rng.randrange(1, 3))
        schema["dependencies"] = {
            name: rng.sample(NAMES, 2) if rng.random() < 0.5 else self.at(depth - 1) for name in names
        }

    def _dynamic(self, schema: dict[str, Any], depth: int) -> None:
        if self.rng.random() < 0.3:
            schema["$dynamicRef"] = "#node"

    def _branches(self, depth: int) -> list[Any]:
        return [self.at(depth - self.rng.randrange(2)) for _ in range(self.rng.choice((1, 1, 2, 3)))]

    def _all_of(self, schema: dict[str, Any], depth: int) -> None:
        schema["allOf"] = self._branches(depth)

    def _any_of(self, schema: dict[str, Any], depth: int) -> None:
        schema["anyOf"] = self._branches(depth)

    def _one_of(self, schema: dict[str, Any], depth: int) -> None:
        schema["oneOf"] = self._branches(depth)

    def _not(self, schema: dict[str, Any], depth: int) -> None:
        schema["not"] = self.at(depth - 1)

    def _if(self, schema: dict[str, Any], depth: int) -> None:
        for keyword in ("if", "then", "else"):
            if self.rng.random() < 0.75:
                schema[keyword] = self.at(depth - 1)

    def _reference(self, schema: dict[str, Any], depth: int) -> None:
        schema["$ref"] = self.rng.choice(self.references)


def in_place(schema: dict[str, Any], draft: Draft) -> Iterator[Any]:
    """The schemas below `schema` that are applied to the same value."""
    for keyword in ("allOf", "anyOf", "oneOf"):
        yield from schema.get(keyword, ())
    for keyword in ("not", "if", "then", "else"):
        if keyword in schema:
            yield schema[keyword]
    for part in schema.get("dependencies" if draft == "7" else "dependentSchemas", {}).values():
        if not isinstance(part, list):
            yield part


def references(schema: dict[str, Any]) -> list[str]:
    """The references that stand in `schema` itself; a dynamic one may lead to the root here."""
    found = [schema["$ref"]] if "$ref" in schema else []
    return [*found, "#"] if "$dynamicRef" in schema else found


def has_circle(schema: Any, draft: Draft) -> bool:
    """Whether in-place references run in a circle, which has no meaning and stops no validator."""
    if not isinstance(schema, dict) or ("$ref" not in str(schema) and "$dynamicRef" not in str(schema)):
        return False
    dialect = _DIALECT[draft]
    resource = dialect.create_resource(schema)
    base = resource.id() or ""
    start = Registry().with_resource(base, resource).resolver(base)
    open_or_done: dict[int, bool] = {}

    def runs_back(part: Any, resolver: Any) -> bool:
        if not isinstance(part, dict):
            return False
        if id(part) in open_or_done:
            return open_or_done[id(part)]
        open_or_done[id(part)] = True
        inner = resolver.in_subresource(dialect.create_resource(part))
        back = False
        for below in in_place(part, draft):
            back = runs_back(below, inner) or back
        for reference in references(part):
            try:
                target = inner.lookup(reference)
            except Unresolvable:
                continue
            except AttributeError:
                # `referencing` cannot search draft 7 `dependencies` of both forms at once: left out.
                return True
            back = runs_back(target.contents, target.resolver) or back
        open_or_done[id(part)] = back
        return back

    def anywhere(part: Any, resolver: Any) -> bool:
        if not isinstance(part, dict):
            return False
        inner = resolver.in_subresource(dialect.create_resource(part))
        below = dialect.create_resource(part).subresources()
        return runs_back(part, resolver) or any(anywhere(each.contents, inner) for each in below)

    return anywhere(schema, start)
