"""The schema of values with selected members; an object at the place that holds anything else is not valid.

    S        {"type": "object", "required": ["author"], "properties": {"author": {"$ref": "#/$defs/user"}}, ...}
    select   {"from": "author.email"}
    D        {"required": ["from"], "properties": {"from": {"type": "string"}}, "additionalProperties": false, ...}

Branches merge into one flat object: looser, never unsound. Laws: `tests/core/test_shaping_laws.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from louver.core.json import is_object, strings
from louver.core.paths.mask import ALL, Mask
from louver.core.schema import type_bounds
from louver.core.schema.budget import OverBudget
from louver.core.schema.combine import both, either, or_null, typed
from louver.core.schema.derive import Derivation, Derived
from louver.core.schema.keywords import schemas_of
from louver.core.schema.references import UnknownDialect, document
from louver.core.shaping.select import PICKED, place_mask, select
from louver.core.shaping.shortened_schema import Shortened
from louver.core.wrapper import WRAPPER
from louver.limits import MAX_WRITTEN_SIZE

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.core.json import Json, Schema
    from louver.core.schema.references import Place
    from louver.core.shaping.select import MemberSource, Select

# The names that are left of the path of a source.
Steps = tuple[str | None, ...]


def selected(schema: Schema, members: Select, *, wrapped: bool = False) -> Derived:
    """The schema of everything that `select` makes of a valid value: one self-contained 2020-12 document."""
    mask = place_mask(members.at)
    if wrapped:
        inner, mask = mask, Mask(exclude=True)
        mask.children, mask.other, mask.elem = {WRAPPER: inner}, ALL, ALL
    try:
        return Derived(_Selection(members).document(document(schema), mask, wrapped, MAX_WRITTEN_SIZE), "exact")
    except (OverBudget, UnknownDialect):
        return Derived(_Selection(members).document(document(True), mask, wrapped, None), "shape")


class _Selection(Derivation):
    """Down to the place the derivation of an exclude that leaves nothing out; there the sources are read."""

    def __init__(self, members: Select) -> None:
        super().__init__()
        self._members = dict(members.members)

    def at(self, place: Place, mask: Mask, closes: bool) -> Schema:
        return self._picked(place) if mask is PICKED else super().at(place, mask, closes)

    def left(self, value: Json, mask: Mask) -> Json:
        return select(value, mask, self._members)

    def shape(self, mask: Mask) -> Schema:
        if mask is not PICKED:
            return super().shape(mask)
        return self.definitions.link("any object", self._any)

    def _any(self) -> Schema:
        properties: dict[str, Schema] = dict.fromkeys(self._members, True)
        return {**_closed(type_bounds.STRUCTURE, properties, []), "items": self.shape(PICKED)}

    def _picked(self, place: Place) -> Schema:
        if place.schema is True or self.leads_back(place):
            return self.shape(PICKED)
        admitted = self.kinds(place) & type_bounds.STRUCTURE
        if not admitted:
            return False
        properties: dict[str, Schema] = {}
        required: list[str] = []
        for name, source in self._members.items() if admitted & type_bounds.OBJECT else ():
            steps = source.path.names
            found = self._in_object(place, steps, source)
            if found is not False:
                properties[name] = found
            if self._is_sure_in_object(place, steps):
                required.append(name)
        out = _closed(admitted, properties, required)
        if admitted & type_bounds.ARRAY:
            part = self._elements(place, PICKED, lambda below: self.element(below, PICKED, closes=True))
            out |= {"items": self.shape(PICKED)} | (part if is_object(part) else {})
        return out

    def _found(self, place: Place, steps: Steps, source: MemberSource) -> Schema:
        """The schema of what the names `steps` lead to from a value at `place`; `False` if they lead nowhere."""
        if not steps:
            by = source.shortening
            return self.copy(place) if by is None else Shortened(by, self).at(place)
        if place.schema is True or self.leads_back(place):
            return True
        with self.budget.deeper():
            admitted = self.kinds(place)
            found: list[Schema] = []
            if admitted & type_bounds.OBJECT:
                found.append(self._in_object(place, steps, source))
            if admitted & type_bounds.ARRAY:
                part = self._elements(place, (source, steps), lambda below: self._element(below, steps, source))
                found.append({"type": "array", **(part if is_object(part) else {})})
            schema = either(found)
            return or_null(schema) if admitted & type_bounds.NULL else schema

    def _in_object(self, place: Place, steps: Steps, source: MemberSource) -> Schema:
        def schema_at(part: Place) -> Schema:
            if not self.kinds(part) & type_bounds.OBJECT:
                return False
            below = schemas_of(part, steps[0] or "", self.matches)[0]
            return both([self._found(member, steps[1:], source) for member in below])

        return self._everywhere(place, schema_at)

    def _element(self, place: Place, steps: Steps, source: MemberSource) -> Schema:
        """The same, from an element: null where the names lead nowhere."""
        found = self._found(place, steps, source)
        is_sure = not self.kinds(place) & type_bounds.CAN_BE_MISSING and self._is_sure(place, steps)
        return found if is_sure else or_null(found)

    def _elements(self, place: Place, key: object, element: Callable[[Place], Schema]) -> Schema:
        """An array at `place`, with `element` of the schema of each element."""

        def linked(below: Place) -> Schema:
            # A schema can be recursive: an array of such arrays.
            return self.definitions.link((below.key, key), lambda: element(below))

        def schema_at(part: Place) -> Schema:
            if not self.kinds(part) & type_bounds.ARRAY:
                return False
            out = {word: part.words[word] for word in ("minItems", "maxItems") if word in part.words}
            if positions := part.below("prefixItems"):
                out["prefixItems"] = [linked(below) for below in positions]
            for below in part.below("items"):
                out["items"] = linked(below)
            return out

        return self._everywhere(place, schema_at)

    def _everywhere(self, place: Place, schema_at: Callable[[Place], Schema]) -> Schema:
        """What `schema_at` returns at `place`: for its own keywords, and for every schema that applies there."""
        with self.budget.deeper():
            parts = [schema_at(place)]
            parts += [self._everywhere(part, schema_at) for part in self._conjuncts(place)]
            for keyword in ("anyOf", "oneOf"):
                if branches := place.below(keyword):
                    parts.append(either([self._everywhere(branch, schema_at) for branch in branches]))
            return both(parts)

    def _is_sure(self, place: Place, steps: Steps) -> bool:
        """Whether the names lead somewhere from every value at `place`; null leads to null, a scalar nowhere."""
        admitted = self.kinds(place)
        if admitted & type_bounds.SCALAR:
            return False
        return not admitted & type_bounds.OBJECT or self._is_sure_in_object(place, steps)

    def _is_sure_in_object(self, place: Place, steps: Steps) -> bool:
        if self.leads_back(place):
            return False
        if not self.kinds(place) & type_bounds.OBJECT:
            return True
        with self.budget.deeper():
            below = schemas_of(place, steps[0] or "", self.matches)[0]
            is_there = steps[0] in strings(place.words.get("required"))
            if is_there and (len(steps) == 1 or any(self._is_sure(member, steps[1:]) for member in below)):
                return True
            if any(self._is_sure_in_object(part, steps) for part in self._conjuncts(place)):
                return True
            choices = [place.below(keyword) for keyword in ("anyOf", "oneOf")]
            return any(
                branches and all(self._is_sure_in_object(branch, steps) for branch in branches) for branches in choices
            )

    def _conjuncts(self, place: Place) -> list[Place]:
        target = place.resolve(place.words["$ref"]) if "$ref" in place.words else None
        return [*place.below("allOf"), *([] if target is None else [target])]


def _closed(kinds: int, properties: dict[str, Schema], required: list[str]) -> dict[str, Any]:
    if not kinds & type_bounds.OBJECT:
        return typed(kinds)
    needs = {"required": required} if required else {}
    return {**typed(kinds), "properties": properties, **needs, "additionalProperties": False}
