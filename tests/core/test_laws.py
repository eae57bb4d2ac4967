"""The laws of projection and derivation, on generated (schema, value, request) triples.

Each `@example` is a counter-example that was found once.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given

from fuzz.laws import Asked, Subject, restored, scalars, text
from fuzz.requests import Request
from louver.core.paths.mask import exclude_mask, include_mask
from louver.core.paths.path import FieldPath, fold
from louver.core.project import project
from louver.core.projection.plan import compile_projection
from louver.core.projection.request import Projection
from louver.core.schema.derive import derive
from strategies import JUDGE, Triple, asked_values, randoms, triples, wrapped_triples

if TYPE_CHECKING:
    from fuzz.schemas import Draft

DRAFT_7 = "http://json-schema.org/draft-07/schema#"


OPEN = {"type": "object", "properties": {"result": {"type": "array"}}, "required": ["result"]}


def seen(schema: Any, value: Any, mode: Any, *fields: str, draft: Draft = "2020-12") -> Triple:
    return Triple(draft, schema, value, Request(mode, fields))


A_LEAF_UNDER_A_PATTERN = seen({"patternProperties": {"^a": True}}, {"a": {"y": 1}}, "include", "*.x", "a")
AN_EMPTY_NAME_UNDER_A_PATTERN = seen({"patternProperties": {"^a*$": True}}, {"": "x"}, "include", "*.x", "``")
THEN_BESIDE_A_REFERENCE_TO_IF = seen(
    {"$ref": "#/$defs/d", "then": False, "$defs": {"d": {"if": True}}}, {"a": 1}, "include", "a"
)
THE_SAME_BELOW_A_LEAF = seen(
    {"properties": {"a": {"$ref": "#/$defs/d", "then": False}}, "$defs": {"d": {"if": True}}},
    {"a": 1},
    "include",
    "a",
)
POSITIONS_OF_A_BRANCH = seen({"allOf": [{"prefixItems": [{"minimum": 3}]}], "items": {}}, [5, 5], "include", "a")
POSITIONS_OF_AN_ELSE = seen({"if": False, "else": {"prefixItems": [True]}}, [[{"a": 1}]], "exclude", "a")
NEEDS_OF_BOTH_FORMS = seen(
    {
        "$schema": DRAFT_7,
        "dependencies": {"a": {"required": ["b"]}, "c": ["a"]},
        "properties": {"b": {"$ref": "#here"}},
        "definitions": {"d": {"$id": "#here", "type": "array"}},
    },
    {"a": 1, "b": []},
    "include",
    "b",
)


def ask(triple: Triple) -> tuple[Subject, Asked, list[str]]:
    subject = Subject(triple.schema, triple.draft, JUDGE)
    return subject, *subject.asked(triple.request, Random(0))


def kept(triple: Triple) -> Any:
    return project(triple.value, triple.request.mask)


@given(triples())
@example(A_LEAF_UNDER_A_PATTERN)
@example(AN_EMPTY_NAME_UNDER_A_PATTERN)
@example(THEN_BESIDE_A_REFERENCE_TO_IF)
@example(THE_SAME_BELOW_A_LEAF)
@example(NEEDS_OF_BOTH_FORMS)
def test_what_is_kept_of_a_valid_value_satisfies_the_derived_schema(triple: Triple):
    """DERIVATION.md: *sound*."""
    _, asked, _ = ask(triple)
    assert asked.accepts is not None
    assert asked.accepts(kept(triple)), asked.derived.schema


@given(triples(), randoms())
@example(POSITIONS_OF_A_BRANCH, Random(0))
@example(POSITIONS_OF_AN_ELSE, Random(0))
def test_a_value_that_holds_anything_left_out_is_refused(triple: Triple, rng: Random):
    """DERIVATION.md: *tight*; the whole value, and what is kept of it with one thing back."""
    _, asked, _ = ask(triple)
    left = kept(triple)
    one_back, is_more = restored(triple.value, left, rng)
    assert is_more == (text(left) != text(triple.value))
    if is_more:
        assert asked.accepts is not None
        assert not asked.accepts(triple.value), asked.derived.schema
        assert not asked.accepts(one_back), asked.derived.schema


@given(triples())
@example(A_LEAF_UNDER_A_PATTERN)
def test_the_listed_schema_accepts_every_valid_value_and_all_that_is_kept_of_it(triple: Triple):
    """DERIVATION.md: `relax(S)` accepts every projection and every full value."""
    subject, _, _ = ask(triple)
    assert subject.relaxed_accepts is not None
    assert subject.relaxed_accepts(triple.value), subject.relaxed
    assert subject.relaxed_accepts(kept(triple)), subject.relaxed
    assert list(subject.own()) == []


@given(triples())
@example(THE_SAME_BELOW_A_LEAF)
def test_the_schema_of_everything_accepts_what_the_schema_accepts(triple: Triple):
    """DERIVATION.md: derive(S, everything)."""
    subject, _, _ = ask(triple)
    assert subject.whole_accepts is not None
    assert subject.whole_accepts(triple.value)


@given(triples())
def test_equal_requests_have_one_self_contained_schema_without_annotations(triple: Triple):
    """DERIVATION.md: the order of paths does not matter; the result is one 2020-12 document."""
    _, _, broken = ask(triple)
    assert broken == []


@given(triples(rows=True), randoms())
@example(seen({"prefixItems": [{"const": 1}, {"const": 2}], "minItems": 2}, [1, 2], "include", "$[1]"), Random(0))
@example(seen({"contains": {"const": 1}, "uniqueItems": True}, [1, 2], "exclude", "$[?@ == 1]"), Random(0))
@example(seen({"items": {"enum": [{"a": 1}, {}]}}, [{"a": 1}, {}], "include", "$..a"), Random(0))
@example(seen({"enum": [{"a": [1], "b": 1}]}, {"a": [1], "b": 1}, "include", "$.a[?@ == $.b]"), Random(0))
def test_rows_are_those_of_plain_recursion_and_satisfy_a_schema_of_their_names(triple: Triple, rng: Random):
    """ROWS.md: laws 1 and 3, and the listed schema."""
    subject, asked, broken = ask(triple)
    assert broken == []
    assert list(subject.broken(asked, triple.value, rng)) == []


@given(triples(), triples())
def test_what_is_projected_twice_satisfies_what_is_derived_twice(triple: Triple, other: Triple):
    """PROJECTION.md, "Views": where a view has both, what it excludes is taken from what it includes."""
    subject, first, _ = ask(triple)
    _, second, _ = ask(Triple(triple.draft, triple.schema, triple.value, other.request))
    assert list(subject.chained(first, second, triple.value)) == []


@given(asked_values())
def test_projecting_twice_is_projecting_once(pair: tuple[Any, Request]):
    """DERIVATION.md: idempotent."""
    value, request = pair
    once = project(value, request.mask)
    assert text(project(once, request.mask)) == text(once)


@given(asked_values(), randoms())
def test_the_order_of_paths_does_not_matter(pair: tuple[Any, Request], rng: Random):
    """DERIVATION.md, "Laws"."""
    value, request = pair
    mixed = Request(request.mode, tuple(rng.sample(request.fields, len(request.fields))))
    assert text(project(value, mixed.mask)) == text(project(value, request.mask))


@given(asked_values())
def test_include_and_exclude_of_the_same_leaves_part_the_scalars_of_a_value(pair: tuple[Any, Request]):
    """DERIVATION.md: partitioned exactly, where an exclude does not read a wildcard more widely (PROJECTION.md)."""
    value, request = pair
    paths = fold(tuple(path for path in request.paths if not path.deep))
    included, excluded = (dict(scalars(project(value, mask))) for mask in (include_mask(paths), exclude_mask(paths)))
    assert included.keys().isdisjoint(excluded)
    if not any(None in path.steps[:-1] for path in paths):
        assert {**included, **excluded} == dict(scalars(value))


def kept_of_wrapped(triple: Triple) -> Any:
    """What is kept of a value whose schema looks like the SDK's wrapper, as the value decides."""
    value, is_include = triple.value, triple.request.mode == "include"
    is_wrapper = value.keys() == {"result"}
    read: list[FieldPath] = []
    for path in triple.request.paths:
        may_be_either = bool(path.steps) and not path.deep and not path.absolute and path.steps[0] != "result"
        is_own = not may_be_either or (not is_wrapper and path.steps[0] in (None, *value))
        if is_own or not (is_include or is_wrapper):
            read.append(FieldPath(path.steps, path.deep))
        if may_be_either and not (is_include and is_own):
            read.append(FieldPath(("result", *path.steps)))
    mask = (include_mask if is_include else exclude_mask)(fold(tuple(read)))
    stays = not is_include or any(path.steps[:1] in ((), (None,), ("result",)) for path in read)
    return {"result": project(value["result"], mask.child("result"))} if is_wrapper and stays else project(value, mask)


A_ROOT_PATH_BESIDE = Triple("2020-12", OPEN, {"result": [{"a": 1}], "a": 2}, Request("exclude", ("/a",)))
EITHER_OF_TWO = Triple("2020-12", OPEN, {"result": [{"a": 1}], "a": 2}, Request("exclude", ("a",)))
ITS_OWN_FIRST = Triple("2020-12", OPEN, {"result": [{"a": 1}], "a": 2}, Request("include", ("a",)))


@given(wrapped_triples())
@example(A_ROOT_PATH_BESIDE)
@example(EITHER_OF_TWO)
@example(ITS_OWN_FIRST)
def test_the_value_decides_whether_it_is_a_wrapper(triple: Triple):
    """TRUST.md, row 13: of open schemas, with members beside, and where less is declared than the value has.

    What is kept is sound and tight; asked again by the receipt, it is the same.
    """
    request = {"mode": triple.request.mode, "fields": list(triple.request.fields)}
    plan = compile_projection(Projection.from_wire(request), triple.schema)
    of_value = plan.for_value(triple.value)
    left = kept_of_wrapped(triple)
    assert text(plan(triple.value)) == text(left)
    assert text(of_value(triple.value)) == text(left)
    accepts = JUDGE(of_value.schema, "2020-12")
    assert accepts is not None
    assert accepts(left), of_value.schema
    assert text(left) == text(triple.value) or not accepts(triple.value), of_value.schema
    again = Projection.from_wire({**request, "fields": list(of_value.fields)})
    assert text(compile_projection(again, triple.schema)(triple.value)) == text(left)


@pytest.mark.parametrize("mode", ["include", "exclude"])
def test_a_request_for_everything_and_its_opposite(mode: str):
    """PROJECTION.md: `*` alone is everything; exclude of it leaves `{}`, `[]` or, for a scalar, null."""
    everything = (FieldPath(()),)
    mask = include_mask(everything) if mode == "include" else exclude_mask(everything)
    for value, nothing in (({"a": [1]}, {}), ([1, {"a": 1}], []), ("x", None), (None, None)):
        expected = value if mode == "include" else nothing
        assert project(value, mask) == expected
        accepts = JUDGE(derive(True, mask).schema, "2020-12")
        assert accepts is not None
        assert accepts(expected)
        assert accepts(value) is (text(value) == text(expected))
