"""The derived schema: `project(v, mask)` of every value `v` that is valid under `S` is valid under `derive(S, mask)`.

    S      {"type": "object", "required": ["id", "email"], "properties": {"id": {"type": "integer"}, "email": {...}}}
    mask   include id
    D      {"type": "object", "required": ["id"], "properties": {"id": {...}}, "additionalProperties": false}

It is also tight: a value that still holds an unprojected field is invalid. Laws: `tests/fuzz/laws.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from louver.core.json import is_array, is_object
from louver.core.paths.mask import ALL, NONE, Mask
from louver.core.project import project
from louver.core.schema import type_bounds
from louver.core.schema.budget import OverBudget, StepBudget
from louver.core.schema.carry_over import CarryOver
from louver.core.schema.combine import both, either, or_null, typed
from louver.core.schema.definitions import COMBINING, Definitions
from louver.core.schema.keywords import CLOSING, IN_PLACE, RULES, Here, duty
from louver.core.schema.patterns import Patterns
from louver.core.schema.references import UnknownDialect, document
from louver.core.schema.type_bounds import Kinds
from louver.core.wrapper import WRAPPER
from louver.limits import MAX_WRITTEN_SIZE

if TYPE_CHECKING:
    from louver.core.json import Json, Schema
    from louver.core.schema.references import Place

# Whether a derived schema carries the original's assertions, or only says which members are possible.
Precision = Literal["exact", "shape"]


@dataclass(frozen=True, slots=True)
class Derived:
    schema: Schema
    precision: Precision


def derive(schema: Schema, mask: Mask, *, wrapped: bool = False, silent: bool = False) -> Derived:
    """The schema of every projection of a valid value: one self-contained 2020-12 document without annotations."""
    try:
        derivation = Derivation(silent=silent)
        return Derived(derivation.document(document(schema), mask, wrapped, MAX_WRITTEN_SIZE), "exact")
    except (OverBudget, UnknownDialect):
        # Too much work, or not readable. The shape is always sound.
        return Derived(Derivation(silent=silent).document(document(True), mask, wrapped, None), "shape")


class Derivation:
    """One walk over pairs of a place in the schema and a node of the mask."""

    # A place is closed if its derived schema admits only what the mask keeps. What the mask keeps does not depend on
    # the schema: of several schemas for one place (`allOf`, `$ref`) one has the duty to close it, and of several
    # alternatives (`anyOf`) each. `silent`: names that are left out are not mentioned, so that the schema is not tight.

    def __init__(self, *, silent: bool = False) -> None:
        self.silent = silent
        self.budget = StepBudget()
        self.definitions = Definitions()
        kinds = Kinds(self.budget)
        self.copy = CarryOver(self.definitions, kinds, self.budget).copy
        self.kinds = kinds.of
        self.leads_back = kinds.leads_back
        self.matches = Patterns(self.budget).matches
        self.weigh = self.budget.weigh
        self.step = self.budget.step

    def document(self, root: Place, mask: Mask, wrapped: bool, most: int | None) -> Schema:
        schema = self._wrapper(root, mask) if wrapped else self._root(root, mask)
        return self.definitions.finish(schema, most)

    def at(self, place: Place, mask: Mask, closes: bool) -> Schema:
        """The projected schema of a place; with `closes` it admits nothing beyond the mask."""
        if mask is ALL:
            return self.copy(place)
        with self.budget.deeper():
            admitted = self.kinds(place)
            if not admitted & (type_bounds.ANY if mask.exclude else type_bounds.STRUCTURE):
                return False
            if mask.exclude and not admitted & (type_bounds.ARRAY | type_bounds.OBJECT):
                return self.copy(place)
            if place.schema is True or self.leads_back(place):
                return self.shape(mask) if closes else True
            return self._ruled(place, mask, closes)

    def element(self, place: Place, mask: Mask, closes: bool) -> Schema:
        """The projected schema of an element, where a missing value becomes null."""
        schema = self.at(place, mask, closes)
        return self._or_missing(place, mask, schema, type_bounds.CAN_BE_MISSING)

    def reference(self, place: Place, mask: Mask, closes: bool) -> dict[str, Any]:
        target = place.resolve(place.words["$ref"])
        if target is None:
            return {}
        return self.definitions.link((target.key, mask, closes), lambda: self.at(target, mask, closes))

    def left(self, value: Json, mask: Mask) -> Json:
        return project(value, mask)

    def shape(self, mask: Mask) -> Schema:
        """What the mask alone says of a place: possible members and elements."""
        if not mask.is_inner:
            return mask is ALL
        return self.definitions.link(("shape", mask), lambda: self._shape(mask))

    def _ruled(self, place: Place, mask: Mask, closes: bool) -> Schema:
        words = place.words
        resolves = "$ref" in words and place.resolve(words["$ref"]) is not None
        here = Here(self, place, words, mask, duty(words, resolves) if closes else None)
        parts: list[Schema] = [{}]
        for triggers, rule in RULES:
            if words.keys().isdisjoint(triggers) and not (here.closes and rule in CLOSING):
                continue
            part = rule(here)
            if part is False:
                return False
            first = parts[0]
            if is_object(part) and is_object(first):
                # What a part says of members or elements stays apart from what this schema says of them.
                mixes = rule in IN_PLACE and not COMBINING.issuperset(part)
                if first.keys().isdisjoint(part) and not mixes and "$ref" not in part:
                    first.update(part)
                else:
                    parts.append(part)
        return both(parts)

    def _shape(self, mask: Mask) -> Schema:
        out: dict[str, Any] = {} if mask.exclude else typed(type_bounds.STRUCTURE)
        named = {name: below for name, below in mask.children.items() if not (self.silent and below is NONE)}
        if named:
            out["properties"] = {name: self.shape(below) for name, below in named.items()}
        if mask.other is not ALL:
            out["additionalProperties"] = self.shape(mask.other)
        left = [self.shape(each) for each in mask.of_elements if each is not NONE]
        if not left:
            out["maxItems"] = 0
        elif ALL not in mask.of_elements:
            out["items"] = either(left)
        return out

    def _wrapper(self, root: Place, mask: Mask) -> Schema:
        """The projected schema of a wrapped output: the wrapper stays, whatever is left of its value."""
        held = self._root(root.member("properties", WRAPPER) or root.at(True), mask.child(WRAPPER))
        needed: Any = root.words.get("required")
        required = {"required": [WRAPPER]} if is_array(needed) and WRAPPER in needed else {}
        # Members next to the wrapper's occur only in an output that no SDK wrapped; an exclude leaves them.
        others = root.words.get("additionalProperties") is not False and self.shape(mask.other)
        rest = {} if others is True else {"additionalProperties": others}
        return {"type": "object", "properties": {WRAPPER: held}, **required, **rest}

    def _root(self, root: Place, mask: Mask) -> Schema:
        """The projected schema of the root: a scalar becomes null where a field of it is requested."""
        if mask is NONE:
            return self._emptied(root)
        return self._or_missing(root, mask, self.at(root, mask, closes=True), type_bounds.SCALAR)

    def _or_missing(self, place: Place, mask: Mask, schema: Schema, missing: int) -> Schema:
        if place.schema is True or mask.exclude or not mask.is_inner:
            return schema
        return or_null(schema) if self.kinds(place) & missing else schema

    def _emptied(self, root: Place) -> Schema:
        admitted = self.kinds(root)
        left = admitted & type_bounds.STRUCTURE | (type_bounds.NULL if admitted & type_bounds.SCALAR else 0)
        if not left:
            return False
        # `false` below leaves no place where a next derivation could list names.
        empty = {"items": False, "additionalProperties": False} if self.silent else {"maxItems": 0, "maxProperties": 0}
        return {**typed(left), **empty}
