"""What a schema says of members, in a line each: enough to write a call by, or a list of fields.

    {"type": "object", "required": ["query"], "properties": {
       "query": {"type": "string", "description": "Words."},
       "page":  {"$ref": "#/$defs/page"}}, "$defs": {"page": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}}

    query   string           required   Words.
    page    integer | null

It is for readers: what may be asked for is said by `known.py`, and what is valid by the schema itself. Of what can be
written in many ways the common ones are read: `$ref`, `allOf`, `anyOf`, `oneOf`, `const`, `enum`, lists of types.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from louver.core.json import canonical, is_array, strings
from louver.core.paths.path import FieldPath
from louver.core.schema.budget import Budget, OverBudget
from louver.core.schema.references import UnknownDialect, document
from louver.limits import MAX_OUTLINE_DEPTH, MAX_OUTLINE_MEMBERS, MAX_OUTLINE_VALUES, MAX_READING_STEPS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from louver.core.json import Schema
    from louver.core.schema.references import Place

_EITHER: Final = ("anyOf", "oneOf")
_ANY: Final = "any"

_Seen = frozenset[tuple[int, int]]
"""The places that are being read, by which a reference that leads back is known."""


@dataclass(frozen=True, slots=True)
class Member:
    """One member.

    Args:
        path: Where it stands; elements of arrays are looked through.
        type: Its types, or the values that it can have: `integer | null`, `array of string`, `"open" | "closed"`.
        required: Whether every object that it belongs to has it.
        description: What the schema says of it, or nothing.
    """

    path: FieldPath
    type: str
    required: bool
    description: str


def outline(schema: Schema, depth: int = MAX_OUTLINE_DEPTH) -> list[Member]:
    """The members of what a schema describes, each with its own after it, in the schema's order.

    Args:
        schema: The schema.
        depth: How many names deep is looked.

    Returns:
        At most `MAX_OUTLINE_MEMBERS`.
    """
    found: list[Member] = []
    try:
        for member in _Reader().members((), document(schema), depth):
            found.append(member)
            if len(found) == MAX_OUTLINE_MEMBERS:
                break
    except (OverBudget, UnknownDialect):
        pass  # what was read by then is so
    return found


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of one name."""

    place: Place
    required: bool


class _Reader:
    """One reading of a schema."""

    def __init__(self) -> None:
        self._budget = Budget(MAX_READING_STEPS)

    def members(self, above: tuple[str, ...], place: Place, depth: int) -> Iterator[Member]:
        """The members of what stands at a place, and theirs."""
        for name, known in self._named(place, frozenset()).items():
            steps = (*above, name)
            type_, description = self._said(known.place)
            yield Member(FieldPath(steps), type_, known.required, description)
            if depth > 1:
                with suppress(OverBudget):
                    yield from self.members(steps, known.place, depth - 1)

    def _said(self, place: Place) -> tuple[str, str]:
        """The types of what stands at a place, and what is said of it; nothing, if that takes too long to find."""
        try:
            return self._type(place, frozenset()), self._description(place, frozenset())
        except OverBudget:
            return _ANY, ""

    def _named(self, place: Place, seen: _Seen) -> dict[str, _Known]:
        """The members of an object that stands at a place, or of the elements of an array."""
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
        """The types of what stands at a place."""
        if place.key in seen:
            return _ANY
        with self._budget.deeper():
            return self._type_in(place, seen | {place.key})

    def _type_in(self, place: Place, seen: _Seen) -> str:
        """Likewise, of a place that is among those that are being read."""
        words = place.words
        if "const" in words:
            return _shown(words["const"])
        if is_array(words.get("enum")) and len(words["enum"]) <= MAX_OUTLINE_VALUES:
            return " | ".join(map(_shown, words["enum"])) or _ANY
        if types := [words["type"]] if isinstance(words.get("type"), str) else strings(words.get("type")):
            return " | ".join(self._of_kind(kind, place, seen) for kind in types)
        ways = [self._type(way, seen) for keyword in _EITHER for way in place.below(keyword)]
        parts = [said for part in _parts(place) if (said := self._type(part, seen)) != _ANY]
        if said := [*dict.fromkeys(ways)] or parts[:1]:
            return " | ".join(said)
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
            said = place.words.get("description")
            if isinstance(said, str):
                return said
            found = (self._description(part, seen | {place.key}) for part in _parts(place))
            return next(filter(None, found), "")


def _parts(place: Place) -> list[Place]:
    """What holds at a place beside its own keywords."""
    target = place.resolve(place.words["$ref"]) if "$ref" in place.words else None
    return [*([] if target is None else [target]), *place.below("allOf")]


def _add(found: dict[str, _Known], more: dict[str, _Known]) -> None:
    """Add what holds too."""
    for name, known in more.items():
        before = found.get(name, known)
        found[name] = _Known(before.place, before.required or known.required)


def _either(ways: list[dict[str, _Known]]) -> dict[str, _Known]:
    """What holds one way or another; ways that are no objects are no ways here."""
    objects = [way for way in ways if way]
    found: dict[str, _Known] = {}
    for name, known in chain.from_iterable(way.items() for way in objects):
        is_required = all(name in way and way[name].required for way in objects)
        found.setdefault(name, _Known(known.place, is_required))
    return found


def _shown(value: Any) -> str:
    return canonical(value).decode("utf-8", "replace")
