"""The schema of shorter values: `shorten(v, by)` of every value `v` valid under `S` is valid under `shortened(S, by)`.

    by   maxString 500, dropNulls
    S    "name": {"type": "string", "minLength": 1, "pattern": "^[A-Z]"},  "nick": {"type": ["string", "null"]}
    D    "name": {"type": "string", "minLength": 1, "maxLength": 500},     "nick": {"type": "string", "maxLength": 500}

Bounds stand wherever the schema describes something. Each group of keywords has a function, whose docstring says why it
is sound; other keywords are dropped. Laws: `tests/core/test_shaping_laws.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from louver.core.json import members, strings
from louver.core.schema import type_bounds
from louver.core.schema.budget import OverBudget
from louver.core.schema.combine import both, either, joined
from louver.core.schema.derive import Derivation, Derived
from louver.core.schema.keywords import Keywords, duty, listed_values, schemas_of
from louver.core.schema.references import UnknownDialect, document
from louver.core.shaping.shorten import shorten
from louver.core.wrapper import WRAPPER
from louver.limits import MAX_WRITTEN_SIZE

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.core.json import Json, Schema
    from louver.core.schema.references import Place
    from louver.core.shaping.shorten import Shortening


def shortened(schema: Schema, by: Shortening, *, wrapped: bool = False) -> Derived:
    """The schema of everything that `shorten` makes of a valid value: one self-contained 2020-12 document."""
    try:
        return Derived(Shortened(by, Derivation()).document(document(schema), wrapped), "exact")
    except (OverBudget, UnknownDialect):
        return Derived(Shortened(by, Derivation()).document(document(True), wrapped), "shape")


class Shortened:
    """One walk over a schema, each reference target visited once; `tools` may be those of a walk around it."""

    def __init__(self, by: Shortening, tools: Derivation) -> None:
        self.by = by
        self.tools = tools

    def document(self, root: Place, wrapped: bool) -> Schema:
        schema = self._wrapper(root) if wrapped else self.at(root)
        return self.tools.definitions.finish(schema, MAX_WRITTEN_SIZE)

    def at(self, place: Place, there: int = type_bounds.ANY, *, bounds: bool = True) -> Schema:
        """The shortened schema of a place. `there`: the kinds that are left; `bounds`: state the bounds of length."""
        if place.schema is False:
            return False
        with self.tools.budget.deeper():
            valid = self.tools.kinds(place)
            admitted = valid & there
            if not admitted:
                return False
            if admitted == valid and not valid & self.by.touches:
                return self.tools.copy(place)
            if place.schema is True or self.tools.leads_back(place):
                return (bounds and bounds_of(self.by, type_bounds.ANY)) or True
            return self._ruled(place, there, bounds)

    def member(self, place: Place, there: int) -> Schema:
        return self.at(place, there) if self.by.enters_objects else self.tools.copy(place)

    def _ruled(self, place: Place, there: int, bounds: bool) -> Schema:
        words = place.words
        resolves = "$ref" in words and place.resolve(words["$ref"]) is not None
        here = ShortenedPlace(self, place, words, there, duty(words, resolves) if bounds else None)
        own = {keyword: argument for rule in OWN for keyword, argument in rule(here).items()}
        parts = [part for rule in IN_PLACE for part in rule(here)]
        return False if False in parts else joined([own, *(part for part in parts if part is not True)])

    def _wrapper(self, root: Place) -> Schema:
        held = self.at(root.member("properties", WRAPPER) or root.at(True))
        schema = members(self.tools.copy(root))
        return {**schema, "properties": {**members(schema.get("properties")), WRAPPER: held}}


_NOT_NULL = type_bounds.ANY & ~type_bounds.NULL


@dataclass(frozen=True, slots=True)
class ShortenedPlace:
    walk: Shortened
    place: Place
    words: Keywords
    there: int  # the kinds of value that are left there
    duty: str | None  # the keyword with the schemas that state the bounds, "self" (these keywords), or no duty

    @property
    def by(self) -> Shortening:
        return self.walk.by

    def kept(self, *keywords: str) -> Keywords:
        return {keyword: self.words[keyword] for keyword in keywords if keyword in self.words}

    def count(self, keyword: str) -> int | float | None:
        value: Any = self.words.get(keyword)
        return value if isinstance(value, int | float) and not isinstance(value, bool) else None

    def in_place(self, place: Place, duty: str, *, first: bool = True) -> Schema:
        return self.walk.at(place, self.there, bounds=self.duty == duty and first)


def _type(here: ShortenedPlace) -> Keywords:
    if "type" not in here.words:
        return {}
    named: Any = here.words["type"]
    listed = [named] if isinstance(named, str) else strings(named)
    names = [name for name in listed if type_bounds.named_kinds(name) & here.there]
    return {"type": names[0] if len(names) == 1 else names} if names else {}


def _values(here: ShortenedPlace) -> Keywords:
    """What a listed value becomes is what one of the listed values becomes."""

    def short(value: Json) -> Json:
        here.walk.tools.weigh(value)
        return shorten(value, here.by)

    return listed_values(here.words, lambda value: type_bounds.kind_of(value) & here.there, short)


def _numbers(here: ShortenedPlace) -> Keywords:
    return here.kept("multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum")


def _texts(here: ShortenedPlace) -> Keywords:
    """A text that may be too long keeps only some of its length; no text grows."""
    longest = here.count("maxLength")
    if here.by.text is None or (here.by.most is not None and longest is not None and longest <= here.by.most):
        return here.kept("minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType")
    out: Keywords = bounds_of(here.by, type_bounds.STRING) if _gives_bounds(here, type_bounds.STRING) else {}
    if longest is not None:
        out["maxLength"] = min(longest, out.get("maxLength", longest))
    shortest = here.count("minLength")
    return out if shortest is None else {**out, "minLength": min(shortest, here.by.least)}


def _members(here: ShortenedPlace) -> Keywords:
    """A member that is left satisfies what its schemas become, and is not null where nulls are left out."""
    there = _NOT_NULL if here.by.drops_nulls else type_bounds.ANY
    out: Keywords = {}
    for keyword in ("properties", "patternProperties"):
        if keyword in here.words:
            named = here.place.named(keyword)
            out[keyword] = {name: here.walk.member(schema, there) for name, schema in named.items()}
    for schema in here.place.below("additionalProperties"):
        out["additionalProperties"] = here.walk.member(schema, there)
    if out.get("additionalProperties") is False and "patternProperties" not in out and "properties" in out:
        # A member that could only be null need not be listed.
        out["properties"] = {name: schema for name, schema in out["properties"].items() if schema is not False}
    return out


def _required(here: ShortenedPlace) -> Keywords:
    kept = [name for name in strings(here.words.get("required")) if _stays(here, name)]
    return {"required": kept} if kept else {}


def _stays(here: ShortenedPlace, name: str) -> bool:
    tools = here.walk.tools
    below = schemas_of(here.place, name, tools.matches)[0] if here.by.drops_nulls else []
    return not here.by.drops_nulls or not all(tools.kinds(schema) & type_bounds.NULL for schema in below)


def _dependents(here: ShortenedPlace) -> Keywords:
    """A member that is left was present before, and with it what it requires."""
    out: Keywords = {}
    needs = members(here.words.get("dependentRequired"))
    kept = {name: [other for other in strings(others) if _stays(here, other)] for name, others in needs.items()}
    if any(kept.values()):
        out["dependentRequired"] = {name: others for name, others in kept.items() if others}
    if schemas := here.place.named("dependentSchemas"):
        out["dependentSchemas"] = {
            name: here.walk.at(schema, here.there, bounds=False) for name, schema in schemas.items()
        }
    return out


def _member_counts(here: ShortenedPlace) -> Keywords:
    """Members are only left out, and their names stay."""
    out = here.kept("maxProperties") if here.by.drops_nulls else here.kept("minProperties", "maxProperties")
    for schema in here.place.below("propertyNames"):
        out["propertyNames"] = here.walk.tools.copy(schema)
    return out


def _elements(here: ShortenedPlace) -> Keywords:
    """Elements keep their positions, and nulls stay."""
    out: Keywords = {}
    if positions := here.place.below("prefixItems"):
        out["prefixItems"] = [here.walk.at(schema) for schema in positions]
    for schema in here.place.below("items"):
        out["items"] = here.walk.at(schema)
    return out


def _lengths(here: ShortenedPlace) -> Keywords:
    """An array is cut at its end; what it contained can be gone, unless it was never too long."""
    most, longest, shortest = here.by.max_items, here.count("maxItems"), here.count("minItems")
    out: Keywords = bounds_of(here.by, type_bounds.ARRAY) if _gives_bounds(here, type_bounds.ARRAY) else {}
    if longest is not None:
        out["maxItems"] = min(longest, out.get("maxItems", longest))
    if shortest is not None:
        out["minItems"] = shortest if most is None else min(shortest, most)
    if most is None or (longest is not None and longest <= most):
        for schema in here.place.below("contains"):
            # More elements can match now, so there is no upper bound.
            out |= {"contains": here.walk.at(schema, bounds=False), **here.kept("minContains")}
    return out


def _unique(here: ShortenedPlace) -> Keywords:
    """Elements that cannot become other values stay different."""
    parts = [*here.place.below("prefixItems"), *(here.place.below("items") or [here.place.at(True)])]
    changes = any(here.walk.tools.kinds(part) & here.by.touches for part in parts)
    return {} if changes else here.kept("uniqueItems")


def _all_of(here: ShortenedPlace) -> list[Schema]:
    parts = here.place.below("allOf")
    return [here.in_place(part, "allOf", first=not index) for index, part in enumerate(parts)]


def _branches(here: ShortenedPlace) -> list[Schema]:
    """A value satisfies one branch of `oneOf`, its shorter form possibly several: at least one."""
    return [
        either([here.in_place(part, keyword) for part in here.place.below(keyword)])
        for keyword in ("anyOf", "oneOf")
        if here.place.below(keyword)
    ]


def _conditional(here: ShortenedPlace) -> list[Schema]:
    taken, then, other = (here.place.below(keyword) for keyword in ("if", "then", "else"))
    if not taken or not other:
        return []
    both_of = both([here.in_place(part, "if") for part in (*taken, *then)])
    return [either([both_of, here.in_place(other[0], "else")])]


def _reference(here: ShortenedPlace) -> list[Schema]:
    target = here.place.resolve(here.words["$ref"]) if "$ref" in here.words else None
    if target is None:
        return []
    bounds = here.duty == "$ref"
    key = (target.key, here.by, here.there, bounds)
    walk, there = here.walk, here.there
    return [walk.tools.definitions.link(key, lambda: walk.at(target, there, bounds=bounds))]


def _gives_bounds(here: ShortenedPlace, kinds: int) -> bool:
    return here.duty == "self" and bool(here.walk.tools.kinds(here.place) & kinds)


def bounds_of(by: Shortening, kinds: int) -> Keywords:
    """The bounds of length that shortening guarantees, for values of `kinds`."""
    longest = {"maxLength": by.most} if kinds & type_bounds.STRING and by.most is not None else {}
    return longest | ({"maxItems": by.max_items} if kinds & type_bounds.ARRAY and by.max_items is not None else {})


# The rules of keywords that describe the value themselves.
OWN: tuple[Callable[[ShortenedPlace], Keywords], ...] = (
    _type,
    _values,
    _numbers,
    _texts,
    _members,
    _required,
    _dependents,
    _member_counts,
    _elements,
    _lengths,
    _unique,
)

# The rules of keywords with further schemas that the same value satisfies, all of them.
IN_PLACE: tuple[Callable[[ShortenedPlace], list[Schema]], ...] = (_reference, _all_of, _branches, _conditional)
