"""A tool as the catalogue knows it: its plans are made once, its listing admits every projection."""

import pytest

from louver.catalogue.entry import Entry
from louver.core.projection.request import Projection
from louver.core.projection.view import Views
from louver.core.schema.relax import relax
from louver.errors import UnknownField, UnknownView

SCHEMA = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
    "required": ["id", "name"],
    "additionalProperties": False,
}
STRING = {"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]}


def entry(output=SCHEMA, views=None, input=None):
    tool = {"name": "t", "inputSchema": input or {"type": "object"}}
    if output is not None:
        tool["outputSchema"] = output
    return Entry(tool, Views.read(views or {}))


def test_a_plan_is_made_once():
    """Ours: equal requests, however written, share it."""
    known = entry()
    first = known.plan(Projection(include=["id"]))
    assert known.plan(Projection(include=["`id`", "id"])) is first
    assert first.plan({"id": 1, "name": "Ann"}) == {"id": 1}
    assert first.validator.is_valid({"id": 1})
    assert not first.validator.is_valid({"id": 1, "name": "Ann"})


def test_a_request_that_is_not_possible_is_refused_each_time():
    """Ours: a refusal is not a plan."""
    for _ in range(2):
        with pytest.raises(UnknownField):
            entry().plan(Projection(include=["nmae"], strict=True))
        with pytest.raises(UnknownView):
            entry().plan(Projection(view="nope"))


def test_a_view_is_planned_with_what_always_is_added():
    """Ours."""
    tool = {"name": "t", "inputSchema": {"type": "object"}, "outputSchema": SCHEMA}
    plan = Entry(tool, Views.read({"minimal": ["name"]}, ["id"])).plan(Projection(view="minimal")).plan
    assert plan({"id": 1, "name": "Ann"}) == {"id": 1, "name": "Ann"}
    assert plan.always == ("id",)


def test_a_tool_that_is_listed_otherwise_is_another():
    """Ours: its schemas and its author's hint count, its description does not."""
    tool = {"name": "t", "inputSchema": {"type": "object"}, "outputSchema": SCHEMA, "_meta": {"x": 1}}
    known = Entry(tool, Views())
    assert known.is_of({**tool, "description": "d"})
    for change in ({"inputSchema": {}}, {"outputSchema": {}}, {"_meta": {"x": 2}}):
        assert not known.is_of({**tool, **change})
    assert not known.is_of({key: value for key, value in tool.items() if key != "outputSchema"})


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        (None, None),
        (SCHEMA, relax(SCHEMA)),
        ({"$schema": "http://json-schema.org/draft-04/schema#", "type": "array"}, {}),
        ({"$ref": "#"}, {}),
        ({"type": "object", "$ref": "#"}, {"type": "object"}),
    ],
)
def test_what_is_listed_is_an_object(schema, shown):
    """2025-11-25 and 2026-07-28: an output schema is an object, in the first with `type: object`."""
    assert entry(schema).listing_schema == shown


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        ({"type": "object"}, "output_fields"),
        ({"type": "object", "properties": {"a": {}}, "additionalProperties": False, "$defs": {}}, "output_fields"),
        ({"type": "object", "properties": {"output_fields": {}}}, "output_fields_2"),
        ({"type": "object", "properties": {"output_fields": {}, "output_fields_2": {}}}, "output_fields_3"),
        ({"type": "object", "allOf": []}, None),
        ({"type": "object", "patternProperties": {}}, None),
    ],
)
def test_the_argument_is_for_plain_inputs_under_a_name_that_is_free(schema, name):
    """HOSTS.md: a tool that has an argument of that name keeps its own."""
    assert entry(input=schema).free_argument("output_fields") == name


def test_leaf_fields_are_those_without_fields_near_the_root_first():
    """Ours: arrays are looked through, and an SDK's wrapper is left out."""
    person = {
        "type": "object",
        "properties": {
            "address": {"type": "object", "properties": {"city": {"type": "string"}, "a,b": {"type": "string"}}},
            "id": {"type": "integer"},
        },
    }
    assert entry(person).leaf_fields == ("id", "address.city", "address.`a,b`")
    wrapped = {"type": "object", "properties": {"result": {"type": "array", "items": person}}, "required": ["result"]}
    assert entry(wrapped).leaf_fields == entry(person).leaf_fields
    assert entry(None).leaf_fields == ()


def test_text_in_the_wrapper_is_planned_without_it():
    """Ours: a `-> str` tool, whose string may be JSON."""
    known = entry(STRING, views={"v": {"include": ["result.name"], "exclude": ["result.name.x"]}})
    assert known.text_wrapper == "result"
    assert entry().text_wrapper is None
    requests = [Projection(include=["name"]), Projection(include=["result.name"]), Projection(view="v")]
    plans = [known.plan_without_schema(request, "result") for request in requests]
    assert [plan.fields for plan in plans] == [("name",)] * 3
    assert plans[0] is plans[1]
    assert plans[2]({"name": {"x": 1, "y": 2}}) == {"name": {"y": 2}}
    deep = known.plan_without_schema(Projection(exclude=["**.result"]), "result")
    assert deep({"result": 1, "a": {"result": 2}}) == {"a": {}}


def test_what_is_listed_admits_every_shaped_view():
    """WIRE.md, "Listing": stock clients hold each answer against it."""
    views = {"a": {"select": {"who": "name"}}, "b": {"maxString": 2}, "c": ["id"]}
    listed = entry(views=views).listing_schema
    assert listed == {
        "type": "object",
        "anyOf": [
            {"type": "object", "properties": SCHEMA["properties"], "additionalProperties": False},
            {"type": "object", "properties": {"who": {"type": "string"}}, "additionalProperties": False},
            {
                "type": "object",
                "properties": {"id": {"type": "integer"}, "name": {"type": "string", "maxLength": 2}},
                "additionalProperties": False,
            },
        ],
    }


def test_in_text_the_place_of_a_shaping_may_be_written_with_the_wrapper_or_without():
    """Ours: as paths may."""
    for at in ("in", "result.in"):
        known = entry(STRING, {"v": {"select": {"b": "a"}, "at": at}})
        assert known.plan_without_schema(Projection(view="v"), "result")({"in": {"a": 1, "c": 2}}) == {"in": {"b": 1}}


def test_text_of_one_shape_is_data_unless_an_argument_names_its_content():
    """VALUE.md: a file's own content is never touched."""
    for argument, is_data in (
        ({"id": {"type": "integer"}}, True),
        ({"filePath": {"type": "string"}}, False),
        ({"link": {"type": "string", "format": "uri"}}, False),
        ({"of": {"type": "array", "items": {"properties": {"url": {}}}}}, False),
        ({"command": {"type": "string"}}, False),
    ):
        tool = {"name": "t", "inputSchema": {"type": "object", "properties": argument}}
        assert Entry(tool, Views(), learned=("id",)).answers_data == is_data, argument
        assert not Entry(tool, Views()).answers_data


def test_a_name_that_one_leaf_alone_has_means_that_leaf():
    """VALUE.md; `id` is at the root too, and two have a `name`."""
    named = {name: {"type": "string"} for name in ("id", "email", "name")}
    people, owner = {"type": "object", "properties": named}, {"type": "object", "properties": {"name": {}}}
    root = {"id": {}, "total": {}, "people": people, "owner": owner}
    tool = entry({"type": "object", "properties": root})
    for asked, meant in (
        (["email"], ["people.email"]),
        (["id"], ["id"]),
        (["name"], ["name"]),
        (["email", "total"], ["people.email", "total"]),
        (["people"], ["people"]),
    ):
        assert tool.spelled_out(Projection(include=[*asked])) == Projection(include=[*meant]), asked
    assert tool.spelled_out(Projection(exclude=["email"])) == Projection(exclude=["email"])
