"""A schema carried over whole: what a kept leaf, or anything untouched, still satisfies.

References lead into the new document, older dialects become 2020-12, and annotations are dropped: they can mention what
was left out. So is whatever cannot be carried over exactly: that makes a schema looser and keeps it sound. But under
`not`, `if`, `oneOf`, `unevaluated*` and next to `maxContains` looser below is not looser above: these are dropped too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from louver.core.schema.applicators import ONE_SCHEMA, SCHEMA_LIST, SCHEMA_MAP

if TYPE_CHECKING:
    from louver.core.json import Schema
    from louver.core.schema.budget import StepBudget
    from louver.core.schema.definitions import Definitions
    from louver.core.schema.references import Place
    from louver.core.schema.type_bounds import Kinds

# Keywords that assert something without a schema below them.
_VALUES = frozenset(
    "type enum const multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength"
    " minLength pattern maxItems minItems uniqueItems maxContains minContains maxProperties"
    " minProperties required dependentRequired format contentEncoding contentMediaType".split()
)

# Keywords that validators read differently, or that cannot be carried over into another document.
_LOOSE = frozenset(
    "$dynamicRef $recursiveRef format contentEncoding contentMediaType contentSchema dependencies".split()
)

# Keywords under which, or next to which, looser is not looser.
_SWITCHED = frozenset({"not", "if", "then", "else", "oneOf", "unevaluatedItems", "unevaluatedProperties"})

_SCHEMAS = ONE_SCHEMA | SCHEMA_LIST | SCHEMA_MAP


class CarryOver:
    def __init__(self, definitions: Definitions, kinds: Kinds, budget: StepBudget) -> None:
        self._definitions = definitions
        self._kinds = kinds
        self._budget = budget
        self._exact: dict[tuple[int, int], bool] = {}

    def copy(self, place: Place) -> Schema:
        """The schema at `place`, self-contained and without annotations."""
        if isinstance(place.schema, bool):
            return place.schema
        with self._budget.deeper():
            words = place.words
            exact = (_SWITCHED.isdisjoint(words) and "maxContains" not in words) or self.is_exact(place)
            copied: dict[str, Any] = {}
            for keyword in words:
                if exact or keyword not in _SWITCHED:
                    self._carry(place, keyword, copied)
            if not exact:
                copied.pop("maxContains", None)
                looser = self._looser(place)
                if looser:
                    copied["allOf"] = [*copied.get("allOf", []), *looser]
            return copied or True

    def _carry(self, place: Place, keyword: str, copied: dict[str, Any]) -> None:
        if keyword in _VALUES:
            copied[keyword] = place.words[keyword]
        elif keyword == "$ref":
            copied.update(self.reference(place))
        elif keyword in SCHEMA_MAP:
            copied[keyword] = {name: self.copy(below) for name, below in place.named(keyword).items()}
        elif keyword in SCHEMA_LIST:
            copied[keyword] = [self.copy(below) for below in place.below(keyword)]
        elif keyword in ONE_SCHEMA and keyword != "contentSchema":
            for below in place.below(keyword):
                copied[keyword] = self.copy(below)

    def reference(self, place: Place) -> dict[str, Any]:
        """The `$ref` of `place`, leading to a copy of its target; empty without a target."""
        target = self._target(place)
        if target is None:
            return {}
        return self._definitions.link((target.key, "whole"), lambda: self.copy(target))

    def _looser(self, place: Place) -> list[Schema]:
        """What `oneOf` and `if` still guarantee where they cannot be carried over."""
        parts: list[Schema] = []
        if "oneOf" in place.words:
            parts.append({"anyOf": [self.copy(branch) for branch in place.below("oneOf")]})
        if "if" in place.words:
            taken, then, other = (place.below(keyword) for keyword in ("if", "then", "else"))
            if other:
                both = [self.copy(part) for part in (*taken, *then)]
                parts.append({"anyOf": [{"allOf": both}, self.copy(other[0])]})
        return parts

    def is_exact(self, place: Place) -> bool:
        """Whether the copy of `place` means precisely the same to any validator."""
        known = self._exact.get(place.key)
        if known is not None:
            return known
        seen: set[tuple[int, int]] = set()
        todo = [place]
        while todo:
            part = todo.pop()
            if isinstance(part.schema, bool) or part.key in seen:
                continue
            seen.add(part.key)
            self._budget.step()
            target = self._target(part) if "$ref" in part.words else part
            # In 2019-09 `contains` does not evaluate elements.
            differs = part.scope.dialect == "2019-09" and "unevaluatedItems" in part.words
            if target is None or differs or not _LOOSE.isdisjoint(part.words) or self._exact.get(part.key) is False:
                self._exact[place.key] = False
                return False
            todo.append(target)
            for keyword in part.words:
                if keyword in _SCHEMAS:
                    todo.extend(part.below(keyword))
        # Everything reached is exact: so is all that it reaches.
        self._exact.update(dict.fromkeys(seen, True))
        return True

    def _target(self, place: Place) -> Place | None:
        """The target of the `$ref`, if it is within the document and not part of a circle."""
        target = place.resolve(place.words["$ref"])
        return None if target is None or self._kinds.leads_back(target) else target
