"""The schema of values: what was seen, merged, and no more."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz.laws import text
from louver.core.json import levels
from louver.core.project import project
from louver.core.projection.plan import compile_projection
from louver.core.projection.request import Projection
from louver.core.schema import infer as module
from louver.core.schema.derive import derive
from louver.core.schema.infer import closed, infer, unsettled
from louver.limits import MAX_INFERRED_DEPTH, MAX_INFERRED_NAMES
from strategies import JUDGE, asked_values, randoms

if TYPE_CHECKING:
    from random import Random

    from fuzz.requests import Request

SAID = {"type", "required", "properties", "additionalProperties", "items"}
"""The keywords that one answer can stand for."""

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text("ab")
values = st.recursive(
    scalars, lambda below: st.lists(below) | st.dictionaries(st.sampled_from("abc"), below), max_leaves=12
)


def accepts(schema: Any, value: Any) -> bool:
    judge = JUDGE(schema, "2020-12")
    assert judge is not None
    return judge(value)


def shuffled(value: Any, rng: Random) -> Any:
    """`value` with members and elements in another order."""
    if isinstance(value, dict):
        return {name: shuffled(value[name], rng) for name in rng.sample(sorted(value), len(value))}
    if isinstance(value, list):
        return [shuffled(element, rng) for element in rng.sample(value, len(value))]
    return value


@pytest.mark.parametrize(
    ("samples", "schema"),
    [
        ([], True),
        ([None], {"type": "null"}),
        ([True], {"type": "boolean"}),
        ([1, 2], {"type": "integer"}),
        ([1, 2.5], {"type": "number"}),
        ([1, 2.0], {"type": "number"}),
        ([1, True], {"type": ["boolean", "integer"]}),
        (["a", None, 1], {"type": ["integer", "null", "string"]}),
        ([[]], {"type": "array"}),
        ([[], [1], ["a"]], {"type": "array", "items": {"type": ["integer", "string"]}}),
        ([{}], {"type": "object"}),
        ([{"a": 1}], {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}),
        ([{"a": 1}, {}], {"type": "object", "properties": {"a": {"type": "integer"}}}),
        ([{"a": 1}, None], {"type": ["null", "object"], "required": ["a"], "properties": {"a": {"type": "integer"}}}),
        (
            [[{"a": 1}, [2], "s"]],
            {
                "type": "array",
                "items": {
                    "type": ["array", "object", "string"],
                    "required": ["a"],
                    "properties": {"a": {"type": "integer"}},
                    "items": {"type": "integer"},
                },
            },
        ),
    ],
)
def test_a_schema_says_what_was_seen(samples: list[Any], schema: Any):
    """Ours: types merged over samples, required only if always seen."""
    assert infer(samples) == schema


@given(st.lists(values, max_size=4))
def test_every_sample_satisfies_the_schema(samples: list[Any]):
    """Ours, law: *sound*."""
    schema = infer(samples)
    assert all(accepts(schema, sample) for sample in samples), schema


@given(st.lists(values, max_size=4), randoms())
def test_the_order_of_samples_elements_and_members_does_not_matter(samples: list[Any], rng: Random):
    """Ours, law: answers of one shape share a plan, and a digest."""
    assert json.dumps(infer(samples)) == json.dumps(infer(shuffled(samples, rng)))


@given(st.lists(values, max_size=4), st.lists(values, max_size=4))
def test_more_samples_only_widen_what_is_said(some: list[Any], more: list[Any]):
    """Ours, law: a type that was seen stays, a member that was missing never becomes required."""
    few, many = infer(some), infer([*some, *more])
    if isinstance(few, dict) and isinstance(many, dict):
        assert _types(few) <= _types(many)
        if "object" in _types(few):
            assert set(many.get("required", ())) <= set(few.get("required", ()))


@given(st.lists(values, min_size=1, max_size=4))
def test_nothing_is_claimed_that_a_sample_cannot_know(samples: list[Any]):
    """Ours: no constants, bounds or formats; members that were not seen stay possible."""
    todo: list[Any] = [infer(samples)]
    while todo:
        schema = todo.pop()
        assert schema.keys() <= SAID - {"additionalProperties"}
        todo += [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]


@given(asked_values())
def test_what_is_kept_of_a_value_satisfies_what_is_derived(pair: tuple[Any, Request]):
    """DERIVATION.md: *sound* and *tight*, with the schema of the value, or of what is kept of it, as S."""
    value, request = pair
    kept = project(value, request.mask)
    for schema in (infer([value]), infer([kept])):
        derived = derive(schema, request.mask)
        assert derived.precision == "exact"
        assert accepts(derived.schema, kept), derived.schema
        if text(kept) != text(value):
            assert not accepts(derived.schema, value), derived.schema


@given(asked_values())
def test_a_plan_that_knows_more_keeps_the_same(pair: tuple[Any, Request]):
    """Ours: what is inferred is told, and changes nothing of what is kept."""
    value, request = pair
    blind = compile_projection(Projection(**{request.mode: [*request.fields]}))
    plan = blind.knowing(infer([value]))
    assert text(plan(value)) == text(blind(value))
    assert (plan.fields, plan.nodes, plan.unmatched) == (blind.fields, blind.nodes, ())
    assert accepts(plan.schema, plan(value))


def test_a_value_that_looks_like_a_wrapper_is_none():
    """Ours: only a declared schema can say that `result` wraps an output."""
    value = {"result": {"id": 1, "name": "Ann"}}
    plan = compile_projection(Projection(include=["id"])).knowing(infer([value]))
    assert plan(value) == {}
    assert accepts(plan.schema, {})
    assert not accepts(plan.schema, value)


@pytest.mark.parametrize("depth", [MAX_INFERRED_DEPTH - 1, MAX_INFERRED_DEPTH, 200, 100_000])
@pytest.mark.parametrize("around", [lambda value: [value], lambda value: {"a": value}])
def test_a_deep_value_is_described_down_to_a_bound(depth: int, around: Any):
    """Ours: no recursion error, and below the bound nothing is said."""
    value: Any = 1
    for _ in range(depth):
        value = around(value)
    written = json.dumps(infer([value]))
    assert written.count('"type"') == min(depth + 1, MAX_INFERRED_DEPTH)
    assert ("true" in written) == (depth >= MAX_INFERRED_DEPTH)


def test_a_deep_value_still_has_an_exact_projected_schema():
    """Ours: the bound leaves room for what derivation adds."""
    value: Any = "x"
    for _ in range(200):
        value = [{"a": value, "b": None}, 1]
    for request in (Projection(include=[".".join(["a"] * 31)]), Projection(exclude=["**.b"])):
        plan = compile_projection(request).knowing(infer([value]))
        assert plan.precision == "exact"


def test_names_that_are_data_are_not_listed():
    """Ours: of a large map only what it holds is described; the bound itself is still listed."""
    listed = infer([{f"n{number}": number for number in range(MAX_INFERRED_NAMES)}])
    assert isinstance(listed, dict)
    assert len(listed["properties"]) == len(listed["required"]) == MAX_INFERRED_NAMES
    users = [{f"u{number}": {"id": number}} for number in range(MAX_INFERRED_NAMES)]
    schema = infer([*users, {"last": {"id": None, "x": 1}}])
    member = {"type": "object", "required": ["id"], "properties": {"id": {"type": ["integer", "null"]}}}
    member["properties"]["x"] = {"type": "integer"}
    assert schema == {"type": "object", "additionalProperties": member}
    value = {name: user for each in users for name, user in each.items()} | {"last": {"id": None, "x": 1}}
    plan = compile_projection(Projection(include=["*.id"])).knowing(infer([value]))
    assert accepts(plan.schema, plan(value))
    assert len(json.dumps(plan.schema)) < 300


def test_every_part_of_a_value_is_looked_at_once(monkeypatch: pytest.MonkeyPatch):
    """Ours: linear, counted not timed; elements that differ in every name cost no more."""
    looked = 0
    inner = module._of

    def counting(samples: list[Any], depth: int) -> Any:
        nonlocal looked
        looked += len(samples)
        return inner(samples, depth)

    monkeypatch.setattr(module, "_of", counting)
    rows = [{f"n{number % 250}": [number, {"a": None}]} for number in range(5000)]
    infer([rows])
    assert looked == sum(map(len, levels(rows)))


def test_a_number_is_an_integer_if_it_was_written_as_one():
    """Ours: 1.0 is an integer for JSON Schema, but who writes it so may write 1.5 next."""
    assert infer([json.loads("10000000000000000000000000000000000000000")]) == {"type": "integer"}
    assert infer([json.loads("1.0")]) == infer([json.loads("1e3")]) == {"type": "number"}


def _types(schema: dict[str, Any]) -> set[str]:
    named = {schema["type"]} if isinstance(schema["type"], str) else set(schema["type"])
    return named | {"integer"} if "number" in named else named


def test_an_inferred_schema_can_be_closed_over_what_was_seen():
    """Ours: for a value of which nothing else can be there. Names that are data stay open."""
    many = {str(n): {"a": 1} for n in range(MAX_INFERRED_NAMES + 1)}
    schema = closed(infer([{"list": [{"a": 1}, 2], "many": many, "none": []}]))
    assert accepts(schema, {"list": [{"a": 5}, 7], "many": {"x": {"a": 2}}, "none": []})
    for other in ({"more": 1}, {"list": [{"b": 1}]}, {"many": {"x": {"b": 1}}}):
        assert not accepts(schema, {"list": [], "many": {}, "none": [], **other})
    assert closed(True) is True


def test_what_was_only_ever_null_may_be_anything_in_answers_to_come():
    """Ours: null says that nothing was there, and not what will be."""
    many = {str(n): None for n in range(MAX_INFERRED_NAMES + 1)}
    schema = unsettled(infer([{"list": [{"a": None, "b": 1}, {"a": None, "b": None}], "many": many, "none": []}]))
    row = schema["properties"]["list"]["items"]["properties"]
    assert row == {"a": {}, "b": {"type": ["integer", "null"]}}
    assert schema["properties"]["many"] == {"type": "object", "additionalProperties": {}}
    assert unsettled(True) is True


@given(st.lists(values, min_size=1, max_size=4))
def test_what_was_seen_satisfies_what_is_left_open(samples: list[Any]):
    """Ours: it is only looser."""
    schema = unsettled(infer(samples))
    assert all(accepts(schema, sample) for sample in samples)
