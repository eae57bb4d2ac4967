"""The SDK's wrapper: a schema makes it likely, the value decides."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from louver.core.projection.plan import Plan, compile_beside_text, compile_projection, first_names
from louver.core.projection.request import Projection
from louver.core.projection.view import Views
from louver.core.wrapper import as_object, schema_with_text

PERSON = {"type": "object", "properties": {"name": {"type": "string"}, "token": {"type": "string"}}}
OPEN = {
    "type": "object",
    "properties": {"result": {"type": "array", "items": PERSON}},
    "required": ["result"],
}
CLOSED = {**OPEN, "additionalProperties": False}
DESCRIBED = {**OPEN, "additionalProperties": {"type": "string"}}

WRAPPER = {"result": [{"name": "Ann", "token": "t1"}]}
OBJECT = {"result": [{"name": "Ann", "token": "t1"}], "token": "t2"}


def kept(mode: str, fields: str, value: Any, schema: Any = OPEN) -> Any:
    """What is kept, which satisfies the schema that goes with it; the whole value does not."""
    plan = planned(mode, fields, schema).for_value(value)
    left = plan(value)
    assert Draft202012Validator(plan.schema).is_valid(left), plan.schema
    assert left == value or not Draft202012Validator(plan.schema).is_valid(value), plan.schema
    return left


def planned(mode: str, fields: str, schema: Any = OPEN) -> Plan:
    return compile_projection(Projection.from_wire({"mode": mode, "fields": fields.split()}), schema)


@pytest.mark.parametrize(
    ("fields", "left"),
    [
        ("token", {"result": [{"name": "Ann"}]}),
        ("result.token", {"result": [{"name": "Ann"}], "token": "t2"}),
        ("/token", {"result": [{"name": "Ann", "token": "t1"}]}),
        ("$.token", {"result": [{"name": "Ann", "token": "t1"}]}),
        ("result", {"token": "t2"}),
        ("**.token", {"result": [{"name": "Ann"}]}),
        ("/result /token", {}),
    ],
)
def test_an_exclude_leaves_out_the_member_beside_and_the_member_within(fields: str, left: Any):
    """TRUST.md, row 13: what could mean either is left out of both; an absolute path means what it says."""
    assert kept("exclude", fields, OBJECT) == left
    assert planned("exclude", fields)(OBJECT) == left


@pytest.mark.parametrize(
    ("fields", "left"),
    [
        ("token", {"token": "t2"}),
        ("name", {"result": [{"name": "Ann"}]}),
        ("name token", {"result": [{"name": "Ann"}], "token": "t2"}),
        ("result.token", {"result": [{"token": "t1"}]}),
        ("/token", {"token": "t2"}),
        ("/name", {}),
        ("$['result'][*].name", {"result": [{"name": "Ann"}]}),
        ("*", OBJECT),
    ],
)
def test_an_include_takes_the_member_beside_first(fields: str, left: Any):
    """TRUST.md, row 13: the value's own member first."""
    assert kept("include", fields, OBJECT) == left
    assert planned("include", fields)(OBJECT) == left


@pytest.mark.parametrize("schema", [OPEN, CLOSED, DESCRIBED], ids=["open", "closed", "described"])
def test_a_wrapper_is_looked_through_and_stays(schema: Any):
    """PROJECTION.md: the value says whether it is one."""
    assert kept("exclude", "token", WRAPPER, schema) == {"result": [{"name": "Ann"}]}
    assert kept("include", "name", WRAPPER, schema) == {"result": [{"name": "Ann"}]}
    assert kept("exclude", "result", WRAPPER, schema) == {"result": []}
    assert kept("include", "/name", WRAPPER, schema) == {}
    assert kept("exclude", "/token", WRAPPER, schema) == WRAPPER


@pytest.mark.parametrize("schema", [None, True, {"type": "object"}, {"type": "object", "additionalProperties": True}])
def test_of_a_value_that_no_schema_describes_an_exclude_leaves_out_both(schema: Any):
    """TRUST.md, row 13: whether it is a wrapper is not known."""
    for value in (WRAPPER, OBJECT, {"result": {"name": "Ann", "token": "t1"}}):
        left = kept("exclude", "token", value, schema)
        assert left == {"result": [{"name": "Ann"}]} or left == {"result": {"name": "Ann"}}
        assert kept("exclude", "/token", value, schema) == {"result": value["result"]}
    assert kept("exclude", "result.token", OBJECT, schema) == {"result": [{"name": "Ann"}], "token": "t2"}
    listed = [{"result": {"token": "t1"}, "token": "t2"}]
    assert planned("exclude", "token", schema)(listed) == [{"result": {"token": "t1"}}]
    assert planned("exclude", "token", schema).fields == ("token",)


def test_a_plan_tells_that_it_is_of_an_object_that_is_no_wrapper():
    """Ours: the value says which; of another schema nothing is looked through."""
    plan = planned("include", "name")
    for value, is_of_object in ((WRAPPER, False), (OBJECT, True), ({}, True), ([], False)):
        found = plan.for_value(value)
        assert (found.is_of_object, found.is_wrapped) == (is_of_object, not is_of_object)
    assert not planned("include", "name", PERSON).for_value(OBJECT).is_of_object


def test_the_receipt_names_what_was_left_out_and_what_no_schema_knows():
    """PROJECTION.md, "Receipt"."""
    plan = planned("exclude", "token tokn")
    assert (plan.fields, plan.unmatched) == (("result.token", "result.tokn"), ("result.tokn",))
    plan = plan.for_value(OBJECT)
    assert plan.fields == ("result.token", "result.tokn", "/token", "/tokn")
    assert plan.unmatched == ("result.tokn",)
    assert planned("exclude", "other", DESCRIBED).unmatched == ()
    assert planned("include", "other", DESCRIBED).unmatched == ()


def test_a_view_with_both_is_read_as_its_parts():
    """PROJECTION.md, "Views"; what is always added is read like an include."""
    views = {"v": {"include": ["name", "token"], "exclude": ["name"], "maxItems": 1}}
    plan = compile_projection(Projection(view="v"), OPEN, views=views)
    assert plan(OBJECT) == {"result": [{}], "token": "t2"}
    assert plan(WRAPPER) == {"result": [{"token": "t1"}]}
    selecting = {"v": {"include": ["result"], "select": {"n": "name"}, "at": "result"}}
    plan = compile_projection(Projection(view="v"), OPEN, views=selecting).for_value(OBJECT)
    assert plan(OBJECT) == {"result": [{"n": "Ann"}]}
    assert Draft202012Validator(plan.schema).is_valid({"result": [{"n": "Ann"}]})


@pytest.mark.parametrize("left_out", [["token"], ["token.name"], ["token", "result"], ["**.name"]])
def test_a_view_of_absolute_paths_leaves_out_the_member_beside(left_out: list[str]):
    """TRUST.md, row 13: where two readings of an exclude are possible, both are excluded."""
    plan = compile_projection(
        Projection(view="v"), OPEN, views={"v": {"include": ["/token", "/x"], "exclude": left_out}}
    )
    assert "Ann" not in str(plan({"result": [], "token": {"name": "Ann"}}))
    assert "Ann" not in str(plan.for_value({"result": []})({"result": [], "token": {"name": "Ann"}}))
    assert plan(WRAPPER) == {}


def test_what_is_always_added_to_absolute_paths_is_the_member_beside_first():
    """TRUST.md, row 13: the value's own member first."""
    plan = compile_projection(Projection(view="v"), OPEN, views=Views.read({"v": ["/x"]}, ["token"]))
    assert plan(OBJECT) == {"token": "t2"}
    assert plan(WRAPPER) == {"result": [{"token": "t1"}]}


def test_a_place_from_the_root_is_not_within_the_wrapper():
    """PROJECTION.md, "Shaping": where a view selects."""
    views = {"v": {"select": {"n": "name"}, "at": "/token"}}
    plan = compile_projection(Projection(view="v"), OPEN, views=views)
    within = {"result": [{"token": {"name": "Ann"}}]}
    assert plan(within) == within
    beside = {**within, "token": {"name": "Bob"}}
    assert plan(beside) == {**within, "token": {"n": "Bob"}}
    assert plan.for_value(beside).shaped == {"select": {"n": "name"}, "at": "/token"}


@pytest.mark.parametrize("wrapper", ["result", "content"])
def test_beside_json_text_an_include_takes_the_own_member_and_an_exclude_leaves_out_both(wrapper: str):
    """TRUST.md, row 13: the string is parsed, and members stand next to it."""
    people = [{"name": "Ann", "token": "t1"}]
    value = {wrapper: people, "token": "t2"}
    views = Views.read({"v": {"include": ["name"], "exclude": ["/token"]}}, ["token"])
    for request, names, left in (
        (Projection(include=["token"]), {"token"}, {"token": "t2"}),
        (Projection(include=["name", f"{wrapper}.token"]), {"name", wrapper, "token"}, value),
        (Projection(exclude=["token"]), set[str](), {wrapper: [{"name": "Ann"}]}),
        (Projection(view="v"), {"name", "token"}, {wrapper: [{"name": "Ann"}]}),
    ):
        assert first_names(request, views) == names
        assert compile_beside_text(request, views, wrapper, frozenset(names & value.keys()))(value) == left
    assert compile_beside_text(Projection(include=["token"]), Views(), wrapper, frozenset())(value) == {
        wrapper: [{"token": "t1"}]
    }


def test_a_schema_says_of_a_structure_that_is_sent_as_text_what_the_text_holds():
    """Ours: other members stay, and a schema that does not know the wrapper stays as it is."""
    text = {"type": "string", "contentMediaType": "application/json", "contentSchema": OPEN["properties"]["result"]}
    schema = {**OPEN, "properties": {**OPEN["properties"], "token": {"const": "t2"}}}
    told = schema_with_text(schema, "result")
    assert told == {**schema, "properties": {"result": text, "token": {"const": "t2"}}}
    assert Draft202012Validator(told).is_valid({"result": '[{"name": "Ann"}]', "token": "t2"})
    assert not Draft202012Validator(told).is_valid(OBJECT)
    for other in (True, {}, {"properties": True}, OPEN):
        assert schema_with_text(other, "content") is other


def test_an_output_that_is_no_object_is_put_into_the_wrapper():
    """MCP 2025-11-25: structured content is an object."""
    for output in ([PERSON], [], "text", 0, None):
        assert as_object(output) == {"result": output}
    for output in (PERSON, WRAPPER, {}):
        assert as_object(output) is output


NAMES = st.sampled_from(["name", "token", "result", "x"])
PATHS = st.builds(
    lambda is_pointer, names: "/" + "/".join(names) if is_pointer else ".".join(names),
    st.booleans(),
    st.lists(NAMES, min_size=1, max_size=2),
)
ELEMENTS = st.lists(st.dictionaries(st.sampled_from(["name", "token", "x"]), st.just("s")), max_size=2)
VALUES = st.builds(
    lambda result, beside: {"result": result, **beside},
    ELEMENTS,
    st.dictionaries(st.sampled_from(["name", "token", "x"]), st.just("s"), max_size=2),
)


@given(
    st.sampled_from(["include", "exclude"]),
    st.lists(PATHS, min_size=1, max_size=3),
    VALUES,
    st.sampled_from([OPEN, CLOSED, DESCRIBED]),
)
def test_what_is_kept_satisfies_its_schema_and_nothing_more_does(mode: str, paths: list[str], value: Any, schema: Any):
    """DERIVATION.md, "Laws", with siblings of the wrapper: sound and tight; no member is sent that was excluded."""
    left = kept(mode, " ".join(paths), value, schema) if Draft202012Validator(schema).is_valid(value) else {}
    if mode == "exclude":
        names = {path.strip("/") for path in paths} - {"result"}
        assert names.isdisjoint(left)
