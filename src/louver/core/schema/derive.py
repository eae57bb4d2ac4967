"""The schema that a projected value satisfies.

For every value `v` that is valid under a schema `S`, `project(v, mask)` is valid
under `derive(S, mask)` (*sound*), a value that still holds an unprojected field is
not (*tight*), and a required field that surely survives stays required::

    S      {"type": "object", "required": ["id", "email"], "properties":
            {"id": {"type": "integer"}, "email": {"type": "string"}}}
    mask   include id
    D      {"type": "object", "required": ["id"], "properties":
            {"id": {"type": "integer"}}, "additionalProperties": false}

The walk goes over pairs of a place in the schema and a node of the mask. One
function a group of keywords (`louver.core.schema.keywords`) says what is left of each; a
keyword without a rule is dropped, which is looser and never unsound.

A place is *closed* if its derived schema admits nothing but what the mask lets
through. What the mask lets through does not depend on the schema, so of several
schemas that apply to one place (`allOf`, `$ref`, ...) one has that duty, and of
several that may apply (`anyOf`) each has it.

Where the work would be too much, or a schema cannot be read, the answer is the
*shape*: objects and arrays closed over the mask. That is always sound.

Laws: `tests/core/test_laws.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from louver.core.json import is_array, is_object
from louver.core.paths.mask import ALL, NONE, Mask
from louver.core.project import project
from louver.core.schema import type_bounds
from louver.core.schema.budget import Budget, OverBudget
from louver.core.schema.carry_over import Verbatim
from louver.core.schema.combine import both, or_null, typed
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

Precision = Literal["exact", "shape"]
"""Whether a derived schema carries the original's assertions, or only says which members there can be."""


@dataclass(frozen=True, slots=True)
class Derived:
    """A projected schema, and how much of the original it carries."""

    schema: Schema
    precision: Precision


def derive(schema: Schema, mask: Mask, *, wrapped: bool = False, silent: bool = False) -> Derived:
    """The schema of everything that `project(value, mask)` can return for a valid value.

    Args:
        schema: A JSON Schema of draft 2020-12, 2019-09 or 7; nothing is ever fetched for it.
        mask: What is kept.
        wrapped: Whether the values are wrapped, and what the wrapper holds is projected like a root.
        silent: Whether names that are left out are not told, though that admits them: so it is not tight.

    Returns:
        One self-contained document of draft 2020-12, without annotations.
    """
    try:
        derivation = Derivation(silent=silent)
        return Derived(derivation.document(document(schema), mask, wrapped, MAX_WRITTEN_SIZE), "exact")
    except (OverBudget, UnknownDialect):
        return Derived(Derivation(silent=silent).document(document(True), mask, wrapped, None), "shape")


class Derivation:
    """One derivation: every pair of a place and a mask node that it meets is dealt with once.

    Args:
        silent: Whether names that are left out are not told, and nothing is counted of which they were a part.
    """

    def __init__(self, *, silent: bool = False) -> None:
        self.silent = silent
        self.budget = Budget()
        self.definitions = Definitions()
        kinds = Kinds(self.budget)
        self.copy = Verbatim(self.definitions, kinds, self.budget).copy
        self.kinds = kinds.of
        self.leads_back = kinds.leads_back
        self.matches = Patterns(self.budget).matches
        self.weigh = self.budget.weigh
        self.step = self.budget.step

    def document(self, root: Place, mask: Mask, wrapped: bool, most: int | None) -> Schema:
        """The whole derived document, of at most the size `most`."""
        schema = self._wrapper(root, mask) if wrapped else self._root(root, mask)
        return self.definitions.finish(schema, most)

    def at(self, place: Place, mask: Mask, closes: bool) -> Schema:
        """The projected schema of a place; `closes` gives it the duty to admit nothing beyond the mask."""
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
        """The reference of `place`, leading to the projected schema of its target."""
        target = place.resolve(place.words["$ref"])
        if target is None:
            return {}
        return self.definitions.link((target.key, mask, closes), lambda: self.at(target, mask, closes))

    def left(self, value: Json, mask: Mask) -> Json:
        """What is left of a constant."""
        return project(value, mask)

    def shape(self, mask: Mask) -> Schema:
        """What the mask alone says of a place: which members there can be, and that of every element."""
        if not mask.is_inner():
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
                # What a part says of members or elements must not mix with what is said of them here.
                mixes = rule in IN_PLACE and not COMBINING.issuperset(part)
                if first.keys().isdisjoint(part) and not mixes and "$ref" not in part:
                    first.update(part)
                else:
                    parts.append(part)
        return both(parts)

    def _shape(self, mask: Mask) -> Schema:
        out: dict[str, Any] = {} if mask.exclude else typed(type_bounds.STRUCTURE)
        told = {name: below for name, below in mask.children.items() if not (self.silent and below is NONE)}
        if told:
            out["properties"] = {name: self.shape(below) for name, below in told.items()}
        if mask.other is not ALL:
            out["additionalProperties"] = self.shape(mask.other)
        if mask.elem is NONE:
            out["maxItems"] = 0
        elif mask.elem is not ALL:
            out["items"] = self.shape(mask.elem)
        return out

    def _wrapper(self, root: Place, mask: Mask) -> Schema:
        """The projected schema of a wrapped output: the wrapper stays, whatever is left of what it holds."""
        held = self._root(root.member("properties", WRAPPER) or root.at(True), mask.child(WRAPPER))
        needed: Any = root.words.get("required")
        required = {"required": [WRAPPER]} if is_array(needed) and WRAPPER in needed else {}
        # Members beside it are there only in an output that is not the SDK's; an exclude leaves them.
        others = root.words.get("additionalProperties") is not False and self.shape(mask.other)
        rest = {} if others is True else {"additionalProperties": others}
        return {"type": "object", "properties": {WRAPPER: held}, **required, **rest}

    def _root(self, root: Place, mask: Mask) -> Schema:
        """The projected schema of the root, where a scalar of which a field was asked becomes null."""
        if mask is NONE:
            return self._emptied(root)
        return self._or_missing(root, mask, self.at(root, mask, closes=True), type_bounds.SCALAR)

    def _or_missing(self, place: Place, mask: Mask, schema: Schema, missing: int) -> Schema:
        """`schema`, or null where a value of one of the kinds `missing` can stand there."""
        if place.schema is True or mask.exclude or not mask.is_inner():
            return schema
        return or_null(schema) if self.kinds(place) & missing else schema

    def _emptied(self, root: Place) -> Schema:
        """The root with everything left out: `{}`, `[]`, or null for a scalar."""
        admitted = self.kinds(root)
        left = admitted & type_bounds.STRUCTURE | (type_bounds.NULL if admitted & type_bounds.SCALAR else 0)
        return {**typed(left), "maxItems": 0, "maxProperties": 0} if left else False
