"""The compiled forms keep what the interpreter keeps, on every value; which form runs is counted, never timed."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fuzz.requests import random_request
from louver import Projection, compile_projection
from louver.core.json import compact
from louver.core.paths.mask import ALL, NONE, Mask, exclude_mask, include_mask
from louver.core.paths.path import FieldPath
from louver.core.project import project
from louver.core.projection.compile import FIRST_CALLS, MAX_GENERATIONS, Compiled
from louver.limits import MAX_ARRAY_LEVELS, MAX_GENERATED_LOOPS, MAX_SEGMENTS
from strategies import randoms

NAMES = ["a", "b", "c", "d", "'+__import__('os').getcwd()+'", "{x}", "\\", "\n", "é"]
ISSUE = {"id": 1, "title": "t", "body": "x", "user": {"login": "l", "id": 2}, "labels": [{"name": "n", "color": "c"}]}
ISSUES = {"issues": [copy.deepcopy(ISSUE) for _ in range(3)]}


def include(*texts: str) -> Mask:
    return include_mask([FieldPath.parse(text) for text in texts])


def rows(text: str) -> Mask:
    return include_mask([FieldPath.parse(text, rows=True)])


def exclude(*texts: str) -> Mask:
    return exclude_mask([FieldPath.parse(text, deep=True) for text in texts])


def made(mask: Mask, *values: Any) -> Compiled:
    """The compiled form after it has seen `values`, each as often as it takes."""
    compiled = Compiled(mask, {})
    for value in values:
        for _ in range(FIRST_CALLS):
            compiled.keep(value)
    return compiled


def same(compiled: Compiled, mask: Mask, value: Any) -> None:
    before = compact(value)
    assert compact(compiled.keep(value)) == compact(project(value, mask))
    assert compact(value) == before


values = st.recursive(
    st.sampled_from([None, True, 1, 2.5, "x", "a b"]),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from(NAMES), below, max_size=4),
    max_leaves=12,
)
steps = st.sampled_from([*NAMES, *NAMES, None])
paths = st.builds(FieldPath, st.lists(steps, min_size=1, max_size=4).map(tuple))
deep = st.builds(lambda name: FieldPath((name,), deep=True), st.sampled_from(NAMES))


@given(st.lists(paths, min_size=1, max_size=4), st.lists(values, min_size=1, max_size=6))
def test_an_include_is_the_same_in_every_form(fields: list[FieldPath], seen: list[Any]):
    """The interpreter is the oracle."""
    mask = include_mask(fields)
    compiled = Compiled(mask, {})
    for value in seen + seen:
        same(compiled, mask, value)


@given(st.lists(paths | deep, min_size=1, max_size=4), st.lists(values, min_size=1, max_size=6))
@example([FieldPath(("a",), deep=True)], [7, {"a": 1, "b": {"a": 2}}])
def test_an_exclude_is_the_same_in_every_form(fields: list[FieldPath], seen: list[Any]):
    """The interpreter is the oracle."""
    mask = exclude_mask(fields)
    compiled = Compiled(mask, {})
    for value in seen + seen:
        same(compiled, mask, value)


@given(randoms(), st.lists(values, min_size=1, max_size=6))
def test_rows_are_the_same_in_every_form(rng: Random, seen: list[Any]):
    """The interpreter is the oracle."""
    mask = random_request(rng, seen, tuple(NAMES), rows=True).mask
    compiled = Compiled(mask, {})
    for value in seen + seen:
        same(compiled, mask, value)


ROWS = [{"n": 1, "s": "x", "t": {"u": 1}}, {"n": 2, "s": "y", "t": {"u": 2}}, {"n": 3, "s": "x", "t": {"u": 3}}]


@pytest.mark.parametrize(
    "path",
    [
        "$[?@.s == 'x' && @.n > 1].n",
        "$[?@.s != 'x' || @.t.u <= 2].t.u",
        "$[?@.n == 1]",
        "$[?@.n != 1 && @.s == null].n",
        "$[?@.s != true].n",
        "$[?@.n && !@.x].n",
        "$[?@.n == 1 || @ == 3].n",
        "$[?@.n == @.t.u || 1 == @.n].n",
        "$[?@.n > null || @.t[?@ == 1]].n",
    ],
)
def test_tests_of_members_are_part_of_generated_code(path: str):
    """Step 23, speed: as a comprehension by hand; other values go the other ways."""
    mask = rows(path)
    compiled = made(mask, ROWS)
    assert compiled.is_special
    others: list[Any] = [True, False, None, "x", 1, 1.0, {}, [], [1]]
    for other in others:
        for odd in (
            {"n": other, "s": "x", "t": {"u": 1}},
            {"n": 1, "s": other, "t": {"u": 2}},
            {"n": 2, "t": other},
            other,
        ):
            same(compiled, mask, [*ROWS, odd])


def test_rows_with_holes_are_part_of_generated_code():
    """Ours: members that are missing, and elements that are no objects."""
    mask = rows("$[?@.n > 0].t.u")
    values = [[{"n": 1, "t": {}}, {"n": 2}, {"n": 3, "t": 7}, {"n": 4, "t": {"u": 1}}], ROWS, []]
    compiled = made(mask, *values)
    assert compiled.is_special
    for value in values:
        same(compiled, mask, value)


@pytest.mark.parametrize("path", ["$[0].n", "$[0:2].n", "$..u"])
def test_other_rows_stay_with_the_closures(path: str):
    mask = rows(path)
    compiled = made(mask, ROWS)
    assert not compiled.is_special
    same(compiled, mask, ROWS)


def test_rows_of_which_each_has_fields_of_its_own_stay_with_the_closures():
    mask = include_mask([FieldPath.parse(text, rows=True) for text in ("$[?@.n == 1].n", "$[*].s")])
    compiled = made(mask, ROWS)
    assert not compiled.is_special
    assert compiled.keep(ROWS) == [{"n": 1, "s": "x"}, {"s": "y"}, {"s": "x"}]


@pytest.mark.parametrize("depth", [MAX_ARRAY_LEVELS, MAX_ARRAY_LEVELS + 1])
def test_as_many_arrays_are_looked_through_in_every_form(depth: int):
    """Ours: and no more."""
    value: Any = {"a": 1, "b": 2}
    for _ in range(depth):
        value = [value]
    same(made(include("a")), include("a"), value)
    same(made(include("a"), value), include("a"), value)


@pytest.mark.parametrize("mode", ["include", "exclude"])
def test_values_that_grow_holes_are_the_same_in_every_form(mode: str):
    """Alike at first, then with members gone, null, or of another kind: the generated code is made anew."""
    rng = Random(3)
    mask = (include if mode == "include" else exclude)("issues.title", "issues.user.login", "issues.labels.name")
    compiled = Compiled(mask, {})
    were_special: set[bool] = set()
    for round_ in range(300):
        same(compiled, mask, _holed(rng, ISSUES, 0.0 if round_ < 5 else 0.02))
        were_special.add(compiled.is_special)
    assert were_special == {False, True}


def _holed(rng: Random, value: Any, chance: float) -> Any:
    if rng.random() < chance:
        return rng.choice([None, 7, "text", [], {}, [[{"name": "n", "title": "t", "login": "l"}]]])
    if isinstance(value, dict):
        return {name: _holed(rng, below, chance) for name, below in value.items() if rng.random() >= chance}
    return [_holed(rng, below, chance) for below in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("mask", "value"),
    [
        (include("issues.id", "issues.user.login", "issues.labels.name"), ISSUES),
        (include("issues[*].labels"), ISSUES),
        (include("id"), [{"id": 1}, {"id": 2, "x": 3}]),
        (include("m.v"), {"m": [[{"v": 1}], [{"v": 2, "w": 3}]]}),
        (exclude("issues.body", "issues.user.id", "issues.labels.color"), ISSUES),
        (exclude("issues.labels[*]"), ISSUES),
    ],
)
def test_alike_values_are_kept_by_generated_code(mask: Mask, value: Any):
    """Ours: after three calls."""
    compiled = made(mask, value)
    assert compiled.is_special
    same(compiled, mask, value)


def test_a_plan_of_several_masks_tells_whether_all_have_code():
    """A view that includes and excludes; an output in its wrapper."""
    view = compile_projection(Projection(view="v"), views={"v": {"include": ["issues"], "exclude": ["issues.body"]}})
    wrapped = {"type": "object", "properties": {"result": {"type": "array"}}, "required": ["result"]}
    for plan, value in (
        (view, ISSUES),
        (compile_projection(Projection(include=["id"]), wrapped), {"result": ISSUES["issues"]}),
    ):
        tiers: list[bool] = []
        for _ in range(FIRST_CALLS + 1):
            tiers.append(plan.is_generated)
            plan(value)
        assert tiers == [False] * FIRST_CALLS + [True]


def test_one_large_value_is_enough_to_generate_code():
    """Ours: after about 300 elements."""
    mask = include("issues.id")
    compiled = Compiled(mask, {})
    compiled.keep({"issues": [ISSUE] * 300})
    assert compiled.is_special
    listed = Compiled(include("id"), {})
    listed.keep([ISSUE] * 300)
    assert listed.is_special


@pytest.mark.parametrize(
    "mask", [exclude("**.id"), include("*.id", "issues.title"), exclude("**.id", "**.title", "issues.user")]
)
def test_masks_without_code_stay_with_the_closures(mask: Mask):
    """Ours: wildcards over members, names at any depth."""
    compiled = made(mask, ISSUES, [[ISSUES], 7])
    for value in (ISSUES, [[ISSUES], 7]):
        same(compiled, mask, value)


@pytest.mark.parametrize("between", [[], ["list"], ["list", "either"]], ids=["objects", "lists", "either"])
def test_a_deep_value_is_kept_by_code_as_far_as_python_takes_it(between: list[str]):
    """SPEED.md, 7: of values that are alike to the last level; loops within loops are no more than Python has."""
    for depth in (10, MAX_SEGMENTS, 2 * MAX_SEGMENTS):
        keeps(depth, between)


def keeps(depth: int, between: list[str]) -> None:
    mask = ALL
    for _ in range(depth):
        node = Mask(exclude=False)
        node.children, node.other = {"a": mask}, NONE
        mask = node

    def nested(level: int) -> Any:
        if level == depth:
            return "x"
        below: Any = {"a": nested(level + 1), "b": 1}
        if "either" in between and level % 2:
            return below
        return [below] if between else below

    value = nested(0)
    other = [value, None] if "either" in between else value
    compiled = made(mask, value, other)
    same(compiled, mask, value)
    same(compiled, mask, other)
    assert compiled.is_special is (depth < (MAX_SEGMENTS if between else 2 * MAX_SEGMENTS))


def test_a_wide_plan_stays_with_the_closures():
    """Ours: code is bounded."""
    names = [f"n{number}" for number in range(2000)]
    mask = include_mask([FieldPath((name, "x")) for name in names])
    value = {name: {"x": 1, "y": 2} for name in names}
    compiled = made(mask, value)
    assert not compiled.is_special
    same(compiled, mask, value)


def test_more_loops_within_loops_than_python_has_stay_with_the_closures():
    """Ours: code has as many as fit, and any number of them one after the other."""
    value: Any = [{"a": 1, "b": 2}, {"b": 3}]
    for loops in range(1, MAX_GENERATED_LOOPS + 2):
        compiled = made(include("a"), value)
        assert compiled.is_special is (loops <= MAX_GENERATED_LOOPS)
        same(compiled, include("a"), value)
        value = [value]
    names = [f"n{number}" for number in range(MAX_GENERATED_LOOPS + 1)]
    assert made(include(*(f"{name}.a" for name in names)), {name: [{"a": 1}, {}] for name in names}).is_special


@pytest.mark.parametrize("mask", [ALL, NONE])
def test_all_and_nothing_need_no_code(mask: Mask):
    compiled = made(mask, ISSUES, 7, [1])
    assert not compiled.is_special
    for value in (ISSUES, 7, [1]):
        same(compiled, mask, value)


def test_a_value_too_deep_to_recurse_is_kept_by_the_interpreter():
    """Ours: 10,000 levels, before and after code was generated."""
    value: Any = {"a": 1}
    for _ in range(10_000):
        value = {"a": value, "b": [1]}
    mask = exclude("**.b")
    compiled = Compiled(mask, {})
    for _ in range(5):
        kept, depth = compiled.keep(value), 0
        while isinstance(kept, dict):
            assert "b" not in kept
            kept, depth = kept["a"], depth + 1
        assert depth == 10_001
    named = include("a.b")
    assert compact(made(named, value).keep({"a": {"b": 1, "c": 2}})) == '{"a":{"b":1}}'


def test_code_is_generated_only_so_often():
    """Ours: the last code expects no member to be there, and stays, whatever comes."""

    class Odd(list[Any]):
        """An array that is not exactly a `list`, so never as expected."""

    compiled = made(include("a.b"), {"a": [{"b": 1}]})
    forms = {compiled.keep}
    for _ in range(2 * MAX_GENERATIONS):
        assert compiled.keep({"a": Odd([{"b": 1, "c": 2}])}) == {"a": [{"b": 1}]}
        forms.add(compiled.keep)
    assert compiled.is_special
    assert len(forms) == MAX_GENERATIONS
    for value in ({"a": [{"b": 1, "c": 2}]}, {"a": [{}, None, 7]}, {"a": 1}, {}, {"a": {"b": 1}}):
        same(compiled, include("a.b"), value)


def test_values_that_drift_leave_a_plan_with_generated_code():
    """Ours: every field once missing, once null, once of another kind, each in a value of its own."""
    paths = ("issues.id", "issues.title", "issues.body", "issues.user.login", "issues.labels.name")
    mask = include(*paths)
    compiled = made(mask, ISSUES)
    for path in paths:
        name = path.split(".")[1]
        for odd in ({}, {name: None}, {name: 7}, {name: [{"name": 1}]}, {name: {"login": 1}}):
            rest = {key: value for key, value in ISSUE.items() if key != name}
            same(compiled, mask, {"issues": [{**rest, **odd}, ISSUE]})
    assert compiled.is_special


@given(
    st.permutations(["a", "b", "c"]),
    st.lists(paths, min_size=1, max_size=4),
    st.lists(values, min_size=1, max_size=6),
)
def test_the_order_of_a_schema_is_the_same_in_every_form(names: list[str], fields: list[FieldPath], seen: list[Any]):
    """The interpreter is the oracle, for values."""
    inner = {"type": ["object", "array"], "properties": {name: {} for name in names}}
    schema = {"properties": dict.fromkeys(names, inner), "items": inner}
    plan = compile_projection(Projection(include=[*map(str, fields)]), schema)
    for value in seen + seen:
        expected = compact(project(value, plan._masks[0], plan._order))
        assert compact(plan(value)) == expected


def test_names_enter_code_as_strings_only():
    """Ours: a name is data."""
    mask = include_mask([FieldPath((name, name)) for name in NAMES])
    value = {name: {name: 1, "z": 2} for name in NAMES}
    compiled = made(mask, value)
    assert compiled.is_special
    same(compiled, mask, value)


def test_skipped_leaves_are_shared_and_not_copied():
    """Ours: an allocation that is not made cannot be slow."""
    value = {"keep": {"large": ["x"] * 10}, "drop": 1}
    plan = compile_projection(Projection(include=["keep"]))
    for _ in range(5):
        assert plan(value)["keep"] is value["keep"]


def test_a_plan_keeps_the_order_of_the_schema_in_every_form():
    """PROJECTION: equal requests give equal bytes."""
    schema = {"type": "object", "properties": {"z": {}, "a": {"type": "object", "properties": {"y": {}, "b": {}}}}}
    plan = compile_projection(Projection(include=["a.b", "a.y", "z"]), schema)
    for _ in range(6):
        assert compact(plan({"a": {"b": 1, "y": 2}, "z": 3})) == '{"z":3,"a":{"y":2,"b":1}}'


@pytest.mark.parametrize(
    ("mask", "seen"),
    [
        (include("*.id"), [{"a": 5, "b": {"id": 1, "x": 2}, "c": None}]),
        (include("xs[*]"), [{"xs": [1, [2]]}]),
        (include("xs[*]"), [{"xs": [1]}, {"xs": None}, {"xs": 7}, {}]),
        (include("xs.id"), [{"xs": []}, {"xs": []}, {"xs": [{"id": 1, "x": 2}]}]),
        (exclude("xs[*]", "y.z"), [{"xs": [1], "y": {"z": 1, "q": 2}}, {"xs": {"a": 1}, "y": 7}, {"xs": 5}]),
    ],
)
def test_odd_corners_are_the_same_in_every_form(mask: Mask, seen: list[Any]):
    """The interpreter is the oracle."""
    compiled = Compiled(mask, {})
    for value in seen * 4:
        same(compiled, mask, value)


def test_arrays_too_deep_to_learn_from_are_kept_by_the_interpreter():
    """Ours: no recursion error."""
    value: Any = []
    for _ in range(10_000):
        value = [value]
    compiled = made(exclude("a.b"), value)
    assert not compiled.is_special


def test_wide_values_that_differ_stay_with_the_closures():
    """Ours: statements are bounded too."""
    names = [f"n{number}" for number in range(600)]
    mask = include_mask([FieldPath((name,)) for name in names])
    compiled = made(mask, dict.fromkeys(names, 1), {})
    compiled.keep({"n1": 1})
    assert not compiled.is_special
    same(compiled, mask, {"n1": 1, "x": 2})
