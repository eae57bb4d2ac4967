"""The schema of shorter values: `shorten(v, by)` of every value `v` valid under `S` is valid under `shortened(S, by)`.

    by   maxString 500, dropNulls
    S    "name": {"type": "string", "minLength": 1, "pattern": "^[A-Z]"},  "nick": {"type": ["string", "null"]}
    D    "name": {"type": "string", "minLength": 1, "maxLength": 500},     "nick": {"type": "string", "maxLength": 500}

Bounds stand wherever the schema describes something. Laws: `tests/core/test_shaping_laws.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from louver.core.json import members
from louver.core.schema import type_bounds
from louver.core.schema.budget import OverBudget
from louver.core.schema.combine import joined
from louver.core.schema.derive import Derivation, Derived
from louver.core.schema.keywords import duty
from louver.core.schema.references import UnknownDialect, document
from louver.core.shaping.shortened_keywords import IN_PLACE, OWN, ShortenedPlace, bounds_of
from louver.core.wrapper import WRAPPER
from louver.limits import MAX_WRITTEN_SIZE

if TYPE_CHECKING:
    from louver.core.json import Schema
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
