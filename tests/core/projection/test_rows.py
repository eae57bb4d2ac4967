"""Plans of requests that select rows: what is kept, told and known."""

from __future__ import annotations

from typing import Any

import pytest

from louver.core.projection.plan import compile_projection
from louver.core.projection.request import Projection
from louver.core.projection.view import Views
from louver.core.schema.relax import relax
from louver.errors import InvalidView, ProjectionLimit
from louver.limits import MAX_ROW_CHARACTERS
from strategies import JUDGE

ISSUE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "state": {"enum": ["open", "closed"]},
        "labels": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
    },
    "required": ["title", "state"],
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "total": {"type": "integer"},
        "items": {"type": "array", "minItems": 1, "maxItems": 9, "uniqueItems": True, "items": ISSUE},
    },
    "required": ["items"],
}
OPEN, CLOSED = ({"title": state[0], "state": state, "labels": [{"name": "n"}]} for state in ("open", "closed"))
VALUE: dict[str, Any] = {"total": 3, "items": [OPEN, CLOSED, {"title": "z", "state": "open"}]}


def include(*fields: str) -> Projection:
    return Projection(include=[*fields])


def test_an_include_keeps_rows_in_their_order_with_what_is_around_them():
    """ROWS.md: nothing is null-filled; an array of which no row is left stays."""
    plan = compile_projection(include("total", "$.items[?@.state == 'open'].title"), SCHEMA)
    assert plan(VALUE) == {"total": 3, "items": [{"title": "o"}, {"title": "z"}]}
    assert plan({"total": 0, "items": [CLOSED]}) == {"total": 0, "items": []}
    assert plan.fields == ("total", "$.items[?@.state == 'open'].title")
    assert plan.unmatched == ()
    assert plan.schema["properties"]["items"] == {
        "type": "array",
        "maxItems": 9,
        "items": {
            "type": "object",
            "properties": {"title": {"type": "string"}},
            "required": ["title"],
            "additionalProperties": False,
        },
    }


def test_whole_rows_stay_unlike_each_other():
    plan = compile_projection(include("$.items[:2]"), SCHEMA)
    assert plan(VALUE) == {"items": [OPEN, CLOSED]}
    assert plan.schema["properties"]["items"]["uniqueItems"] is True


def test_an_exclude_leaves_rows_out():
    plan = compile_projection(Projection(exclude=["$.items[?@.labels[?@.name == 'n']]", "total"]), SCHEMA)
    assert plan(VALUE) == {"items": [VALUE["items"][2]]}
    assert "minItems" not in plan.schema["properties"]["items"]


def test_every_depth_leaves_out_what_holds_nothing_of_it():
    plan = compile_projection(include("$..name"), SCHEMA)
    assert plan(VALUE) == {"items": [{"labels": [{"name": "n"}]}, {"labels": [{"name": "n"}]}]}
    assert plan({"items": []}) == {}
    accepts = JUDGE(plan.schema, "2020-12")
    assert accepts is not None
    assert accepts(plan(VALUE))
    assert not accepts({"items": [{"title": "o"}]})


def test_the_rows_of_arrays_are_counted():
    """ROWS.md, "Receipt"."""
    for fields, counts in (
        (("$.items[?@.state == 'open'].title", "$.items[1].state"), {"items": (3, 3)}),
        (("$.items[0].labels", "$.items.labels[0]"), {"items": (3, 3), "items.labels": (2, 2)}),
        (("$.items[?@.state == 'none']",), {"items": (0, 3)}),
        (("$.items.labels[0].name",), {"items.labels": (2, 2)}),
        (("$.items[0].labels[?@.name]", "total"), {"items": (1, 3)}),
        (("$..labels[0]", "$.total[0]"), {"total": (0, 0)}),
    ):
        plan = compile_projection(include(*fields), SCHEMA)
        assert plan.has_rows
        assert plan.row_counts(VALUE, plan(VALUE)) == counts, fields
    plan = compile_projection(Projection(exclude=["$[?@ > 1]"]))
    assert plan.row_counts([1, 2, 3], plan([1, 2, 3])) == {"*": (1, 3)}
    short = compile_projection(Projection(view="v"), views={"v": {"include": ["$.items[0]"], "maxItems": 1}})
    assert short.row_counts(VALUE, short(VALUE)) == {}


def test_names_that_no_row_has_are_told_of_tests_too():
    for field, is_known in {
        "$.items[?@.stat == 'open'].title": False,
        "$.items[?@.labels[?@.nam]].title": False,
        "$.items[?@.labels[0].name == $.totl]": False,
        "$.items[?@.state == $.total].titel": False,
        "$.items['title','nmae']": False,
        "$.total[0]": False,
        "$.items[?@.labels[?@.name]].title": True,
        "$.items['title','state']": True,
        "$.items[?!@.deleted].title": True,
        "$..anything": True,
    }.items():
        assert (compile_projection(include(field), SCHEMA).unmatched == ()) == is_known, field


def test_a_typo_before_rows_is_mended():
    plan = compile_projection(include("$.itms[0].title"), SCHEMA)
    assert plan.suggestions == {"$.itms[0].title": "$.items[0].title"}


def test_in_a_view_rows_are_left_out_of_the_whole_value():
    """A test reads what the view does not include."""
    views = {"v": {"include": ["items.title"], "exclude": ["$.items[?@.state == 'closed']"]}}
    plan = compile_projection(Projection(view="v"), SCHEMA, views=views)
    assert plan(VALUE) == {"items": [{"title": "o"}, {"title": "z"}]}
    accepts = JUDGE(plan.schema, "2020-12")
    assert accepts is not None
    assert accepts(plan(VALUE))
    assert plan.row_counts(VALUE, plan(VALUE)) == {"items": (2, 3)}


def test_always_has_names_alone():
    with pytest.raises(InvalidView, match="names alone"):
        Views.read({}, ["$.items[0]"])


def test_a_wrapped_output_has_its_rows_behind_the_wrapper():
    """`$` is the whole output, in a test too."""
    schema = {"type": "object", "properties": {"result": SCHEMA["properties"]["items"]}, "required": ["result"]}
    value = {"result": VALUE["items"]}
    for field, kept in {
        "$.result[?@.state == 'closed'].title": [{"title": "c"}],
        "$.result[?@.title == $.result[2].title].state": [{"state": "open"}],
        "$..name": [{"labels": [{"name": "n"}]}, {"labels": [{"name": "n"}]}],
        "$['result','other'][0].title": [{"title": "o"}],
    }.items():
        plan = compile_projection(include(field), schema)
        for _ in range(5):
            assert plan(value) == {"result": kept}, field
        accepts = JUDGE(plan.schema, "2020-12")
        assert accepts is not None
        assert accepts({"result": kept})
    beside = compile_projection(include("$.result[0].title", "$.more[0]"), schema)
    assert beside({"result": VALUE["items"], "more": [1, 2]}) == {"result": [{"title": "o"}], "more": [1]}


def test_what_an_array_keeps_in_too_many_ways_is_refused():
    fields = [f"$.items[{at}].f{at}" for at in range(7)]
    compile_projection(include(*fields[:6]))
    with pytest.raises(ProjectionLimit, match="more than 6 ways") as refused:
        compile_projection(include(*fields))
    assert refused.value.fields["limit"] == 6


def test_paths_of_rows_are_no_longer_together_than_can_be_read():
    """Each takes the parser a millisecond; names alone do not count."""
    long = [f"$.items[{at}].{'a' * 390}" for at in range(6)]
    include(*long[:5], *(f"$.{'b' * 500}{at}" for at in range(9)))
    with pytest.raises(ProjectionLimit, match="at most 2048 characters in all") as refused:
        include(*long)
    assert refused.value.fields["limit"] == MAX_ROW_CHARACTERS
    with pytest.raises(ProjectionLimit):
        Views.read({"a": long[:3], "b": {"exclude": long[3:]}})


def test_tests_count_in_what_a_projection_looks_at():
    """ROWS.md, "Cost": nodes x predicates."""
    rows = {"items": [{"a": 1}] * 100}
    plain = compile_projection(include("$.items[0:100]"))
    tested = compile_projection(include("$.items[?@.a == 1 && @.a < 5 && @.a > 0]"))
    assert not plain.looks_at_more(rows, 200)
    assert tested.looks_at_more(rows, 600)
    assert tested.nodes == plain.nodes + 6


def test_what_a_test_reads_within_a_row_counts_too():
    """Whatever is kept of the row."""
    rows = {"items": [{"a": 1, "b": [{"c": 1}] * 1000}]}
    assert not compile_projection(include("$.items[?@.a == 1].a")).looks_at_more(rows, 500)
    assert compile_projection(include("$.items[?@.b[?@.c == 2]].a")).looks_at_more(rows, 500)


def test_a_value_can_be_kept_if_it_holds_no_more_than_is_asked_for():
    assert compile_projection(include("$.items[?@.state == 'open'].title")).can_have_kept({"items": [{"title": "x"}]})
    assert compile_projection(include("id")).can_have_kept({"id": 1})
    assert not compile_projection(include("id")).can_have_kept({"id": 1, "x": 2})


def test_the_listed_schema_of_a_tuple_accepts_rows_of_it():
    """What stands at a position can come to stand at another."""
    tuple_of = {
        "type": "array",
        "prefixItems": [{"type": "string"}, {"type": "integer"}],
        "items": False,
        "minItems": 2,
    }
    assert relax(tuple_of) == {
        "type": "array",
        "items": {"anyOf": [{"type": ["null", "string"]}, {"type": ["integer", "null"]}]},
    }
    open_ended = {"prefixItems": [{"type": "string"}]}
    assert relax(open_ended) == {}
