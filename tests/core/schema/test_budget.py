"""Hostile schemas: what they cost is counted in steps, never measured by the clock."""

from __future__ import annotations

from typing import Any

import pytest

from louver.core.json import canonical
from louver.core.paths.mask import Mask, exclude_mask, include_mask
from louver.core.paths.path import FieldPath
from louver.core.schema import derive as derivation
from louver.core.schema.budget import OverBudget, StepBudget
from louver.core.schema.derive import derive
from louver.core.schema.known_fields import unmatched
from louver.core.schema.relax import relax
from louver.core.schema.validate import validator
from louver.limits import MAX_SCHEMA_DEPTH, MAX_SCHEMA_STEPS, MAX_WRITTEN_DEPTH

NAMES = "abcdefgh"


def doubling(levels: int) -> Any:
    """600 bytes a level, and 2^levels ways through it."""
    defs: dict[str, Any] = {
        f"d{level}": {
            "allOf": [{"$ref": f"#/$defs/d{level + 1}"}] * 2,
            "properties": {"a": {"$ref": f"#/$defs/d{level + 1}"}},
        }
        for level in range(levels)
    }
    return {"$ref": "#/$defs/d0", "$defs": {**defs, f"d{levels}": {"properties": {"a": {"type": "string"}}}}}


def nested(levels: int) -> Any:
    schema: Any = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def mutual(count: int) -> Any:
    """Definitions of which each has all as members."""
    members = {f"p{number}": {"$ref": f"#/$defs/d{number}"} for number in range(count)}
    body = {"type": "object", "properties": {**members, "a": {"type": "string"}}}
    return {"$ref": "#/$defs/d0", "$defs": {f"d{number}": dict(body) for number in range(count)}}


def wide(count: int) -> Any:
    return {
        "type": "object",
        "properties": {f"p{number}": {"type": "object", "minProperties": 1} for number in range(count)},
    }


def include(*texts: str) -> Mask:
    return include_mask([FieldPath.parse(text) for text in texts])


def exclude(*texts: str) -> Mask:
    return exclude_mask([FieldPath.parse(text, deep=True) for text in texts])


@pytest.fixture
def budgets(monkeypatch: pytest.MonkeyPatch) -> list[StepBudget]:
    made: list[StepBudget] = []

    class Watched(StepBudget):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

    monkeypatch.setattr(derivation, "StepBudget", Watched)
    return made


@pytest.mark.parametrize(
    ("schema", "most"),
    [(doubling(22), 500), (nested(400), 500), (mutual(40), 6_000), (wide(787), 4_000)],
    ids=["2^22 ways", "400 deep", "40 mutually recursive", "787 properties"],
)
@pytest.mark.parametrize("mask", [include("a", "p1.a", "*.x"), exclude("**.a", "p2.b"), include("a.a.a")])
def test_a_hostile_schema_takes_few_steps(schema: Any, most: int, mask: Mask, budgets: list[StepBudget]):
    """DERIVATION.md, "Measured"; a step is some microseconds, so these are tens of milliseconds at most."""
    derive(schema, mask)
    assert sum(MAX_SCHEMA_STEPS - budget.steps for budget in budgets) < most
    relax(schema)


def test_many_branches_and_many_names_end_in_the_shape():
    """Ours: 2,000 branches under 256 names took a second to derive from, and longer to look names up in."""
    schema = {"anyOf": [{"type": "object", "properties": {f"p{n}": {"type": "string"}}} for n in range(2000)]}
    paths = [FieldPath((f"z{number}",)) for number in range(256)]
    assert derive(schema, include_mask(paths)).precision == "shape"
    assert unmatched(schema, paths, ()) == {}
    assert derive(schema, include_mask(paths[:2])).precision == "exact"


def test_looking_names_up_is_counted():
    """Ours: over the bound every path is known."""
    schema = {"properties": {f"p{number}": {"properties": {"x": {"type": "string"}}} for number in range(787)}}
    many = [FieldPath((f"z{number}",), deep=True) for number in range(256)]
    assert unmatched(schema, (), many) == {}
    assert len(unmatched(schema, (), many[:3])) == 3


def test_a_schema_of_the_greatest_depth_is_derived_exactly_and_a_deeper_one_gets_the_shape():
    """DERIVATION.md: a 400-deep schema needs the fallback."""
    path = ".".join("a" * 30)
    assert derive(nested(30), include(path)).precision == "exact"
    assert derive(nested(400), include(path)).precision == "shape"
    assert derive(nested(MAX_SCHEMA_DEPTH), exclude("**.b")).precision == "shape"
    assert derive(nested(400), exclude("b")).precision == "shape"


def test_many_patterns_and_many_names_end_in_the_shape():
    """PRIVACY.md, "Hostile inputs"; ours: 256 names against 3,000 patterns took 13 s."""
    schema = {"patternProperties": {f"^x{number}[a-z]*$": {"type": "object"} for number in range(3000)}}
    mask = include(*(f"n{number}" for number in range(250)), "*.q")
    assert derive(schema, mask).precision == "shape"
    few = {"patternProperties": dict(list(schema["patternProperties"].items())[:30])}
    assert derive(few, mask).precision == "exact"


@pytest.mark.parametrize(
    "words",
    [
        {"required": ["r"] * 3000},
        {"dependentRequired": {"a": ["r"] * 3000}},
        {"enum": [{"r": number} for number in range(3000)]},
        {"const": {"z": ["r"] * 3000}},
    ],
    ids=lambda words: next(iter(words)),
)
def test_a_large_argument_under_many_states_ends_in_the_shape(words: Any):
    """Ours: each state of the mask looks at it again."""
    schema = {"properties": {name: {"$ref": "#"} for name in NAMES}, **words}
    paths = [
        FieldPath((*f"{number:o}".translate({48 + at: name for at, name in enumerate(NAMES)}), "z"))
        for number in range(250)
    ]
    assert derive(schema, include_mask(paths)).precision == "shape"
    assert derive(schema, include("a", "b.c")).precision == "exact"


def test_a_constant_too_deep_to_be_written_ends_in_the_shape():
    """Ours: writing it canonically would recurse."""
    deep: Any = 1
    for _ in range(100_000):
        deep = {"a": deep}
    for schema in ({"const": deep}, {"enum": [deep]}, {"properties": {"a": {"const": deep}}}):
        for mask in (include("a"), exclude("b"), include("*")):
            assert derive(schema, mask).precision == "shape"
    assert relax({"const": deep, "type": "object"}) == {"type": "object"}


def test_a_budget_counts_steps_levels_and_the_parts_of_constants():
    budget = StepBudget()
    budget.step()
    budget.step(9)
    with budget.deeper():
        assert budget.depth == MAX_SCHEMA_DEPTH - 1
    assert (budget.steps, budget.depth) == (MAX_SCHEMA_STEPS - 11, MAX_SCHEMA_DEPTH)
    budget.weigh({"a": [1, {"b": "c"}], "d": None})
    assert budget.steps == MAX_SCHEMA_STEPS - 11 - 6
    deep: Any = []
    for _ in range(MAX_WRITTEN_DEPTH):
        deep = [deep]
    with pytest.raises(OverBudget):
        budget.weigh(deep)
    with pytest.raises(OverBudget):
        budget.weigh([0] * MAX_SCHEMA_STEPS)
    with pytest.raises(OverBudget):
        StepBudget().step(MAX_SCHEMA_STEPS + 1)


def test_the_most_hostile_request_of_an_unknown_schema_is_bounded():
    """PROJECTION.md: the request's own budget keeps the shape small."""
    texts = [".".join("*" if (bits * 7919 >> at) & 1 else "ab"[at % 2] for at in range(9)) for bits in range(1, 11)]
    assert len(canonical(derive(True, include(*texts)).schema)) < 2_000_000


def test_a_schema_that_takes_too_many_ways_to_apply_is_told_as_its_shape():
    """Ours: thirty schemas that each refer twice to the next: written down in no time, and applied for ever."""
    levels = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(30)}
    schema = {"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": {**levels, "d30": {"type": "object"}}}
    derived = derive(schema, include_mask([FieldPath.parse("a")]))
    assert derived.precision == "shape"
    assert validator(derived.schema).is_valid({"a": {}})


def test_a_schema_in_which_much_is_used_twice_is_told_exactly():
    """Ours: what counts is how often something is applied, and not how often all of it is referred to."""
    parts = {f"d{n}": {"type": "object", "properties": {"up": {"$ref": "#/$defs/d0"}}} for n in range(40)}
    members = {f"m{n}{twin}": {"$ref": f"#/$defs/d{n}"} for n in range(40) for twin in "ab"}
    derived = derive({"properties": members, "$defs": parts}, exclude_mask([FieldPath.parse("m0a")]))
    assert derived.precision == "exact"
    assert validator(derived.schema).is_valid({"m0b": {"up": {"up": {}}}})
    assert not validator(derived.schema).is_valid({"m0b": {"up": 1}})
