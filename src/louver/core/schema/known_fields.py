"""What a schema knows of field paths: which names there are, and in which order.

A path to a field that no valid value has is allowed, but reported::

    {"unmatched": ["user.lgoin", "items.0"], "suggestions": {"user.lgoin": "user.login", "items.0": "items.*"}}

An object that lists properties and says nothing of others counts as closed here; derivation never relies on that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from louver.core.json import is_object
from louver.core.paths.mask import NONE, Mask
from louver.core.paths.path import FieldPath
from louver.core.paths.rows import DEEP, Pick
from louver.core.schema import type_bounds
from louver.core.schema.applicators import MEMBERS
from louver.core.schema.budget import OverBudget, StepBudget
from louver.core.schema.patterns import Patterns
from louver.core.schema.references import UnknownDialect, document
from louver.core.schema.type_bounds import Kinds
from louver.limits import MAX_READING_STEPS, MAX_SUGGESTION_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from louver.core.json import Schema
    from louver.core.paths.predicate import Query
    from louver.core.paths.rows import Step
    from louver.core.schema.references import Place

MAX_COMPARING = 2_000_000
"""Pairs of characters (30 more for each pair of names) that one reading compares for suggestions: 0.1 s."""


_IN_PLACE = ("allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas")


def unmatched(
    schema: Schema, include: Iterable[FieldPath], exclude: Iterable[FieldPath]
) -> dict[FieldPath, FieldPath | None]:
    """The paths that the schema does not know, each with the path that was probably meant."""
    return Known(schema).unmatched(include, exclude)


class Known:
    """What a schema knows of successive paths, within the bounds of one reading: `steps` schemas in all."""

    def __init__(self, schema: Schema, steps: int = MAX_READING_STEPS) -> None:
        try:
            self._reader: _Reader | None = _Reader(schema, steps)
        except (OverBudget, UnknownDialect):
            self._reader = None

    def unmatched(
        self, include: Iterable[FieldPath], exclude: Iterable[FieldPath] = ()
    ) -> dict[FieldPath, FieldPath | None]:
        """The same. Once the bounds are reached, or a part cannot be read, every path is known."""
        if self._reader is None:
            return {}
        try:
            checked = [(path, self._reader.check(path, exclude=False)) for path in include]
            checked += [(path, self._reader.check(path, exclude=True)) for path in exclude]
        except (OverBudget, UnknownDialect):
            self._reader = None
            return {}
        return {path: meant for path, meant in checked if meant is not path}


def order(schema: Schema, mask: Mask) -> dict[Mask, tuple[str, ...]]:
    """The order of an include's members, for each node: that of the schema's `properties`, then of code points."""
    try:
        return _Reader(schema).order(mask)
    except (OverBudget, UnknownDialect):
        return {}


class _Reader:
    """One reading of a schema. A *spot* is the set of all schemas for one place of a value."""

    def __init__(self, schema: Schema, steps: int = MAX_READING_STEPS) -> None:
        self._budget = StepBudget(steps)
        self._listed: dict[tuple[Place, ...], dict[str, None]] = {}
        self._kinds = Kinds(self._budget)
        self._matches = Patterns(self._budget).matches
        self._comparing = MAX_COMPARING
        self._root = self._spot([document(schema)])

    def check(self, path: FieldPath, *, exclude: bool) -> FieldPath | None:
        """`path` itself if it is known, else the path that was probably meant, if any."""
        if path.deep:
            return self._check_deep(path)
        for _ in path.steps:
            # Each time one more step is repaired.
            meant = self._check_steps(path, exclude=exclude)
            if meant is None or meant is path:
                return meant
            path = meant
        return path

    def _check_steps(self, path: FieldPath, *, exclude: bool) -> FieldPath | None:
        spot = self._root
        for index, step in enumerate(path.steps):
            around = self._through_arrays(spot)
            if step is DEEP:
                return path
            below = self._below(spot, around, step)
            if step is None and exclude and index < len(path.steps) - 1:
                # An exclude's wildcard looks through arrays, and may also take no step.
                below = [*self._any_below(around), *spot]
            if not below:
                return self._meant(path, index, around, len(around) > len(spot))
            spot = self._spot(below)
        return path

    def _below(self, spot: tuple[Place, ...], around: tuple[Place, ...], step: Step) -> list[Place]:
        """What a step leads to; empty if it leads nowhere, or one of its names or tests does."""
        if not isinstance(step, Pick):
            return self._named(around, step) if isinstance(step, str) else self._any_below(spot)
        named = [self._named(around, name) for name in step.names]
        rows = self._elements(spot) if step.rows else []
        for query in (query for test in step.tests for query in test.needed):
            if not self._leads(self._root if query.from_root else self._spot(rows), query):
                return []
        return [*rows, *(place for each in named for place in each)] if all(named) else []

    def _leads(self, spot: tuple[Place, ...], query: Query) -> bool:
        for step in query.steps:
            below = self._below(spot, self._through_arrays(spot), step)
            if not below:
                return False
            spot = self._spot(below)
        return True

    def order(self, root: Mask) -> dict[Mask, tuple[str, ...]]:
        found: dict[Mask, tuple[str, ...]] = {}
        todo = [(root, self._root)]
        while todo:
            mask, spot = todo.pop()
            if not mask.is_inner or mask in found:
                continue
            around = self._through_arrays(spot)
            rank = {name: position for position, name in enumerate(self._names(around))}
            names = sorted(mask.children, key=lambda name: (rank.get(name, len(rank)), name))
            found[mask] = tuple(names)
            todo.extend((mask.child(name), self._spot(self._named(around, name))) for name in reversed(names))
            todo.extend((each, self._spot(self._elements(spot))) for each in mask.of_elements if each is not mask)
            if mask.other is not NONE:
                todo.append((mask.other, self._spot(self._any_below(spot))))
        return found

    def _spot(self, places: Iterable[Place]) -> tuple[Place, ...]:
        found: dict[tuple[int, int], Place] = {}
        todo = list(places)[::-1]
        while todo:
            place = todo.pop()
            if place.key in found:
                continue
            self._budget.step()
            found[place.key] = place
            words = place.words
            applied = [below for keyword in _IN_PLACE if keyword in words for below in place.below(keyword)]
            if "$ref" in words and (target := place.resolve(words["$ref"])) is not None:
                applied.insert(0, target)
            todo.extend(reversed(applied))
        return tuple(found.values())

    def _elements(self, spot: Sequence[Place]) -> list[Place]:
        found = [below for place in spot for keyword in ("prefixItems", "items") for below in place.below(keyword)]
        # Elements that the schema of an array does not describe can be anything.
        is_open = not found and any(place.words.get("type") == "array" for place in spot)
        return [spot[0].at(True)] if is_open else found

    def _through_arrays(self, spot: tuple[Place, ...]) -> tuple[Place, ...]:
        """`spot`, and the elements that a name looks through to, should there be arrays."""
        self._budget.step(len(spot))
        around = dict.fromkeys(spot)
        while elements := [place for place in self._spot(self._elements(spot)) if place not in around]:
            around.update(dict.fromkeys(elements))
            spot = tuple(elements)
        return tuple(around)

    def _named(self, around: Sequence[Place], name: str) -> list[Place]:
        """The possible schemas of a member; empty if there is no such member."""
        self._budget.step(len(around))
        found: list[Place] = []
        for place in around:
            patterns = place.named("patternProperties")
            here = [listed] if (listed := place.member("properties", name)) else []
            here += [schema for pattern, schema in patterns.items() if self._matches(pattern, name) is not False]
            found += here or place.below("additionalProperties")
        possible = [place for place in found if place.schema is not False]
        return possible if possible or not self._is_free(around) else [around[0].at(True)]

    def _any_below(self, spot: tuple[Place, ...]) -> list[Place]:
        found = self._elements(spot)
        for place in spot:
            found += [*place.below("properties"), *place.below("patternProperties")]
            found += place.below("additionalProperties")
        self._budget.step(len(found))
        possible = [place for place in found if place.schema is not False]
        free = self._is_free(spot) or any(self._kinds.of(place) & type_bounds.ARRAY for place in spot[:1])
        return possible if possible or not free else [spot[0].at(True)]

    def _is_free(self, spot: Sequence[Place]) -> bool:
        """Whether there can be objects here without any description of their members."""
        silent = all(place.words.keys().isdisjoint(MEMBERS) for place in spot)
        return silent and any(self._kinds.of(place) & type_bounds.OBJECT for place in spot)

    def _names(self, around: tuple[Place, ...]) -> dict[str, None]:
        names = self._listed.get(around)
        if names is None:
            names = self._listed[around] = {}
            for place in around:
                listed: Any = place.words.get("properties")
                if is_object(listed):
                    self._budget.step(1 + len(listed) // 10)
                    names.update((name, None) for name, member in listed.items() if member is not False)
        return names

    def _meant(self, path: FieldPath, index: int, around: tuple[Place, ...], is_array: bool) -> FieldPath | None:
        """The path with its unknown step repaired: a wildcard for a position, or the nearest name."""
        step, before, after = path.steps[index], path.steps[:index], path.steps[index + 1 :]
        if not isinstance(step, str):
            return None
        if step.isdigit() and is_array:
            return FieldPath((*before, None, *after))
        names = self._names(around)
        near = self._nearest(step, names)
        if near is not None:
            return FieldPath((*before, near, *after))
        return FieldPath(before) if not names and before else None

    def _check_deep(self, path: FieldPath) -> FieldPath | None:
        """The same for `**.name`, which is known if any object in the schema may have the name."""
        name = path.names[0] or ""
        names: dict[str, None] = {}
        seen: set[tuple[int, int]] = set()
        todo = [self._root]
        while todo:
            spot = todo.pop()
            if spot and self._named(spot, name):
                return path
            names.update(self._names(spot))
            for place in spot:
                if place.key not in seen:
                    seen.add(place.key)
                    below = [*self._elements([place]), *place.below("properties")]
                    below += [*place.below("patternProperties"), *place.below("additionalProperties")]
                    todo.extend(self._spot([part]) for part in below)
        near = self._nearest(name, names)
        return None if near is None else FieldPath((near,), deep=True)

    def _nearest(self, name: str, names: Iterable[str]) -> str | None:
        """The most similar name, if one is near; case does not matter."""
        if "," in name:
            # A list in one path: a single name of it would be half of what was meant.
            return None
        folded: dict[str, str] = {}
        for known in list(names)[:MAX_SUGGESTION_NAMES]:
            self._comparing -= 30 + len(name) * len(known)
            if self._comparing < 0:
                return None
            folded[known.casefold()] = known
        # Imported lazily: most names are known, and it takes 200 kB of memory.
        from difflib import get_close_matches

        near = get_close_matches(name.casefold(), folded, n=1)
        return folded[near[0]] if near else None
