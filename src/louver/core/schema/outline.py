"""Outlines for readers: what a schema says of its members, one line each.

    query   string           required   Words.
    page    integer | null

It reads the common forms of schemas only: `known_fields.py` decides which paths a request may name.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from louver.core.json import canonical, is_array, members, strings
from louver.core.paths.path import FieldPath
from louver.core.schema.budget import OverBudget, StepBudget
from louver.core.schema.references import UnknownDialect, document
from louver.limits import MAX_READING_STEPS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from louver.core.json import Json, Schema
    from louver.core.schema.references import Place

MAX_OUTLINE_DEPTH = 3
MAX_OUTLINE_MEMBERS = 100
"""Names deep, and members in all, that an outline shows of a schema; the schema itself has the rest."""

MAX_OUTLINE_VALUES = 50
"""Values of an `enum` that an outline shows instead of its type."""


_EITHER: Final = ("anyOf", "oneOf")
_KINDS: Final = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_LIMITS: Final = (
    *("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf", "format", "pattern"),
    *("minLength", "maxLength", "minItems", "maxItems", "uniqueItems"),
)

# The places being read: a reference back to one of them is a circle.
_Seen = frozenset[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Type:
    name: str  # of the type; `any`; or the JSON of a possible value
    of: tuple[Type, ...] = ()  # of the elements of an array, or of the values of a map
    is_value: bool = False

    def __str__(self) -> str:
        of = " | ".join(map(str, self.of))
        return self.name if not of else f"{self.name} of ({of})" if " " in of else f"{self.name} of {of}"


@dataclass(frozen=True, slots=True)
class Member:
    path: FieldPath  # elements of arrays are looked through
    types: tuple[Type, ...]  # alternatives, or possible values
    required: bool  # every object around it has it
    description: str  # empty if there is none
    default: Json = None
    limits: Mapping[str, Json] = field(default_factory=dict[str, Any])  # keywords about its value, as `minimum`

    @property
    def type(self) -> str:
        """Its types, or possible values: `integer | null`, `array of string`, `"open" | "closed"`."""
        return " | ".join(map(str, self.types))


def outline(schema: Schema, depth: int = MAX_OUTLINE_DEPTH) -> list[Member]:
    """At most `MAX_OUTLINE_MEMBERS` members, parents first, in the schema's order; `depth` counts names."""
    found: list[Member] = []
    try:
        for member in OutlineReader().members((), document(schema), depth):
            found.append(member)
            if len(found) == MAX_OUTLINE_MEMBERS:
                break
    except (OverBudget, UnknownDialect):
        pass  # what was read so far is right
    return found


ANY: Final = Type("any")


@dataclass(frozen=True, slots=True)
class OutlinedMember:
    place: Place
    required: bool
    others: tuple[Place, ...] = ()  # of the same name, in alternatives

    @property
    def places(self) -> tuple[Place, ...]:
        return (self.place, *self.others)


class OutlineReader:
    looks_through_arrays = True  # the members of an array are those of its elements

    def __init__(self) -> None:
        self.budget = StepBudget(MAX_READING_STEPS)

    def members(self, above: tuple[str, ...], place: Place, depth: int) -> Iterator[Member]:
        yield from self._below(above, self.named(place), depth)

    def _below(self, above: tuple[str, ...], named: dict[str, OutlinedMember], depth: int) -> Iterator[Member]:
        for name, known in named.items():
            steps, words = (*above, name), known.place.words
            types, description = self.described(known)
            limits = {keyword: words[keyword] for keyword in _LIMITS if keyword in words}
            yield Member(FieldPath(steps), types, known.required, description, words.get("default"), limits)
            if depth > 1:
                with suppress(OverBudget):
                    below = _either([self.named(each) for each in known.places])
                    yield from self._below(steps, below, depth - 1)

    def described(self, known: OutlinedMember) -> tuple[tuple[Type, ...], str]:
        try:
            types = dict.fromkeys(each for place in known.places for each in self.types(place))
            return tuple(types), self._description(known.place, frozenset())
        except OverBudget:
            return (ANY,), ""

    def named(self, place: Place, seen: _Seen = frozenset()) -> dict[str, OutlinedMember]:
        """The members of an object at a place, or of the elements of an array there."""
        if place.key in seen:
            return {}
        seen |= {place.key}
        required = set(strings(place.words.get("required")))
        with self.budget.deeper():
            found = {name: OutlinedMember(below, False) for name, below in place.named("properties").items()}
            for part in parts_of(place):
                _add(found, self.named(part, seen))
            for keyword in _EITHER:
                _add(found, _either([self.named(way, seen) for way in place.below(keyword)]))
            if not found and self.looks_through_arrays:
                for keyword in ("prefixItems", "items"):
                    for element in place.below(keyword):
                        _add(found, self.named(element, seen))
        return {name: replace(known, required=known.required or name in required) for name, known in found.items()}

    def types(self, place: Place, seen: _Seen = frozenset()) -> list[Type]:
        """The alternatives at a place."""
        if place.key in seen:
            return [ANY]
        with self.budget.deeper():
            return self._types_in(place, seen | {place.key})

    def _types_in(self, place: Place, seen: _Seen) -> list[Type]:
        words = place.words
        if "const" in words:
            return [_shown(words["const"])]
        if is_array(values := words.get("enum")) and values:
            more = [Type("...", is_value=True)] if len(values) > MAX_OUTLINE_VALUES else []
            return [*map(_shown, values[:MAX_OUTLINE_VALUES]), *more]
        kinds = [words["type"]] if isinstance(words.get("type"), str) else strings(words.get("type"))
        if types := [self.of_kind(kind, place, seen) for kind in kinds if kind in _KINDS]:
            return types
        ways = [each for keyword in _EITHER for way in place.below(keyword) for each in self.types(way, seen)]
        parts = [types for part in parts_of(place) if (types := self.types(part, seen)) != [ANY]]
        if alternatives := [*dict.fromkeys(ways)] or (parts[0] if parts else []):
            return alternatives
        if "properties" in words:
            return [self.of_kind("object", place, seen)]
        return [self.of_kind("array", place, seen) if "items" in words else ANY]

    def of_kind(self, kind: str, place: Place, seen: _Seen) -> Type:
        keyword = {"array": "items", "object": "additionalProperties"}.get(kind)
        is_plain = not {"prefixItems", "properties", "patternProperties"} & place.words.keys()
        elements = place.below(keyword) if keyword is not None and is_plain else []
        of = tuple(self.types(elements[0], seen)) if elements else ()
        return Type(kind) if of == (ANY,) else Type(kind, of)

    def _description(self, place: Place, seen: _Seen) -> str:
        if place.key in seen:
            return ""
        with self.budget.deeper():
            description = place.words.get("description")
            if isinstance(description, str):
                return description
            found = (self._description(part, seen | {place.key}) for part in parts_of(place))
            return next(filter(None, found), "")


def parts_of(place: Place) -> list[Place]:
    """The schemas that apply at a place next to its own keywords."""
    target = place.resolve(place.words["$ref"]) if "$ref" in place.words else None
    return [*([] if target is None else [target]), *place.below("allOf")]


def _add(found: dict[str, OutlinedMember], more: dict[str, OutlinedMember]) -> None:
    for name, known in more.items():
        before = found.get(name, known)
        found[name] = replace(before, required=before.required or known.required)


def _either(ways: list[dict[str, OutlinedMember]]) -> dict[str, OutlinedMember]:
    """The members of alternatives: one is required if every object among them requires it."""
    objects = [way for way in ways if way]
    found: dict[str, OutlinedMember] = {}
    for name, known in chain.from_iterable(way.items() for way in objects):
        is_required = all(name in way and way[name].required for way in objects)
        before = found.get(name)
        others = known.others if before is None else (*before.others, *known.places)
        found[name] = OutlinedMember(known.place if before is None else before.place, is_required, others)
    return found


def _shown(value: Any) -> Type:
    return Type(canonical(value).decode("utf-8", "replace"), is_value=True)


def examples_of_required(schema: Mapping[str, Json]) -> dict[str, Sequence[Json]]:
    """For each required member of an object its `const`, `examples`, `default` or `enum`; none: an empty list."""
    properties = members(schema.get("properties"))
    return {name: _examples(members(properties.get(name))) for name in strings(schema.get("required"))}


def _examples(schema: Mapping[str, Json]) -> Sequence[Json]:
    if "const" in schema:
        return [schema["const"]]
    if is_array(examples := schema.get("examples")) and examples:
        return examples
    if "default" in schema:
        return [schema["default"]]
    return values if is_array(values := schema.get("enum")) else []
