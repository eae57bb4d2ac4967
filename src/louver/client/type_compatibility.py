"""Whether the output of a tool can ever be read as a type. Both are JSON Schemas.

takes  {"properties": {"id": {"type": "integer"}}}
has    {"properties": {"id": {"type": "string"}}}                clash at `id`: integer, string
has    {"properties": {"id": {"type": ["string", "null"]}}}      clash: null alone is useless
has    {"properties": {"id": {}}}                                no clash: it can be an integer
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from louver.core.json import canonical, is_array
from louver.core.paths.path import FieldPath
from louver.core.schema import type_bounds
from louver.core.schema.budget import OverBudget, StepBudget
from louver.core.schema.references import UnknownDialect, document
from louver.core.schema.type_bounds import Kinds
from louver.core.wrapper import WRAPPER, is_wrapped, text_wrapper

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from louver.core.json import Schema
    from louver.core.paths.path import Step
    from louver.core.schema.references import Place

MAX_FIT_STEPS = 20_000
"""Pairs of schemas compared to check a type against a tool, about 0.1 s. Over it every type fits."""


# Alternatives at one place. With more, the type counts as compatible.
_MOST_BRANCHES = 32


@dataclass(frozen=True, slots=True)
class Clash:
    path: FieldPath
    takes: tuple[str, ...]  # JSON types
    has: tuple[str, ...]  # JSON types; equal to `takes` if only the values differ


def clash(takes: Schema, has: Schema) -> Clash | None:
    """The first place where no output can be read as the type; `None` if none is found within the bounds."""
    try:
        root = document(has)
        if text_wrapper(has) is not None:
            # The string may hold any JSON text.
            return None
        if is_wrapped(has):
            root = root.member("properties", WRAPPER) or root.at(True)
        return _Fit().at(document(takes), root, ())
    except (OverBudget, UnknownDialect):
        return None


class _Fit:
    def __init__(self) -> None:
        self._budget = StepBudget(MAX_FIT_STEPS)
        self._kinds = Kinds(StepBudget(MAX_FIT_STEPS)).of
        self._seen: set[tuple[tuple[int, int], tuple[int, int]]] = set()

    def at(self, takes: Place, has: Place, steps: tuple[Step, ...]) -> Clash | None:
        pair = takes.key, has.key
        if pair in self._seen:
            return None
        self._seen.add(pair)
        self._budget.step()
        wanted, offered = self._kinds(takes), self._kinds(has)
        if not offered:
            return None
        shared = wanted & offered
        if not shared or (shared == type_bounds.NULL and type_bounds.NULL not in (wanted, offered)):
            return Clash(FieldPath(steps), _names(wanted), _names(offered))
        first: Clash | None = None
        for way, ways in product(self._ways(takes), self._ways(has)):
            found = self._one_way(way, ways, steps)
            if found is None:
                return None
            # The deepest of several clashes is the most informative.
            if first is None or len(found.path.steps) > len(first.path.steps):
                first = found
        return first

    def _one_way(self, takes: list[Place], has: list[Place], steps: tuple[Step, ...]) -> Clash | None:
        for wanted, offered in product(takes, has):
            self._budget.step()
            shared = self._kinds(wanted) & self._kinds(offered)
            if not shared:
                return Clash(FieldPath(steps), _names(self._kinds(wanted)), _names(self._kinds(offered)))
            if _are_apart(wanted, offered):
                names = _names(shared)
                return Clash(FieldPath(steps), names, names)
            for step, one, other in self._below(wanted, offered, shared & ~type_bounds.NULL):
                found = self.at(one, other, (*steps, *step))
                if found is not None:
                    return found
        return None

    def _below(self, takes: Place, has: Place, shared: int) -> Iterator[tuple[tuple[Step, ...], Place, Place]]:
        if shared == type_bounds.OBJECT:
            yield from _members(takes, has)
        elif shared == type_bounds.ARRAY:
            yield from (((), one, other) for one, other in _elements(takes, has))

    def _ways(self, place: Place) -> list[list[Place]]:
        """The alternatives at a place: for each, the schemas that apply together."""
        words = place.words
        ways: list[list[Place]] = [[place]]
        target = place.resolve(words["$ref"]) if "$ref" in words else None
        for part in ([target] if target else []) + place.below("allOf"):
            ways = self._both(ways, self._deeper(part))
        for keyword in ("anyOf", "oneOf"):
            if branches := place.below(keyword):
                ways = self._both(ways, [way for branch in branches for way in self._deeper(branch)])
        return ways

    def _deeper(self, place: Place) -> list[list[Place]]:
        with self._budget.deeper():
            return self._ways(place)

    def _both(self, one: list[list[Place]], other: list[list[Place]]) -> list[list[Place]]:
        if len(one) * len(other) > _MOST_BRANCHES:
            raise OverBudget
        self._budget.step(len(one) * len(other))
        return [[*left, *right] for left in one for right in other]


def _members(takes: Place, has: Place) -> Iterator[tuple[tuple[Step, ...], Place, Place]]:
    listed, others = has.named("properties"), has.below("additionalProperties")
    for name, wanted in takes.named("properties").items():
        for offered in [listed[name]] if name in listed else others:
            yield (name,), wanted, offered
    for wanted in takes.below("additionalProperties"):
        if wanted.schema is not False:
            named: Iterable[tuple[Step, Place]] = [*listed.items(), *((None, other) for other in others)]
            yield from (((name,), wanted, offered) for name, offered in named if name not in takes.named("properties"))


def _elements(takes: Place, has: Place) -> Iterator[tuple[Place, Place]]:
    wanted, offered = takes.below("prefixItems"), has.below("prefixItems")
    others = takes.below("items"), has.below("items")
    for at in range(max(len(wanted), len(offered))):
        yield from product(wanted[at : at + 1] or others[0], offered[at : at + 1] or others[1])
    yield from product(*others)


def _are_apart(takes: Place, has: Place) -> bool:
    wanted, offered = _listed(takes.words), _listed(has.words)
    return wanted is not None and offered is not None and wanted.isdisjoint(offered)


def _listed(words: dict[str, Any]) -> set[bytes] | None:
    if "const" in words:
        return {canonical(words["const"])}
    return {canonical(value) for value in words["enum"]} if is_array(words.get("enum")) else None


def _names(kinds: int) -> tuple[str, ...]:
    return tuple(type_bounds.type_names(kinds))
