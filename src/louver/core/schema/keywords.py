"""What is left of each keyword at a place that is neither kept whole nor left out.

One function a group of keywords that only mean something together, and one
table, `RULES`. A rule gets the place and the mask node (`Here`) and returns the
keywords of the projected schema that follow; `False` if no value can be left.

Each rule states why it is sound: if a value satisfies the keyword, then what
projection leaves of the value satisfies what the rule returns. All rules are
monotone (looser parts give a looser whole), so each may call the walk for its parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from louver.core.json import Json, Schema, canonical, is_array, is_object, strings
from louver.core.paths.mask import ALL, NONE, Mask
from louver.core.schema import type_bounds
from louver.core.schema.combine import both, either, typed
from louver.core.schema.patterns import shielded
from louver.core.schema.references import MEMBERS

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.core.schema.references import Place

Keywords = dict[str, Any]


class Walk(Protocol):
    """What a rule asks for the parts of its keyword (`louver.core.schema.derive`)."""

    silent: bool
    """Whether names that are left out are not told."""

    def at(self, place: Place, mask: Mask, closes: bool) -> Schema:
        """The projected schema of a place."""
        ...

    def element(self, place: Place, mask: Mask, closes: bool) -> Schema:
        """Likewise, where a value that is missing becomes null."""
        ...

    def reference(self, place: Place, mask: Mask, closes: bool) -> Keywords:
        """The reference of a place, leading to the projected schema of its target."""
        ...

    def left(self, value: Json, mask: Mask) -> Json:
        """What is left of a constant."""
        ...

    def shape(self, mask: Mask) -> Schema:
        """What the mask alone says of a place."""
        ...

    def copy(self, place: Place) -> Schema:
        """A schema carried over whole."""
        ...

    def kinds(self, place: Place) -> int:
        """The kinds of value that a schema can admit."""
        ...

    def matches(self, pattern: str, name: str) -> bool | None:
        """Whether a pattern is found in a name; `None` where that is not decided."""
        ...

    def weigh(self, value: Json) -> None:
        """Count the parts of a constant as work."""
        ...

    def step(self) -> None:
        """Count one member as work."""
        ...


def schemas_of(place: Place, name: str, matches: Callable[[str, str], bool | None]) -> tuple[list[Place], bool]:
    """The schemas that a place's own keywords surely apply to the member `name`, and whether these are all."""
    found = [listed] if (listed := place.member("properties", name)) else []
    patterns = place.named("patternProperties")
    decided = {pattern: matches(pattern, name) for pattern in patterns}
    found += [patterns[pattern] for pattern, does in decided.items() if does]
    unsure = None in decided.values()
    if not found and not unsure:
        found = place.below("additionalProperties")
    return found, not unsure


@dataclass(frozen=True, slots=True)
class Here:
    """A pair of the walk.

    Attributes:
        walk: For the parts.
        place: The schema.
        words: Its keywords.
        mask: An inner node.
        duty: Who closes the place: the keyword whose schemas do, "self", or nobody.
    """

    walk: Walk
    place: Place
    words: Keywords
    mask: Mask
    duty: str | None

    @property
    def closes(self) -> bool:
        """Whether the keywords of this very schema close the place."""
        return self.duty == "self"

    def admits(self, kinds: int) -> bool:
        """Whether a value of one of these kinds can stand here."""
        return bool(self.walk.kinds(self.place) & kinds)

    def schemas_of(self, name: str) -> tuple[list[Place], bool]:
        """The schemas that surely apply to the member `name`, and whether these are all."""
        return schemas_of(self.place, name, self.walk.matches)

    def member(self, name: str) -> Schema:
        """The projected schema of the member `name`, which is not left out."""
        self.walk.step()
        mask = self.mask.child(name)
        first, *others = self.schemas_of(name)[0] or [self.place.at(True)]
        parts = [self.walk.at(first, mask, self.closes)]
        parts += [self.walk.at(other, mask, closes=False) for other in others]
        return both(parts)

    def survives(self, name: str) -> bool:
        """Whether the member `name`, if a value has it, is surely kept."""
        mask = self.mask.child(name)
        if not mask.is_inner() or mask.exclude:
            return mask is not NONE
        admitted = type_bounds.ANY
        for place in self.schemas_of(name)[0]:
            admitted &= self.walk.kinds(place)
        return not admitted & type_bounds.SCALAR


def _type(here: Here) -> Keywords:
    """Under an include only null, objects and arrays are left; an exclude leaves every kind."""
    if here.mask.exclude:
        return {"type": here.words["type"]} if "type" in here.words else {}
    if here.closes:
        return typed(here.walk.kinds(here.place) & type_bounds.STRUCTURE)
    return typed(type_bounds.named_kinds(here.words["type"]) & type_bounds.STRUCTURE)


def _values(here: Here) -> Keywords:
    """What is left of a listed value is what is left of one of the listed values.

    There is one: where none is of a kind that can be left, the walk goes no further.
    """

    def left(value: Json) -> Json:
        here.walk.weigh(value)
        return here.walk.left(value, here.mask)

    return listed_values(
        here.words, lambda value: here.mask.exclude or type_bounds.kind_of(value) & type_bounds.STRUCTURE, left
    )


def listed_values(
    words: dict[str, Any], can_be: Callable[[Json], bool | int], becomes: Callable[[Json], Json]
) -> Keywords:
    """`enum` and `const` of what their values become, each once.

    Args:
        words: The keywords of the place.
        can_be: Whether a value can stand there still; one can.
        becomes: What it is then.
    """
    out: Keywords = {}
    for keyword, listed in (("enum", words.get("enum")), ("const", [words.get("const")])):
        if keyword not in words or not is_array(listed):
            continue
        left = {canonical(value): value for value in map(becomes, filter(can_be, listed))}
        out[keyword] = list(left.values()) if keyword == "enum" else next(iter(left.values()))
    return out


def _members(here: Here) -> Keywords:
    """Each member that can be left satisfies what is left of the schemas that applied to it."""
    if (not here.closes and here.words.keys().isdisjoint(MEMBERS)) or not here.admits(type_bounds.OBJECT):
        return {}
    return _named_members(here) if here.mask.other is NONE else _open_members(here)


def _named_members(here: Here) -> Keywords:
    """Only names of the mask can be left, so they are listed and the rest is closed."""
    listed: dict[str, Schema] = {}
    for name, below in here.mask.children.items():
        schema = here.member(name) if below is not NONE else False
        if (schema is not False or not here.closes) and not _is_idle(here, name, schema):
            listed[name] = schema
    out: Keywords = {"properties": listed} if listed else {}
    if here.closes:
        out["additionalProperties"] = False
    return out


def _open_members(here: Here) -> Keywords:
    """Names that the mask does not know can be left too: each group of keywords stays."""
    mask, place, walk = here.mask, here.place, here.walk
    patterns = place.named("patternProperties")
    additional = place.below("additionalProperties")
    sealed = bool(additional) and additional[0].schema is False
    listed: dict[str, Schema] = {}
    for name, schema in place.named("properties").items():
        if name not in mask.children:
            listed[name] = walk.at(schema, mask.other, here.closes)
    for name, below in mask.children.items():
        if below is not NONE:
            member = here.member(name)
            if not _is_idle(here, name, member):
                listed[name] = member
        elif walk.silent:
            continue
        elif not sealed or any(walk.matches(pattern, name) is not False for pattern in patterns):
            # Not admitted by `additionalProperties: false`, or else admitted again by a pattern.
            listed[name] = False
    out: Keywords = {"properties": listed} if listed else {}
    if patterns:
        # A name of the mask is left by its own node; the pattern's schema here speaks for the node of all others.
        out["patternProperties"] = {
            shielded(pattern, _caught(here, pattern)): _of_others(here, pattern, schema)
            for pattern, schema in patterns.items()
        }
    if additional:
        out["additionalProperties"] = walk.at(additional[0], mask.other, here.closes)
    elif here.closes and mask.other is not ALL:
        out["additionalProperties"] = walk.shape(mask.other)
    return out


def _is_idle(here: Here, name: str, schema: Schema) -> bool:
    """Whether a name is not told: one that cannot be there, or that neither the place nor what is left speaks of."""
    if not here.walk.silent or schema is False:
        return here.walk.silent
    is_open = not here.closes and here.words.keys().isdisjoint(("additionalProperties", "patternProperties"))
    return schema is True and is_open and name not in here.place.named("properties")


def _of_others(here: Here, pattern: str, schema: Place) -> Schema:
    """What is left of the members that a pattern matches, without the names of the mask."""
    if here.walk.silent and any(
        below is not here.mask.other and here.walk.matches(pattern, name) is not False
        for name, below in here.mask.children.items()
    ):
        # It may speak of one that is left out alone, and of what is in that.
        return True
    return here.walk.at(schema, here.mask.other, here.closes)


def _caught(here: Here, pattern: str) -> list[str]:
    """The names that the pattern may match and that are left otherwise than names which the mask does not know."""
    return [
        name
        for name, below in here.mask.children.items()
        if below is not NONE and below is not here.mask.other and here.walk.matches(pattern, name) is not False
    ]


def _required(here: Here) -> Keywords:
    """A member that is there and surely survives is still there."""
    here.walk.weigh(here.words["required"])
    kept = [name for name in strings(here.words["required"]) if here.survives(name)]
    return {"required": kept} if kept else {}


def _dependents(here: Here) -> Keywords:
    """A member that is left was there before, and with it what it requires; what survives is left."""
    out: Keywords = {}
    needs: Any = here.words.get("dependentRequired")
    if is_object(needs):
        here.walk.weigh(needs)
        left = {
            name: kept
            for name, argument in needs.items()
            if here.mask.child(name) is not NONE
            and (kept := [other for other in strings(argument) if here.survives(other)])
        }
        if left:
            out["dependentRequired"] = left
    schemas = {
        name: here.walk.at(schema, here.mask, closes=False)
        for name, schema in here.place.named("dependentSchemas").items()
        if here.mask.child(name) is not NONE
    }
    if schemas:
        out["dependentSchemas"] = schemas
    return out


def _member_counts(here: Here) -> Keywords:
    """Projection only takes members away; an exclude takes at most the names that it leaves out."""
    out = _kept(here, "maxProperties")
    least: Any = here.words.get("minProperties")
    others_stay = here.mask.other is ALL or here.mask.other.exclude
    if here.mask.exclude and others_stay and isinstance(least, int | float) and not here.walk.silent:
        least -= sum(not here.survives(name) for name in here.mask.children)
        if least > 0:
            out["minProperties"] = least
    return out


def _member_names(here: Here) -> Keywords:
    """The names that are left were names before; where they are listed this says nothing new."""
    if here.mask.other is NONE:
        return {}
    below = here.place.below("propertyNames")
    return {"propertyNames": here.walk.copy(below[0])} if below else {}


def _elements(here: Here) -> Keywords:
    """Elements keep their positions, so each satisfies what is left of its schema."""
    if (not here.closes and here.words.keys().isdisjoint(_ELEMENTS)) or not here.admits(type_bounds.ARRAY):
        return {}
    mask = here.mask.elem
    if mask is NONE:
        return {"maxItems": 0}
    out: Keywords = {}
    if positions := here.place.below("prefixItems"):
        out["prefixItems"] = [here.walk.element(place, mask, here.closes) for place in positions]
    if rest := here.place.below("items"):
        out["items"] = here.walk.element(rest[0], mask, here.closes)
    elif here.closes and mask is not ALL:
        out["items"] = here.walk.shape(mask)
    return out


def _lengths(here: Here) -> Keywords:
    """Arrays keep their lengths, unless all elements are left out."""
    return {} if here.mask.elem is NONE else _kept(here, "minItems", "maxItems")


def _contained(here: Here) -> Keywords:
    """An element that was counted still is; others may have become like it, so there is no upper bound."""
    if here.mask.elem is NONE:
        return {}
    out = _kept(here, "minContains")
    for place in here.place.below("contains"):
        out["contains"] = here.walk.element(place, here.mask.elem, closes=False)
    return out


def _unique(here: Here) -> Keywords:
    """Projection can make different elements equal, unless it keeps them whole."""
    return _kept(here, "uniqueItems") if here.mask.elem is ALL else {}


def _all_of(here: Here) -> Schema:
    parts = here.place.below("allOf")
    closing = here.duty == "allOf"
    return both([here.walk.at(part, here.mask, closing and not index) for index, part in enumerate(parts)])


def _any_of(here: Here) -> Schema:
    return either([here.walk.at(part, here.mask, here.duty == "anyOf") for part in here.place.below("anyOf")])


def _one_of(here: Here) -> Schema:
    """A value satisfies one branch, what is left of it possibly several: at least one."""
    return either([here.walk.at(part, here.mask, here.duty == "oneOf") for part in here.place.below("oneOf")])


def _conditional(here: Here) -> Schema:
    """A value satisfies `if` and `then`, or else `else`."""
    taken, then, other = (here.place.below(keyword) for keyword in ("if", "then", "else"))
    if not other:
        return True
    both_of = both([here.walk.at(part, here.mask, closes=False) for part in (*taken, *then)])
    return either([both_of, here.walk.at(other[0], here.mask, closes=False)])


def _reference(here: Here) -> Schema:
    return here.walk.reference(here.place, here.mask, here.duty == "$ref")


def _scalars(here: Here) -> Keywords:
    """An exclude leaves scalars as they were; an include leaves none."""
    return _kept(here, *_OF_SCALARS) if here.mask.exclude else {}


def _kept(here: Here, *keywords: str) -> Keywords:
    return {keyword: here.words[keyword] for keyword in keywords if keyword in here.words}


_OF_SCALARS = (
    "multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength pattern"
    " format contentEncoding contentMediaType"
).split()
_ELEMENTS = frozenset({"prefixItems", "items"})

RULES: tuple[tuple[frozenset[str], Callable[[Here], Schema]], ...] = (
    (frozenset({"type"}), _type),
    (frozenset({"enum", "const"}), _values),
    (MEMBERS, _members),
    (frozenset({"required"}), _required),
    (frozenset({"dependentRequired", "dependentSchemas"}), _dependents),
    (frozenset({"minProperties", "maxProperties"}), _member_counts),
    (frozenset({"propertyNames"}), _member_names),
    (_ELEMENTS, _elements),
    (frozenset({"minItems", "maxItems"}), _lengths),
    (frozenset({"contains"}), _contained),
    (frozenset({"uniqueItems"}), _unique),
    (frozenset({"$ref"}), _reference),
    (frozenset({"allOf"}), _all_of),
    (frozenset({"anyOf"}), _any_of),
    (frozenset({"oneOf"}), _one_of),
    (frozenset({"if"}), _conditional),
    (frozenset(_OF_SCALARS), _scalars),
)
"""The keywords that call for a rule, and the rule. What is in no row is dropped."""

CLOSING = (_type, _members, _elements)
"""The rules that apply without their keywords where a schema closes its place."""


IN_PLACE = (_reference, _all_of, _any_of, _one_of, _conditional)
"""The rules that return what is left of other schemas for the same place."""


def duty(words: Keywords, resolves: bool) -> str:
    """Which keyword closes a place: what lists parts itself, else a reference, else branches."""
    if not words.keys().isdisjoint(MEMBERS | _ELEMENTS):
        return "self"
    if "$ref" in words and resolves:
        return "$ref"
    for keyword in ("anyOf", "oneOf", "allOf"):
        if is_array(words.get(keyword)) and words[keyword]:
            return keyword
    return "self"
