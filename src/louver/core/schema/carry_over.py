"""A schema carried over whole: what a kept leaf, or anything untouched, still satisfies.

Everything that is asserted stays; references are rewritten into the new
document, older dialects are rewritten into 2020-12, and annotations are gone
(`title`, `description`, `default`, `examples`, ... can name or hold what was
left out elsewhere).

What cannot be carried over exactly is dropped, which makes a schema looser and
so keeps it sound, but only where looser below means looser above. Under `not`,
`if`, `oneOf`, `unevaluated*` and beside `maxContains` it does not, so these give way
where something below them was not exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from louver.core.schema.references import MANY, NAMED, ONE

if TYPE_CHECKING:
    from louver.core.json import Schema
    from louver.core.schema.budget import Budget
    from louver.core.schema.definitions import Definitions
    from louver.core.schema.references import Place
    from louver.core.schema.type_bounds import Kinds

_VALUES = frozenset(
    "type enum const multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength"
    " minLength pattern maxItems minItems uniqueItems maxContains minContains maxProperties"
    " minProperties required dependentRequired format contentEncoding contentMediaType".split()
)
"""Keywords that assert something of a value without a schema below them."""

_LOOSE = frozenset(
    "$dynamicRef $recursiveRef format contentEncoding contentMediaType contentSchema dependencies".split()
)
"""Keywords that not every validator reads alike, or that cannot be carried into another document."""

_SWITCHED = frozenset({"not", "if", "then", "else", "oneOf", "unevaluatedItems", "unevaluatedProperties"})
"""Keywords under which, or beside which, looser is not looser."""

_SCHEMAS = ONE | MANY | NAMED


class Verbatim:
    """Carries the places of one document over into another."""

    def __init__(self, definitions: Definitions, kinds: Kinds, budget: Budget) -> None:
        self._definitions = definitions
        self._kinds = kinds
        self._budget = budget
        self._exact: dict[tuple[int, int], bool] = {}

    def copy(self, place: Place) -> Schema:
        """The schema at `place`, self-contained and without annotations.

        Raises:
            OverBudget: The schema is too large or too deep.
        """
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
        elif keyword in NAMED:
            copied[keyword] = {name: self.copy(below) for name, below in place.named(keyword).items()}
        elif keyword in MANY:
            copied[keyword] = [self.copy(below) for below in place.below(keyword)]
        elif keyword in ONE and keyword != "contentSchema":
            for below in place.below(keyword):
                copied[keyword] = self.copy(below)

    def reference(self, place: Place) -> dict[str, Any]:
        """The `$ref` of `place`, leading to a copy of its target; empty if there is none."""
        target = self._target(place)
        if target is None:
            return {}
        return self._definitions.link((target.key, "whole"), lambda: self.copy(target))

    def _looser(self, place: Place) -> list[Schema]:
        """What `oneOf` and `if` still promise where they cannot be carried over."""
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
        """Whether the copy of `place` says precisely what the schema says, to any validator."""
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
            # In 2019-09 an element that is contained is still unevaluated.
            differs = part.scope.dialect == "2019-09" and "unevaluatedItems" in part.words
            if target is None or differs or not _LOOSE.isdisjoint(part.words) or self._exact.get(part.key) is False:
                self._exact[place.key] = False
                return False
            todo.append(target)
            for keyword in part.words:
                if keyword in _SCHEMAS:
                    todo.extend(part.below(keyword))
        # All that was reached is exact, for all that it reaches was reached.
        self._exact.update(dict.fromkeys(seen, True))
        return True

    def _target(self, place: Place) -> Place | None:
        """Where the `$ref` leads, if it leads anywhere within the document and not in a circle."""
        target = place.resolve(place.words["$ref"])
        return None if target is None or self._kinds.leads_back(target) else target
