"""The kinds of JSON value that a schema can admit: an upper bound, found by reading only.

    {"anyOf": [{"$ref": "#/$defs/user"}, {"type": "null"}]}    OBJECT | NULL

Other kinds cannot occur in a valid value; a kind within the bound may still be impossible. Derivation needs the bound
because projection treats kinds differently: if a field of it is requested, a scalar is missing, an object is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from louver.core.json import is_array, is_object

if TYPE_CHECKING:
    from collections.abc import Iterable

    from louver.core.json import Json
    from louver.core.schema.budget import StepBudget
    from louver.core.schema.references import Place

NULL: Final = 1
BOOLEAN: Final = 2
NUMBER: Final = 4
STRING: Final = 8
ARRAY: Final = 16
OBJECT: Final = 32
ANY: Final = 63
SCALAR: Final = BOOLEAN | NUMBER | STRING
# What an include of fields can leave at a place: a scalar there is missing.
STRUCTURE: Final = NULL | ARRAY | OBJECT
# What can be missing as an element, and so become null: an array if it is too deep in arrays.
CAN_BE_MISSING: Final = SCALAR | ARRAY

_BITS: Final = {
    "null": NULL,
    "boolean": BOOLEAN,
    "integer": NUMBER,
    "number": NUMBER,
    "string": STRING,
    "array": ARRAY,
    "object": OBJECT,
}
_CONDITIONAL: Final = frozenset({"if", "then", "else", "not", "dependentSchemas"})
_NAMES: Final = (
    (ARRAY, "array"),
    (BOOLEAN, "boolean"),
    (NULL, "null"),
    (NUMBER, "number"),
    (OBJECT, "object"),
    (STRING, "string"),
)


class Kinds:
    def __init__(self, budget: StepBudget) -> None:
        self._budget = budget
        self._known: dict[tuple[int, int], tuple[int, bool]] = {}

    def of(self, place: Place) -> int:
        return self._look(place)[0]

    def leads_back(self, place: Place) -> bool:
        """Whether in-place references from `place` form a circle, which JSON Schema gives no meaning."""
        return self._look(place)[1]

    def _look(self, place: Place) -> tuple[int, bool]:
        if isinstance(place.schema, bool):
            return (ANY if place.schema else 0), False
        key = place.key
        found = self._known.get(key)
        if found is None:
            # Coming back to this place during its own visit means a circle.
            self._known[key] = (ANY, True)
            with self._budget.deeper():
                found = self._known[key] = self._in_place(place)
        return found

    def _in_place(self, place: Place) -> tuple[int, bool]:
        words = place.words
        admitted = named_kinds(words["type"]) if "type" in words else ANY
        if is_array(words.get("enum")):
            admitted &= union(kind_of(value) for value in words["enum"])
        if "const" in words:
            admitted &= kind_of(words["const"])
        circle = False
        both = place.below("allOf")
        if "$ref" in words and (target := place.resolve(words["$ref"])) is not None:
            both.append(target)
        for part in both:
            bits, back = self._look(part)
            admitted, circle = admitted & bits, circle or back
        for keyword in ("anyOf", "oneOf"):
            if keyword in words and (parts := place.below(keyword)):
                found = [self._look(part) for part in parts]
                admitted &= union(bits for bits, _ in found)
                circle = circle or any(back for _, back in found)
        for keyword in _CONDITIONAL & words.keys():
            for part in place.below(keyword):
                circle = self._look(part)[1] or circle
        return admitted, circle


def kind_of(value: Json) -> int:
    if value is None:
        return NULL
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, str):
        return STRING
    if is_object(value):
        return OBJECT
    return ARRAY if is_array(value) else NUMBER


def type_names(kinds: int) -> list[str]:
    """The `type` names of kinds, in the order of code points; numbers as `number`."""
    return [name for bit, name in _NAMES if kinds & bit]


def named_kinds(names: Any) -> int:
    if isinstance(names, str):
        return _BITS.get(names, 0)
    return union(_BITS.get(name, 0) for name in names if isinstance(name, str)) if is_array(names) else ANY


def union(kinds: Iterable[int]) -> int:
    found = 0
    for bits in kinds:
        found |= bits
    return found
