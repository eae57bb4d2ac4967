"""Outlines for readers: what a schema says of its members, one line each.

    query   string           required   Words.
    page    integer | null

It reads the common forms of schemas only: `known_fields.py` decides which paths a request may name.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from louver.core.json import canonical, is_array, strings
from louver.core.paths.path import FieldPath
from louver.core.schema.budget import OverBudget, StepBudget
from louver.core.schema.references import UnknownDialect, document
from louver.limits import MAX_OUTLINE_DEPTH, MAX_OUTLINE_MEMBERS, MAX_OUTLINE_VALUES, MAX_READING_STEPS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from louver.core.json import Schema
    from louver.core.schema.references import Place

_EITHER: Final = ("anyOf", "oneOf")
_ANY: Final = "any"

# The places being read: a reference back to one of them is a circle.
_Seen = frozenset[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Member:
    path: FieldPath  # elements of arrays are looked through
    type: str  # types, or possible values: `integer | null`, `array of string`, `"open" | "closed"`
    required: bool  # every object around it has it
    description: str  # empty if there is none


def outline(schema: Schema, depth: int = MAX_OUTLINE_DEPTH) -> list[Member]:
    """At most `MAX_OUTLINE_MEMBERS` members, parents first, in the schema's order; `depth` counts names."""
    found: list[Member] = []
    try:
        for member in _Reader().members((), document(schema), depth):
            found.append(member)
            if len(found) == MAX_OUTLINE_MEMBERS:
                break
    except (OverBudget, UnknownDialect):
        pass  # what was read so far is right
    return found


@dataclass(frozen=True, slots=True)
class _Known:
    place: Place
    required: bool


class _Reader:
    def __init__(self) -> None:
        self._budget = StepBudget(MAX_READING_STEPS)

    def members(self, above: tuple[str, ...], place: Place, depth: int) -> Iterator[Member]:
        for name, known in self._named(place, frozenset()).items():
            steps = (*above, name)
            type_, description = self._described(known.place)
            yield Member(FieldPath(steps), type_, known.required, description)
            if depth > 1:
                with suppress(OverBudget):
                    yield from self.members(steps, known.place, depth - 1)

    def _described(self, place: Place) -> tuple[str, str]:
        try:
            return self._type(place, frozenset()), self._description(place, frozenset())
        except OverBudget:
            return _ANY, ""

    def _named(self, place: Place, seen: _Seen) -> dict[str, _Known]:
        """The members of an object at a place, or of the elements of an array there."""
        if place.key in seen:
            return {}
        seen |= {place.key}
        required = set(strings(place.words.get("required")))
        with self._budget.deeper():
            found = {name: _Known(below, False) for name, below in place.named("properties").items()}
            for part in _parts(place):
                _add(found, self._named(part, seen))
            for keyword in _EITHER:
                _add(found, _either([self._named(way, seen) for way in place.below(keyword)]))
            if not found:
                for keyword in ("prefixItems", "items"):
                    for element in place.below(keyword):
                        _add(found, self._named(element, seen))
        return {name: _Known(known.place, known.required or name in required) for name, known in found.items()}

    def _type(self, place: Place, seen: _Seen) -> str:
        if place.key in seen:
            return _ANY
        with self._budget.deeper():
            return self._type_in(place, seen | {place.key})

    def _type_in(self, place: Place, seen: _Seen) -> str:
        words = place.words
        if "const" in words:
            return _shown(words["const"])
        if is_array(words.get("enum")) and len(words["enum"]) <= MAX_OUTLINE_VALUES:
            return " | ".join(map(_shown, words["enum"])) or _ANY
        if types := [words["type"]] if isinstance(words.get("type"), str) else strings(words.get("type")):
            return " | ".join(self._of_kind(kind, place, seen) for kind in types)
        ways = [self._type(way, seen) for keyword in _EITHER for way in place.below(keyword)]
        parts = [type_ for part in _parts(place) if (type_ := self._type(part, seen)) != _ANY]
        if alternatives := [*dict.fromkeys(ways)] or parts[:1]:
            return " | ".join(alternatives)
        if "properties" in words:
            return "object"
        return self._of_kind("array", place, seen) if "items" in words else _ANY

    def _of_kind(self, kind: str, place: Place, seen: _Seen) -> str:
        elements = place.below("items") if kind == "array" and "prefixItems" not in place.words else []
        of = self._type(elements[0], seen) if elements else _ANY
        return kind if of == _ANY else f"{kind} of ({of})" if " " in of else f"{kind} of {of}"

    def _description(self, place: Place, seen: _Seen) -> str:
        if place.key in seen:
            return ""
        with self._budget.deeper():
            description = place.words.get("description")
            if isinstance(description, str):
                return description
            found = (self._description(part, seen | {place.key}) for part in _parts(place))
            return next(filter(None, found), "")


def _parts(place: Place) -> list[Place]:
    """The schemas that apply at a place next to its own keywords."""
    target = place.resolve(place.words["$ref"]) if "$ref" in place.words else None
    return [*([] if target is None else [target]), *place.below("allOf")]


def _add(found: dict[str, _Known], more: dict[str, _Known]) -> None:
    for name, known in more.items():
        before = found.get(name, known)
        found[name] = _Known(before.place, before.required or known.required)


def _either(ways: list[dict[str, _Known]]) -> dict[str, _Known]:
    """The members of alternatives: one is required if every object among them requires it."""
    objects = [way for way in ways if way]
    found: dict[str, _Known] = {}
    for name, known in chain.from_iterable(way.items() for way in objects):
        is_required = all(name in way and way[name].required for way in objects)
        found.setdefault(name, _Known(known.place, is_required))
    return found


def _shown(value: Any) -> str:
    return canonical(value).decode("utf-8", "replace")
