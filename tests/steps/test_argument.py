"""The argument channel: `output_fields`, for models, which cannot set `_meta`."""

import json

import pytest

import louver
from louver import Projection, compile_projection
from louver.steps.calls.unmatched import note_by_value
from steps.profiles import PROFILE, SCHEMA, VIEWS, lowlevel, tool
from steps.wire import NEW, attached, connect

pytestmark = pytest.mark.anyio

NAME = {"mode": "include", "fields": ["name"]}


async def test_a_member_that_no_row_has_is_no_unknown_field():
    """Ours: without a schema, what a test reads may be missing in one answer and there in the next."""
    value = {"items": [{"title": "a"}, {"title": "b"}]}
    plans = [compile_projection(Projection(include=[f"$.items[?{test}].title"])) for test in ("!@.deleted", "@.s == 1")]
    assert [note_by_value(value, plan) for plan in plans] == [None, None]
    unknown = compile_projection(Projection(include=["$.items[?@.title > 1].titel", "items.title"]))
    assert note_by_value(value, unknown) == (
        "NOTE: the output has no field '$.items[?@.title > 1].titel'; did you mean '$.items[?@.title > 1].title'?"
    )


async def test_the_argument_is_added_to_the_input_schema(profiles, era):
    """Ours: optional, beside the tool's own."""
    async with attached(profiles.server, era, argument=True) as wire:
        schema = (await wire.tools())["get_profile"]["inputSchema"]
    assert list(schema["properties"]) == ["user_id", "output_fields"]
    assert "output_fields" not in schema.get("required", [])
    assert schema["properties"]["output_fields"]["description"]


@pytest.mark.parametrize(
    ("argument", "kept"),
    [
        (["name"], {"name": "Ann"}),
        (NAME, {"name": "Ann"}),
        ({"mode": "exclude", "fields": ["email", "address", "items", "nextCursor", "id"]}, {"name": "Ann"}),
        ({"mode": "view", "view": "minimal"}, {"id": 7, "name": "Ann"}),
    ],
)
async def test_an_argument_is_a_request_or_a_list_of_paths(era, argument, kept):
    """Ours: a list is short for mode `include`; the receipt stands under the literal key, without schema."""
    made = lowlevel(t=tool(SCHEMA, meta=louver.hint(VIEWS)))
    async with attached(made.server, era, argument=True) as wire:
        answer = await wire.call("t", {"user_id": 1, "output_fields": argument})
    assert answer["structuredContent"] == kept
    receipt = answer["_meta"]["projection"]
    assert receipt["applied"] is True
    assert "projectedSchema" not in receipt


NOTE = "NOTE: the output has no field 'nmae'; did you mean 'name'?"


async def test_a_model_reads_in_the_answer_which_fields_there_are_not(profiles, era):
    """Ours: it is not shown `_meta`, and would take what is left for all that there is."""
    async with attached(profiles.server, era, argument=True) as wire:
        slip = await wire.call("get_profile", {"user_id": 3, "output_fields": ["id", "nmae"]})
        good = await wire.call("get_profile", {"user_id": 3, "output_fields": ["name"]})
        by_meta = await wire.call("get_profile", {"user_id": 3}, projection={"mode": "include", "fields": ["nmae"]})
        strict = await wire.call(
            "get_profile", {"user_id": 3, "output_fields": {"mode": "include", "fields": ["nmae"], "strict": True}}
        )
    assert slip["structuredContent"] == {"id": 7, "louver": [NOTE]}
    assert [json.loads(block["text"]) for block in slip["content"]] == [slip["structuredContent"]]
    assert "unmatched" not in slip["_meta"]["projection"]
    assert [len(answer["content"]) for answer in (good, by_meta, strict)] == [1, 1, 1]


async def test_of_many_such_fields_few_are_told_each(profiles, era):
    """Ours."""
    fields = ["id", *(f"x{number}" for number in range(9))]
    async with attached(profiles.server, era, argument=True) as wire:
        answer = await wire.call("get_profile", {"user_id": 3, "output_fields": fields})
    told = answer["structuredContent"]["louver"][0].removeprefix("NOTE: ").split("; ")
    assert told == [*(f"the output has no field 'x{number}'" for number in range(5)), "nor 4 more that were asked for"]


async def test_the_argument_is_taken_off_before_the_tool_sees_it(profiles, era):
    """Ours."""
    async with attached(profiles.server, era, argument=True) as wire:
        await wire.call("get_profile", {"user_id": 3, "output_fields": ["name"]})
    assert profiles.calls == [("get_profile", {"user_id": 3})]


async def test_the_meta_goes_before_the_argument(profiles, era):
    """Ours: `_meta`, then argument; the argument is taken off all the same."""
    async with attached(profiles.server, era, argument=True) as wire:
        answer = await wire.call("get_profile", {"user_id": 3, "output_fields": ["id"]}, projection=NAME)
    assert answer["structuredContent"] == {"name": "Ann"}
    assert profiles.calls == [("get_profile", {"user_id": 3})]


async def test_a_tool_with_a_default_view_takes_the_argument_whatever_it_declares(era):
    """Ours: who gets less without having asked must be able to ask for all."""
    made = lowlevel(t=tool(None))
    async with attached(
        made.server, era, argument=True, views={"t": {"brief": ["name"]}}, default_views={"t": "brief"}
    ) as wire:
        schema = (await wire.tools())["t"]["inputSchema"]
        brief = await wire.call("t", {})
        whole = await wire.call("t", {"output_fields": ["*"]})
    assert "brief" in schema["properties"]["output_fields"]["description"]
    assert brief["structuredContent"] == {"name": "Ann"}
    assert whole["structuredContent"].keys() == PROFILE.keys()


async def test_the_argument_goes_before_the_default_view(profiles, era):
    """Ours."""
    views = {"get_profile": {"minimal": ["id"]}}
    async with attached(
        profiles.server, era, argument=True, views=views, default_views={"get_profile": "minimal"}
    ) as wire:
        answer = await wire.call("get_profile", {"output_fields": ["name"]})
    assert answer["structuredContent"] == {"name": "Ann"}


async def test_an_argument_is_checked_even_where_the_meta_goes_first(profiles, era):
    """Ours: a wrong request is refused, whichever channel it comes by."""
    async with attached(profiles.server, era, argument=True) as wire:
        answer = await wire.call("get_profile", {"output_fields": ["a.."]}, projection=NAME)
    assert answer["isError"] is True
    assert answer["content"][0]["text"].startswith("output_fields: field path 'a..'")
    assert profiles.calls == []


FORM = ". Send a list of field names, such as ['id', 'user.login'], or leave it out"
THERE = " Its fields: id, name, email, nextCursor, address.city, address.zip, items.id, items.email"


@pytest.mark.parametrize(
    ("argument", "told"),
    [
        (["a.."], f"field path 'a..': expected a name, a quoted name, or '*' at offset 2{FORM}"),
        ([1], f"every field path is a string, element 0 is not; for example ['id', 'user.login']{FORM}"),
        (
            {"mode": "INCLUDE", "fields": ["id"]},
            f"a projection's 'mode' is one of 'include', 'exclude', 'view', not 'INCLUDE'{FORM}",
        ),
        (["x" * 513], f"a field path has at most 512 characters, this one has 513{FORM}"),
        ({"view": "nope"}, "view 'nope' is not a view of this tool: its views are none"),
        (["nmae"], f"the output has no field 'nmae'; did you mean 'name'?{THERE}"),
        (["nmae", "x"], f"the output has no field 'nmae'; did you mean 'name'?; the output has no field 'x'.{THERE}"),
    ],
)
async def test_a_refused_argument_is_a_result_that_the_model_reads(profiles, era, argument, told):
    """Ours: told once, in one sentence with the right form to send; before the tool runs."""
    async with attached(profiles.server, era, argument=True) as wire:
        answer = await wire.call("get_profile", {"output_fields": argument})
    assert answer["isError"] is True
    assert [block["text"] for block in answer["content"]] == [f"output_fields: {told}"]
    assert "structuredContent" not in answer
    assert "dev.louver/error" not in answer.get("_meta", {})
    assert (answer.get("resultType") == "complete") == (era == NEW)
    assert profiles.calls == []


async def test_a_tool_that_has_an_argument_of_that_name_keeps_its_own(era):
    """HOSTS.md: and is offered another."""
    made = lowlevel(t=tool(SCHEMA, input={"type": "object", "properties": {"output_fields": {"type": "string"}}}))
    async with attached(made.server, era, argument=True) as wire:
        properties = (await wire.tools())["t"]["inputSchema"]["properties"]
        answer = await wire.call("t", {"output_fields": "mine", "output_fields_2": ["name"]})
    assert properties["output_fields"] == {"type": "string"}
    assert properties["output_fields_2"]["type"] == "array"
    assert answer["structuredContent"] == {"name": "Ann"}
    assert made.calls == [("t", {"output_fields": "mine"})]


NOT_PLAIN = {
    "allOf": {"type": "object", "allOf": [{"properties": {"a": {}}, "additionalProperties": False}]},
    "anyOf": {"type": "object", "anyOf": [{"required": ["a"]}]},
    "$ref": {"type": "object", "$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}},
    "maxProperties": {"type": "object", "properties": {}, "maxProperties": 1},
    "propertyNames": {"type": "object", "propertyNames": {"pattern": "^[a-z]+$"}},
}


@pytest.mark.parametrize("schema", NOT_PLAIN.values(), ids=NOT_PLAIN)
async def test_a_tool_whose_input_is_not_plain_has_no_such_argument(era, schema):
    """Ours: the argument is then the tool's own, listed and passed on as it is."""
    made = lowlevel(t=tool(SCHEMA, input=schema))
    async with attached(made.server, era, argument=True) as wire:
        assert (await wire.tools())["t"]["inputSchema"] == schema
        answer = await wire.call("t", {"output_fields": ["name"]})
    assert answer["structuredContent"] == PROFILE
    assert made.calls == [("t", {"output_fields": ["name"]})]


async def test_an_input_that_admits_no_other_arguments_still_takes_it(era):
    """Ours: `additionalProperties: false` beside plain `properties`."""
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False}
    made = lowlevel(t=tool(SCHEMA, input=schema))
    async with attached(made.server, era, argument=True) as wire:
        assert "output_fields" in (await wire.tools())["t"]["inputSchema"]["properties"]
        assert (await wire.call("t", {"output_fields": ["id"]}))["structuredContent"] == {"id": 7}
    assert made.calls == [("t", {})]


@pytest.mark.parametrize(
    "words",
    [
        {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {"type": "integer"}}},
        {"$id": "https://example.com/input", "$defs": {"a": {"type": "integer"}}},
        {"$comment": "of the author", "examples": [{"a": 1}], "default": {"a": 1}, "deprecated": True},
    ],
)
async def test_an_input_of_which_more_is_said_still_takes_it(era, words):
    """JSON Schema: such words hold no value to anything at the root."""
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], **words}
    made = lowlevel(t=tool(SCHEMA, input=schema))
    async with attached(made.server, era, argument=True) as wire:
        listed = (await wire.tools())["t"]["inputSchema"]
        assert listed.pop("properties").keys() == {"a", "output_fields"}
        assert listed == {word: said for word, said in schema.items() if word != "properties"}
        assert (await wire.call("t", {"a": 1, "output_fields": ["id"]}))["structuredContent"] == {"id": 7}
    assert made.calls == [("t", {"a": 1})]


async def test_a_tool_without_an_output_schema_has_no_such_argument(era):
    """Ours: it is projected by `_meta`, answer by answer."""
    made = lowlevel(t=tool(None))
    async with attached(made.server, era, argument=True) as wire:
        assert "output_fields" not in (await wire.tools())["t"]["inputSchema"]["properties"]
        await wire.call("t", {"output_fields": ["id"]})
    assert made.calls == [("t", {"output_fields": ["id"]})]


async def test_without_the_option_the_argument_is_the_tools_own(profiles, era):
    """Ours: off by default."""
    async with connect(profiles.server, era) as wire:
        before = await wire.call("get_profile", {"user_id": 1, "output_fields": ["id"]})
        schema = (await wire.tools())["get_profile"]["inputSchema"]
    async with attached(profiles.server, era) as wire:
        assert await wire.call("get_profile", {"user_id": 1, "output_fields": ["id"]}) == before
        assert (await wire.tools())["get_profile"]["inputSchema"] == schema


async def test_the_argument_makes_no_list_much_longer(era):
    """HOSTS.md: the default may never make a session dearer; those with views and the most fields go first."""
    many = {f"t{number:02}": tool(SCHEMA) for number in range(40)}
    made = lowlevel(**many, viewed=tool(SCHEMA, meta=louver.hint(VIEWS)))
    async with attached(made.server, era, argument=True) as wire:
        tools = await wire.tools()
        offered = [name for name, each in tools.items() if "output_fields" in each["inputSchema"]["properties"]]
        assert (await wire.tools()) == tools
        other = await wire.call("t39", {"output_fields": ["id"]})
    assert "viewed" in offered
    assert 3 <= len(offered) <= 6
    assert other["structuredContent"] == {"id": 7}
