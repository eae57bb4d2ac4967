"""The schema that a tool lists: every projection satisfies it, since stock clients validate answers against it.

    S          {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}
    relax(S)   {"type": "object",                     "properties": {"id": {"type": "integer"}}}

Whatever removal can falsify is dropped: `required`, lower bounds of length, `oneOf` (now `anyOf`), compound constants.
Law: `relax(S)` accepts every valid value, and `project(v, mask)` for every mask (`tests/fuzz/laws.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from louver.core.json import is_array, is_object, members
from louver.core.schema import type_bounds
from louver.core.schema.applicators import SCHEMA_MAP
from louver.core.schema.budget import OverBudget, StepBudget
from louver.core.schema.carry_over import CarryOver
from louver.core.schema.combine import either, joined, or_null
from louver.core.schema.definitions import Definitions
from louver.core.schema.references import UnknownDialect, document
from louver.core.schema.type_bounds import Kinds
from louver.core.wrapper import WRAPPER, is_wrapped
from louver.limits import MAX_WRITTEN_SIZE

if TYPE_CHECKING:
    from louver.core.json import Schema
    from louver.core.schema.references import Place


# Limits of scalars, upper bounds, and annotations. Not `default`: a client that fills in defaults would invent
# the fields that were left out.
_STAYS = frozenset(
    "type multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength"
    " pattern format contentEncoding contentMediaType maxItems maxProperties title description"
    " deprecated readOnly writeOnly".split()
)


def relax(schema: Schema) -> Schema:
    """The listing schema of a tool whose exact output schema is `schema`.

    Returns:
        One self-contained document of draft 2020-12. If `schema` cannot be read, or not within the bounds, it only says
        whether the root is an object.
    """
    return relax_any([schema])


def relax_any(schemas: list[Schema]) -> Schema:
    """The same for full answers that satisfy one of several schemas: the tool's own, or that of a shaped view."""
    try:
        return _Relaxing().document([document(schema) for schema in schemas])
    except (OverBudget, UnknownDialect):
        rooted = all(is_object(schema) and schema.get("type") == "object" for schema in schemas)
        return {"type": "object"} if rooted else True


class _Relaxing:
    def __init__(self) -> None:
        self._budget = StepBudget()
        self._definitions = Definitions()
        self._kinds = Kinds(self._budget)
        self._carry_over = CarryOver(self._definitions, self._kinds, self._budget)

    def document(self, roots: list[Place]) -> Schema:
        parts = [self._root(root) for root in roots]
        schema = parts[0] if len(parts) == 1 else either(parts)
        if len(parts) > 1 and all(is_object(part) and part.get("type") == "object" for part in parts):
            # Clients of 2025-11-25 expect the type at the root.
            schema = {"type": "object", "anyOf": parts}
        # Models read this schema, so members keep the author's order.
        return self._definitions.finish(schema, MAX_WRITTEN_SIZE, sort=False)

    def _root(self, root: Place) -> Schema:
        schema = or_null(self._at(root)) if self._kinds.of(root) & type_bounds.SCALAR else self._at(root)
        if is_object(schema) and is_wrapped(root.schema):
            # The wrapper stays in the answer, with null in it where a scalar is missing.
            held = self._element(root.member("properties", WRAPPER) or root.at(True))
            schema = {**schema, "properties": {WRAPPER: held}}
        return schema

    def _element(self, place: Place) -> Schema:
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
                out["propertyNames"] = self._carry_over.copy(below)
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
        """Scalar constants stay: nothing can be removed from them."""
        words = place.words
        listed: Any = words.get("enum", [])
        if "enum" in words and is_array(listed) and not any(isinstance(v, dict | list) for v in listed):
            out["enum"] = listed
        if "const" in words and not isinstance(words["const"], dict | list):
            out["const"] = words["const"]

    def _members(self, place: Place, keyword: str, out: dict[str, Any]) -> None:
        if not place.below(keyword):
            return
        if keyword in SCHEMA_MAP:
            out[keyword] = {name: self._at(below) for name, below in place.named(keyword).items()}
        else:
            out[keyword] = self._at(place.below(keyword)[0])

    def _elements(self, place: Place, out: dict[str, Any]) -> None:
        # Rows may be left out, so each can stand at every position.
        positions, rest = place.below("prefixItems"), place.below("items")
        items = either([self._element(below) for below in (*positions, *rest)]) if rest else True
        if items is not True:
            out["items"] = items


_DEFINITIONS = "#/$defs/"


def admit(schema: dict[str, Any], name: str, member: Schema) -> dict[str, Any]:
    """The schema with a member admitted at its root, unless it knows the name; `schema` is one that `relax` wrote."""
    admitting = _Admitting(members(schema.get("$defs")), name, member)
    admitted = admitting.at(schema)
    return {**admitted, "$defs": {**schema["$defs"], **admitting.definitions}} if admitting.definitions else admitted


class _Admitting:
    def __init__(self, definitions: dict[str, Any], name: str, member: Schema) -> None:
        self.definitions: dict[str, Any] = {}
        self._before = definitions
        self._name = name
        self._member = member

    def at(self, part: Any) -> Any:
        if not is_object(part):
            return part
        admitted = dict(part)
        if part.get("additionalProperties", True) is not True:
            admitted["properties"] = {self._name: self._member, **members(part.get("properties"))}
        if isinstance(part.get("maxProperties"), int):
            admitted["maxProperties"] = part["maxProperties"] + 1
        for keyword in ("allOf", "anyOf"):
            if is_array(part.get(keyword)):
                admitted[keyword] = [self.at(each) for each in part[keyword]]
        target: object = part.get("$ref")
        if isinstance(target, str) and target.startswith(_DEFINITIONS):
            self._admit_definition(target.removeprefix(_DEFINITIONS))
        return admitted

    def _admit_definition(self, key: str) -> None:
        if key in self._before and key not in self.definitions:
            self.definitions[key] = self._before[key]
            self.definitions[key] = self.at(self._before[key])
