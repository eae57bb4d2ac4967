"""The projected form of each keyword, at a place that is neither kept whole nor left out.

`RULES` has one function for each group of keywords; an applicator is also in a set of `applicators.py`. A rule
returns keywords of the projected schema, or `False` if no value can be left. It is sound: if a value satisfies the
keyword, then its projection satisfies the result. All rules are monotone (looser parts make a looser whole), so each
may call the walk for its parts. `carry_over.py` copies what is kept whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from louver.core.json import Json, Schema, canonical, is_array, is_object, strings
from louver.core.paths.mask import ALL, NONE, Mask
from louver.core.schema import type_bounds
from louver.core.schema.applicators import MEMBERS
from louver.core.schema.combine import both, either, typed
from louver.core.schema.patterns import shielded

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.core.schema.references import Place

Keywords = dict[str, Any]


class Walk(Protocol):
    """What a rule needs of the walk (`louver.core.schema.derive`)."""

    silent: bool  # names that are left out are not mentioned

    def at(self, place: Place, mask: Mask, closes: bool) -> Schema: ...

    def element(self, place: Place, mask: Mask, closes: bool) -> Schema: ...

    def reference(self, place: Place, mask: Mask, closes: bool) -> Keywords: ...

    def left(self, value: Json, mask: Mask) -> Json: ...

    def shape(self, mask: Mask) -> Schema: ...

    def copy(self, place: Place) -> Schema: ...

    def kinds(self, place: Place) -> int: ...

    def matches(self, pattern: str, name: str) -> bool | None:
        """Whether a pattern is found in a name; `None` if undecided."""
        ...

    def weigh(self, value: Json) -> None: ...

    def step(self) -> None: ...


def schemas_of(place: Place, name: str, matches: Callable[[str, str], bool | None]) -> tuple[list[Place], bool]:
    """The schemas that a place's own keywords surely apply to a member, and whether these are all."""
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
    walk: Walk
    place: Place
    words: Keywords
    mask: Mask  # an inner node
    duty: str | None  # the keyword with the schemas that close the place, "self" (these keywords), or no duty

    @property
    def closes(self) -> bool:
        return self.duty == "self"

    def admits(self, kinds: int) -> bool:
        return bool(self.walk.kinds(self.place) & kinds)

    def schemas_of(self, name: str) -> tuple[list[Place], bool]:
        return schemas_of(self.place, name, self.walk.matches)

    def member(self, name: str) -> Schema:
        self.walk.step()
        mask = self.mask.child(name)
        first, *others = self.schemas_of(name)[0] or [self.place.at(True)]
        parts = [self.walk.at(first, mask, self.closes)]
        parts += [self.walk.at(other, mask, closes=False) for other in others]
        return both(parts)

    def survives(self, name: str) -> bool:
        """Whether a member, if a value has it, is surely kept."""
        mask = self.mask.child(name)
        if mask.is_sparse:
            return False
        if not mask.is_inner or mask.exclude:
            return mask is not NONE
        admitted = type_bounds.ANY
        for place in self.schemas_of(name)[0]:
            admitted &= self.walk.kinds(place)
        return not admitted & type_bounds.SCALAR


def _type(here: Here) -> Keywords:
    """An include leaves only null, objects and arrays; an exclude leaves every kind."""
    if here.mask.exclude:
        return {"type": here.words["type"]} if "type" in here.words else {}
    if here.closes:
        return typed(here.walk.kinds(here.place) & type_bounds.STRUCTURE)
    return typed(type_bounds.named_kinds(here.words["type"]) & type_bounds.STRUCTURE)


def _values(here: Here) -> Keywords:
    """What is left of a listed value is what is left of one of the listed values, unless tests read what is around."""
    if any(pick.reads_root for node in here.mask.nodes() for pick in node.rows):
        return {}

    def left(value: Json) -> Json:
        here.walk.weigh(value)
        return here.walk.left(value, here.mask)

    return listed_values(
        here.words, lambda value: here.mask.exclude or type_bounds.kind_of(value) & type_bounds.STRUCTURE, left
    )


def listed_values(
    words: dict[str, Any], can_be: Callable[[Json], bool | int], becomes: Callable[[Json], Json]
) -> Keywords:
    """`enum` and `const` of what their possible values become, each once."""
    out: Keywords = {}
    for keyword, listed in (("enum", words.get("enum")), ("const", [words.get("const")])):
        if keyword not in words or not is_array(listed):
            continue
        # Some value is left: if none of them is possible, the walk does not come here.
        left = {canonical(value): value for value in map(becomes, filter(can_be, listed))}
        out[keyword] = list(left.values()) if keyword == "enum" else next(iter(left.values()))
    return out


def _members(here: Here) -> Keywords:
    """Each member that is left satisfies what is left of the schemas that applied to it."""
    if (not here.closes and here.words.keys().isdisjoint(MEMBERS)) or not here.admits(type_bounds.OBJECT):
        return {}
    return _named_members(here) if here.mask.other is NONE else _open_members(here)


def _named_members(here: Here) -> Keywords:
    """Only names of the mask can be left, so they are listed and the object is closed."""
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
            # Nothing else refuses the name: the object is open, or a pattern may admit it.
            listed[name] = False
    out: Keywords = {"properties": listed} if listed else {}
    if patterns:
        # Names of the mask follow their own nodes; the pattern's schema is for all other names.
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
    """Whether a silent walk need not list a name: it is impossible, or nothing is said of it."""
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
        # The pattern may describe only a member that is left out, and what is in it.
        return True
    return here.walk.at(schema, here.mask.other, here.closes)


def _caught(here: Here, pattern: str) -> list[str]:
    """Names that the pattern may match, and that the mask treats differently from names it does not know."""
    return [
        name
        for name, below in here.mask.children.items()
        if below is not NONE and below is not here.mask.other and here.walk.matches(pattern, name) is not False
    ]


def _required(here: Here) -> Keywords:
    """A member that is present and surely survives is still present."""
    here.walk.weigh(here.words["required"])
    kept = [name for name in strings(here.words["required"]) if here.survives(name)]
    return {"required": kept} if kept else {}


def _dependents(here: Here) -> Keywords:
    """A member that is left was present before, and with it what it requires; what survives is left."""
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
    """Projection only removes members; an exclude removes at most the names that it leaves out."""
    out = _kept(here, "maxProperties")
    least: Any = here.words.get("minProperties")
    others_stay = here.mask.other is ALL or here.mask.other.exclude
    if here.mask.exclude and others_stay and isinstance(least, int | float) and not here.walk.silent:
        least -= sum(not here.survives(name) for name in here.mask.children)
        if least > 0:
            out["minProperties"] = least
    return out


def _member_names(here: Here) -> Keywords:
    """The names that are left were names before; where they are listed this adds nothing."""
    if here.mask.other is NONE:
        return {}
    below = here.place.below("propertyNames")
    return {"propertyNames": here.walk.copy(below[0])} if below else {}


def _elements(here: Here) -> Keywords:
    """Elements keep their positions, so each satisfies what is left of its schema; rows do not."""
    if (not here.closes and here.words.keys().isdisjoint(_ELEMENTS)) or not here.admits(type_bounds.ARRAY):
        return {}
    if here.mask.drops:
        return _rows(here)
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


def _rows(here: Here) -> Keywords:
    """Each row that is left satisfies what is left of the schema at some position, under one of the masks of rows."""
    places = [*here.place.below("prefixItems"), *(here.place.below("items") or [here.place.at(True)])]
    masks = [mask for mask in here.mask.of_elements if mask is not NONE]
    schema = either([here.walk.at(place, mask, here.closes) for place in places for mask in masks])
    return {"maxItems": 0} if schema is False else {} if schema is True else {"items": schema}


def _lengths(here: Here) -> Keywords:
    """Arrays keep their lengths, unless all elements are left out, or some."""
    if here.mask.drops:
        return _kept(here, "maxItems")
    return {} if here.mask.elem is NONE else _kept(here, "minItems", "maxItems")


def _contained(here: Here) -> Keywords:
    """An element that counted still counts; others may have become like it, so there is no upper bound."""
    if here.mask.elem is NONE or here.mask.drops:
        return {}
    out = _kept(here, "minContains")
    for place in here.place.below("contains"):
        out["contains"] = here.walk.element(place, here.mask.elem, closes=False)
    return out


def _unique(here: Here) -> Keywords:
    """Projection can make different elements equal, unless it keeps them whole."""
    return _kept(here, "uniqueItems") if {*here.mask.of_elements} - {NONE} == {ALL} else {}


def _all_of(here: Here) -> Schema:
    """A value satisfies each part, so its projection satisfies each projected part."""
    parts = here.place.below("allOf")
    closing = here.duty == "allOf"
    return both([here.walk.at(part, here.mask, closing and not index) for index, part in enumerate(parts)])


def _any_of(here: Here) -> Schema:
    """A value satisfies one branch, so its projection satisfies that projected branch."""
    return either([here.walk.at(part, here.mask, here.duty == "anyOf") for part in here.place.below("anyOf")])


def _one_of(here: Here) -> Schema:
    """A value satisfies one branch, its projection possibly several: at least one."""
    return either([here.walk.at(part, here.mask, here.duty == "oneOf") for part in here.place.below("oneOf")])


def _conditional(here: Here) -> Schema:
    """A value satisfies `if` and `then`, or `else`; whether its projection satisfies `if` is not known."""
    condition, then, other = (here.place.below(keyword) for keyword in ("if", "then", "else"))
    if not other:
        return True
    both_of = both([here.walk.at(part, here.mask, closes=False) for part in (*condition, *then)])
    return either([both_of, here.walk.at(other[0], here.mask, closes=False)])


def _reference(here: Here) -> Schema:
    """A reference stands for the schema that it leads to."""
    return here.walk.reference(here.place, here.mask, here.duty == "$ref")


def _scalars(here: Here) -> Keywords:
    """An exclude leaves scalars unchanged; an include leaves none."""
    return _kept(here, *_OF_SCALARS) if here.mask.exclude else {}


def _kept(here: Here, *keywords: str) -> Keywords:
    return {keyword: here.words[keyword] for keyword in keywords if keyword in here.words}


_OF_SCALARS = (
    "multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength pattern"
    " format contentEncoding contentMediaType"
).split()
_ELEMENTS = frozenset({"prefixItems", "items"})

# The keywords that trigger a rule, and the rule. A keyword that no rule reads is dropped.
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

# The rules that apply without their keywords where a schema closes its place.
CLOSING = (_type, _members, _elements)


# The rules that return what is left of other schemas for the same place.
IN_PLACE = (_reference, _all_of, _any_of, _one_of, _conditional)


def duty(words: Keywords, resolves: bool) -> str:
    """Which keyword closes a place: one that lists parts itself, else a reference, else branches."""
    if not words.keys().isdisjoint(MEMBERS | _ELEMENTS):
        return "self"
    if "$ref" in words and resolves:
        return "$ref"
    for keyword in ("anyOf", "oneOf", "allOf"):
        if is_array(words.get(keyword)) and words[keyword]:
            return keyword
    return "self"
