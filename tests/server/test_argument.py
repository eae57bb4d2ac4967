"""The argument channel: `_projection`, for models, which cannot set `_meta`."""

import pytest

import louver
from server.profiles import PROFILE, SCHEMA, VIEWS, lowlevel, tool
from server.wire import NEW, attached, connect, text_of

pytestmark = pytest.mark.anyio

NAME = {"mode": "include", "fields": ["name"]}


async def test_the_argument_is_added_to_the_input_schema(profiles, era):
    """Ours: optional, beside the tool's own."""
    async with attached(profiles.server, era, argument=True) as wire:
        schema = (await wire.tools())["get_profile"]["inputSchema"]
    assert list(schema["properties"]) == ["user_id", "_projection"]
    assert "_projection" not in schema.get("required", [])
    assert schema["properties"]["_projection"]["description"]


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
    """Ours: a list is short for mode `include`; the receipt stands under the literal key."""
    made = lowlevel(t=tool(SCHEMA, meta=louver.hint(VIEWS)))
    async with attached(made.server, era, argument=True) as wire:
        answer = await wire.call("t", {"user_id": 1, "_projection": argument})
    assert answer["structuredContent"] == kept
    assert answer["_meta"]["projection"]["applied"] is True


NOTE = "NOTE: the output has no field 'nmae'; did you mean 'name'?"


async def test_a_model_reads_in_the_answer_which_fields_there_are_not(profiles, era):
    """Ours: it is not shown `_meta`, and would take what is left for all that there is."""
    async with attached(profiles.server, era, argument=True) as wire:
        slip = await wire.call("get_profile", {"user_id": 3, "_projection": ["nmae"]})
        good = await wire.call("get_profile", {"user_id": 3, "_projection": ["name"]})
        by_meta = await wire.call("get_profile", {"user_id": 3}, projection={"mode": "include", "fields": ["nmae"]})
        strict = await wire.call(
            "get_profile", {"user_id": 3, "_projection": {"mode": "include", "fields": ["nmae"], "strict": True}}
        )
    assert [block["text"] for block in slip["content"]] == ["{}", NOTE]
    assert slip["structuredContent"] == {}
    assert slip["_meta"]["projection"]["unmatched"] == ["nmae"]
    assert [len(answer["content"]) for answer in (good, by_meta, strict)] == [1, 1, 1]


async def test_of_many_such_fields_few_are_told_each(profiles, era):
    """Ours: the receipt has them all."""
    async with attached(profiles.server, era, argument=True) as wire:
        answer = await wire.call("get_profile", {"user_id": 3, "_projection": [f"x{number}" for number in range(9)]})
    told = answer["content"][1]["text"].removeprefix("NOTE: ").split("; ")
    assert told == [*(f"the output has no field 'x{number}'" for number in range(5)), "nor 4 more that were asked for"]


async def test_the_argument_is_taken_off_before_the_tool_sees_it(profiles, era):
    """Ours."""
    async with attached(profiles.server, era, argument=True) as wire:
        await wire.call("get_profile", {"user_id": 3, "_projection": ["name"]})
    assert profiles.calls == [("get_profile", {"user_id": 3})]


async def test_the_meta_goes_before_the_argument(profiles, era):
    """Ours: `_meta`, then argument; the argument is taken off all the same."""
    async with attached(profiles.server, era, argument=True) as wire:
        answer = await wire.call("get_profile", {"user_id": 3, "_projection": ["id"]}, projection=NAME)
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
        whole = await wire.call("t", {"_projection": ["*"]})
    assert "brief" in schema["properties"]["_projection"]["description"]
    assert brief["structuredContent"] == {"name": "Ann"}
    assert whole["structuredContent"].keys() == PROFILE.keys()


async def test_the_argument_goes_before_the_default_view(profiles, era):
    """Ours."""
    views = {"get_profile": {"minimal": ["id"]}}
    async with attached(
        profiles.server, era, argument=True, views=views, default_views={"get_profile": "minimal"}
    ) as wire:
        answer = await wire.call("get_profile", {"_projection": ["name"]})
    assert answer["structuredContent"] == {"name": "Ann"}


async def test_an_argument_is_checked_even_where_the_meta_goes_first(profiles, era):
    """Ours: a wrong request is refused, whichever channel it comes by."""
    async with attached(profiles.server, era, argument=True) as wire:
        answer = await wire.call("get_profile", {"_projection": ["a.."]}, projection=NAME)
    assert answer["isError"] is True
    assert text_of(answer)["error"]["code"] == "INVALID_PROJECTION"
    assert profiles.calls == []


@pytest.mark.parametrize(
    ("argument", "code"),
    [
        (["a.."], "INVALID_PROJECTION"),
        ([], "INVALID_PROJECTION"),
        ("name", "INVALID_PROJECTION"),
        ([1], "INVALID_PROJECTION"),
        ({"mode": "INCLUDE", "fields": ["id"]}, "INVALID_PROJECTION"),
        (["x" * 513], "PROJECTION_LIMIT"),
        ({"mode": "view", "view": "nope"}, "UNKNOWN_VIEW"),
        ({"mode": "include", "fields": ["nmae"], "strict": True}, "UNKNOWN_FIELD"),
    ],
)
async def test_a_refused_argument_is_a_result_that_the_model_reads(profiles, era, argument, code):
    """Ours: the JSON of the error as text and in `_meta`, never `structuredContent`."""
    async with attached(profiles.server, era, argument=True) as wire:
        answer = await wire.call("get_profile", {"_projection": argument})
    assert answer["isError"] is True
    assert text_of(answer)["error"]["code"] == code
    assert answer["_meta"]["dev.louver/error"] == text_of(answer)["error"]
    assert "structuredContent" not in answer
    assert (answer.get("resultType") == "complete") == (era == NEW)
    assert ("io.modelcontextprotocol/serverInfo" in answer["_meta"]) == (era == NEW)
    assert profiles.calls == []


NOT_PLAIN = {
    "has the name": {"type": "object", "properties": {"_projection": {"type": "string"}}},
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
        answer = await wire.call("t", {"_projection": ["name"]})
    assert answer["structuredContent"] == PROFILE
    assert made.calls == [("t", {"_projection": ["name"]})]


async def test_an_input_that_admits_no_other_arguments_still_takes_it(era):
    """Ours: `additionalProperties: false` beside plain `properties`."""
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False}
    made = lowlevel(t=tool(SCHEMA, input=schema))
    async with attached(made.server, era, argument=True) as wire:
        assert "_projection" in (await wire.tools())["t"]["inputSchema"]["properties"]
        assert (await wire.call("t", {"_projection": ["id"]}))["structuredContent"] == {"id": 7}
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
        assert listed.pop("properties").keys() == {"a", "_projection"}
        assert listed == {word: said for word, said in schema.items() if word != "properties"}
        assert (await wire.call("t", {"a": 1, "_projection": ["id"]}))["structuredContent"] == {"id": 7}
    assert made.calls == [("t", {"a": 1})]


async def test_a_tool_without_an_output_schema_has_no_such_argument(era):
    """Ours: it is projected by `_meta`, answer by answer."""
    made = lowlevel(t=tool(None))
    async with attached(made.server, era, argument=True) as wire:
        assert "_projection" not in (await wire.tools())["t"]["inputSchema"]["properties"]
        await wire.call("t", {"_projection": ["id"]})
    assert made.calls == [("t", {"_projection": ["id"]})]


async def test_without_the_option_the_argument_is_the_tools_own(profiles, era):
    """Ours: off by default."""
    async with connect(profiles.server, era) as wire:
        before = await wire.call("get_profile", {"user_id": 1, "_projection": ["id"]})
        schema = (await wire.tools())["get_profile"]["inputSchema"]
    async with attached(profiles.server, era) as wire:
        assert await wire.call("get_profile", {"user_id": 1, "_projection": ["id"]}) == before
        assert (await wire.tools())["get_profile"]["inputSchema"] == schema
