"""The schema that a tool lists: one that every projection of every valid value satisfies.

Stock clients validate each answer against the listed `outputSchema` and throw
when a required field is gone. So a tool that can be projected lists this::

    S          {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}
    relax(S)   {"type": "object",                     "properties": {"id": {"type": "integer"}}}

Everything that taking something away can falsify is dropped: `required`, lower
bounds of length, `oneOf` (becomes `anyOf`), constants that are objects or arrays,
and so on. Elements, and a root that is no object, may also be null. What only
limits what there can be (`additionalProperties: false`, `maxItems`, the rules of
scalars) stays, and so do titles and descriptions, which models read.

Law: `relax(S)` accepts every valid value, and `project(v, mask)` for every mask (`tests/core/test_laws.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from louver.core.json import is_array, is_object
from louver.core.schema import type_bounds
from louver.core.schema.budget import Budget, OverBudget
from louver.core.schema.carry_over import Verbatim
from louver.core.schema.combine import either, joined, or_null
from louver.core.schema.definitions import Definitions
from louver.core.schema.references import NAMED, UnknownDialect, document
from louver.core.schema.type_bounds import Kinds
from louver.core.wrapper import WRAPPER, is_wrapped
from louver.limits import MAX_WRITTEN_SIZE

if TYPE_CHECKING:
    from louver.core.json import Schema
    from louver.core.schema.references import Place

_STAYS = frozenset(
    "type multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength"
    " pattern format contentEncoding contentMediaType maxItems maxProperties title description"
    " deprecated readOnly writeOnly".split()
)
"""What limits scalars or only bounds from above, and what is for reading. Not `default`:
a client that fills defaults in would invent the fields that were left out."""


def relax(schema: Schema) -> Schema:
    """The listing schema of a tool whose exact output schema is `schema`.

    Returns:
        One self-contained document of draft 2020-12; of a schema that cannot be read, or
        not within the bounds, only whether its root is an object.
    """
    return relax_any([schema])


def relax_any(schemas: list[Schema]) -> Schema:
    """Likewise, of a tool whose full answers satisfy one of several schemas: its own, or that of a shaped view."""
    try:
        return _Relaxing().document([document(schema) for schema in schemas])
    except (OverBudget, UnknownDialect):
        rooted = all(is_object(schema) and schema.get("type") == "object" for schema in schemas)
        return {"type": "object"} if rooted else True


class _Relaxing:
    """One walk over a schema; each reference target is relaxed once."""

    def __init__(self) -> None:
        self._budget = Budget()
        self._definitions = Definitions()
        self._kinds = Kinds(self._budget)
        self._verbatim = Verbatim(self._definitions, self._kinds, self._budget)

    def document(self, roots: list[Place]) -> Schema:
        parts = [self._root(root) for root in roots]
        schema = parts[0] if len(parts) == 1 else either(parts)
        if len(parts) > 1 and all(is_object(part) and part.get("type") == "object" for part in parts):
            # Clients of 2025-11-25 look for the type at the root.
            schema = {"type": "object", "anyOf": parts}
        # Models read this, so members stand in the order that the author gave them.
        return self._definitions.finish(schema, MAX_WRITTEN_SIZE, sort=False)

    def _root(self, root: Place) -> Schema:
        schema = or_null(self._at(root)) if self._kinds.of(root) & type_bounds.SCALAR else self._at(root)
        if is_object(schema) and is_wrapped(root.schema):
            # The wrapper stays on the wire, with null in it where a scalar is missing.
            held = self._element(root.member("properties", WRAPPER) or root.at(True))
            schema = {**schema, "properties": {WRAPPER: held}}
        return schema

    def _element(self, place: Place) -> Schema:
        """An element, where what is missing becomes null."""
        schema = self._at(place)
        return or_null(schema) if self._kinds.of(place) & type_bounds.CAN_BE_MISSING else schema

    def _at(self, place: Place) -> Schema:
        if isinstance(place.schema, bool):
            return place.schema
        with self._budget.deeper():
            if self._kinds.leads_back(place):
                return True
            words = place.words
            out = {keyword: words[keyword] for keyword in words if keyword in _STAYS}
            conjuncts: list[Schema] = [out]
            self._values(place, out)
            for keyword in ("properties", "patternProperties", "additionalProperties"):
                self._members(place, keyword, out)
            for below in place.below("propertyNames"):
                out["propertyNames"] = self._verbatim.copy(below)
            self._elements(place, out)
            target = place.resolve(words["$ref"]) if "$ref" in words else None
            if target is not None:
                part = self._definitions.link(target.key, lambda: self._at(target))
                conjuncts.append(part)
            conjuncts += [self._at(part) for part in place.below("allOf")]
            for keyword in ("anyOf", "oneOf"):
                if branches := place.below(keyword):
                    conjuncts.append({"anyOf": [self._at(branch) for branch in branches]})
            return joined(conjuncts)

    def _values(self, place: Place, out: dict[str, Any]) -> None:
        """Constants stay where nothing can be taken away from any of them."""
        words = place.words
        listed: Any = words.get("enum", [])
        if "enum" in words and is_array(listed) and not any(isinstance(v, dict | list) for v in listed):
            out["enum"] = listed
        if "const" in words and not isinstance(words["const"], dict | list):
            out["const"] = words["const"]

    def _members(self, place: Place, keyword: str, out: dict[str, Any]) -> None:
        if not place.below(keyword):
            return
        if keyword in NAMED:
            out[keyword] = {name: self._at(below) for name, below in place.named(keyword).items()}
        else:
            out[keyword] = self._at(place.below(keyword)[0])

    def _elements(self, place: Place, out: dict[str, Any]) -> None:
        positions = place.below("prefixItems")
        if positions:
            # No `items` beside it: a client of an older draft would apply that to the positions.
            out["prefixItems"] = [self._element(below) for below in positions]
        else:
            rest = place.below("items")
            if rest:
                out["items"] = self._element(rest[0])
