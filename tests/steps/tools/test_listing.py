"""What `tools/list` says of a tool that can be projected."""

import mcp_types as types
import pytest
from jsonschema import Draft202012Validator
from mcp import Client
from mcp.client import advertise
from mcp.server import Server

import louver
from louver.core.schema.relax import relax
from louver.errors import LouverError
from louver.wire.names import PROJECTION
from steps.profiles import PROFILE, SCHEMA, VIEWS, build, lowlevel, structured, text, tool
from steps.wire import NEW, OLD, attached, connect
from tests.fixtures.company import build_server

pytestmark = pytest.mark.anyio

INCLUDE = {"mode": "include", "fields": ["id"]}
EXTENSION = "dev.louver/projectionHint"
RECOMMENDED = {"minimal": ["id", "name"], "contact": ["email", "id", "name"]}


async def listed(server, era, **options):
    async with attached(server, era, **options) as wire:
        return await wire.tools()


async def test_the_hint_stands_in_the_literal_form(era):
    """#1704, section 2; views that a list of fields says whole."""
    made = lowlevel(t=tool(SCHEMA, meta=louver.hint(VIEWS)))
    hint = (await listed(made.server, era))["t"]["annotations"]["projectionHint"]
    assert hint == {"supported": True, "recommendedViews": RECOMMENDED}


async def test_the_hint_stands_in_the_extension_form_too(era):
    """Ours: with the views that leave something out, and with `always`."""
    made = lowlevel(t=tool(SCHEMA, meta=louver.hint(VIEWS, always=["nextCursor"], content="keep")))
    assert (await listed(made.server, era))["t"]["_meta"][EXTENSION] == {
        "supported": True,
        "recommendedViews": RECOMMENDED,
        "views": {
            "public": {"exclude": ["**.email"]},
            "mixed": {"include": ["address", "name"], "exclude": ["address.zip"]},
        },
        "always": ["nextCursor"],
        "content": "keep",
    }


async def test_a_tool_without_views_says_just_that_it_can_be_projected(profiles, era):
    """#1704, section 2."""
    tool = (await listed(profiles.server, era))["get_profile"]
    assert tool["annotations"]["projectionHint"] == {"supported": True}
    assert tool["_meta"][EXTENSION] == {"supported": True}


async def test_the_annotations_and_meta_of_the_author_stay(era):
    """Ours."""
    made = lowlevel(t=tool(SCHEMA, meta={"com.example/note": 1}))
    made.tools["t"]["listed"]["annotations"] = {"readOnlyHint": True}
    tools = await listed(made.server, era)
    assert tools["t"]["annotations"].keys() == {"readOnlyHint", "projectionHint"}
    assert tools["t"]["_meta"].keys() == {"com.example/note", EXTENSION}


CLOSED = {
    "at the root": {"type": "object", "properties": {"id": {}}, "additionalProperties": False},
    "in allOf": {"type": "object", "allOf": [{"properties": {"id": {}}, "additionalProperties": False}]},
    "in oneOf": {"type": "object", "oneOf": [{"properties": {"id": {}}, "additionalProperties": False}]},
    "behind $ref": {
        "type": "object",
        "$ref": "#/$defs/a",
        "$defs": {"a": {"properties": {"id": {}, "a": {"$ref": "#/$defs/a"}}, "additionalProperties": False}},
    },
    "in number": {"type": "object", "maxProperties": 1},
}


@pytest.mark.parametrize("schema", CLOSED.values(), ids=CLOSED)
async def test_models_are_listed_a_schema_that_admits_what_is_said_beside_an_answer(era, schema):
    """HOSTS.md: it stands in the structured content for hosts that show that alone; programs get what they validate."""
    made = lowlevel(t=tool(schema))
    async with attached(made.server, era) as wire:
        for_program = (await wire.tools())["t"]["outputSchema"]
    assert for_program == relax(schema)
    made = lowlevel(t=tool(schema))
    async with attached(made.server, era, extensions={}) as wire:
        for_model = (await wire.tools())["t"]["outputSchema"]
    answer = {"id": 7, "louver": ["NOTE: ..."]}
    assert Draft202012Validator(for_model).is_valid(answer)
    assert not Draft202012Validator(for_program).is_valid(answer)
    assert not Draft202012Validator(for_model).is_valid({**answer, "other": 1})


async def test_the_output_schema_is_relaxed(profiles, era):
    """Ours: stock clients validate each answer against it, and a required field may be gone."""
    schema = (await listed(profiles.server, era))["get_profile"]["outputSchema"]
    assert schema == relax(SCHEMA)
    assert Draft202012Validator(SCHEMA).is_valid(PROFILE)
    assert not Draft202012Validator(SCHEMA).is_valid({"id": 7})
    assert Draft202012Validator(schema).is_valid({"id": 7})


@pytest.mark.parametrize("listing", ["omit", "strict"])
async def test_the_output_schema_can_be_left_out_or_left_as_it_is(profiles, era, listing):
    """Ours."""
    shown = (await listed(profiles.server, era, listing=listing))["get_profile"].get("outputSchema")
    assert shown == (SCHEMA if listing == "strict" else None)


async def test_the_exact_output_schema_can_stand_in_the_meta(profiles, era):
    """Ours: off by default, it doubles the list."""
    tool = (await listed(profiles.server, era, exact=True))["get_profile"]
    assert tool["_meta"][EXTENSION]["outputSchema"] == SCHEMA
    assert tool["outputSchema"] == relax(SCHEMA)


async def test_a_tool_without_an_output_schema_is_listed_as_it_is(era):
    """Ours: a list must not change because of what was called."""
    made = lowlevel(t=tool(None, text('{"a": 1}')))
    async with connect(made.server, era) as wire:
        before = await wire.tools()
    async with attached(made.server, era, argument=True, exact=True) as wire:
        assert await wire.tools() == before
        await wire.call("t", projection=INCLUDE)
        assert await wire.tools() == before


async def test_the_list_stays_the_same_after_calls(profiles, era):
    """2026-07-28: `tools/list` must not change as a side effect of other requests."""
    async with attached(profiles.server, era) as wire:
        before = await wire.tools()
        await wire.call("get_profile", projection=INCLUDE)
        assert await wire.tools() == before


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        ({"$schema": "http://json-schema.org/draft-04/schema#", "type": "array"}, {}),
        ({"type": "object", "$ref": "#"}, {"type": "object"}),
    ],
)
async def test_an_output_schema_that_cannot_be_read_is_listed_as_an_object(schema, shown):
    """2026-07-28: an output schema is an object; `true` would make clients refuse the whole list."""
    made = lowlevel(t=tool(schema))
    louver.attach(made.server)
    async with Client(made.server) as client:
        assert (await client.list_tools()).tools[0].output_schema == shown


async def test_every_page_of_a_list_is_amended(era):
    """Ours."""
    made = lowlevel(page_size=2, **{f"t{n}": tool(SCHEMA) for n in range(5)})
    async with attached(made.server, era) as wire:
        cursor, seen = {}, []
        while cursor is not None:
            page = await wire.request("tools/list", cursor)
            seen += page["tools"]
            cursor = {"cursor": page["nextCursor"]} if page.get("nextCursor") else None
    assert [tool["name"] for tool in seen] == [f"t{n}" for n in range(5)]
    assert all(EXTENSION in tool["_meta"] for tool in seen)


async def test_a_tool_on_a_later_page_is_projected_without_being_listed_first(era):
    """Ours: a projected call of a tool that was not seen yet lists first, all pages."""
    made = lowlevel(page_size=2, **{f"t{n}": tool(SCHEMA) for n in range(5)})
    async with attached(made.server, era) as wire:
        answer = await wire.call("t4", projection=INCLUDE)
        assert answer["structuredContent"] == {"id": 7}
        assert made.listings == 3
        await wire.call("t0", projection=INCLUDE)
        assert made.listings == 3


@pytest.mark.parametrize(("mode", "era"), [("legacy", OLD), ("auto", NEW)])
async def test_a_strict_listing_projects_for_clients_that_declare_the_extension(mode, era):
    """Ours: a stock client would refuse the answer, so it gets the whole of it."""
    server = build("MCPServer").server
    louver.attach(server, listing="strict")
    async with Client(server, mode=mode) as client:
        answer = await client.call_tool("get_profile", meta={"projection": INCLUDE})
        assert answer.structured_content == PROFILE
        assert answer.meta["projection"] == {"applied": False, "reason": "not_supported"}
    async with Client(server, mode=mode, extensions=[advertise(PROJECTION, {})]) as client:
        assert client.protocol_version == era
        answer = await client.session.send_request(*raw_call("get_profile", INCLUDE))
        assert answer.structured_content == {"id": 7}


def raw_call(name, projection):
    """A typed call that is not validated against the listed schema, which is the exact one here."""
    params = types.CallToolRequestParams(name=name, arguments={}, _meta={"projection": projection})
    return types.CallToolRequest(params=params), types.CallToolResult


async def test_a_strict_listing_refuses_a_required_projection_of_other_clients(profiles, era):
    """Ours: `required` means never the full output."""
    async with attached(profiles.server, era, listing="strict", extensions={}) as wire:
        answer = await wire.call("get_profile", projection={**INCLUDE, "required": True})
        assert answer["isError"]
        assert answer["_meta"]["dev.louver/error"]["code"] == "PROJECTION_REQUIRED"
        assert "structuredContent" not in answer
    assert profiles.calls == []


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_stock_client_accepts_every_projection_of_the_example(mode):
    """Ours: it validates answers against the listed schema and throws."""
    server = build_server()
    louver.attach(server)
    calls = [
        ("get_user_profile", {"user_id": 1}, ["manager.name", "activity.recent.kind"]),
        ("list_issues", {"limit": 2}, ["issues.user.login"]),
        ("get_order_tree", {"order_id": 1}, ["sub_orders.sub_orders.id"]),
        ("list_labels", {}, ["name"]),
    ]
    async with Client(server, mode=mode) as client:
        for tool, arguments, fields in calls:
            for way in ("include", "exclude"):
                meta = {"projection": {"mode": way, "fields": fields, "required": True}}
                answer = await client.call_tool(tool, arguments, meta=meta)
                assert answer.meta["projection"]["applied"] is True
                schema = answer.meta["projection"]["projectedSchema"]
                Draft202012Validator(schema).validate(answer.structured_content)


async def test_a_root_that_is_no_object_is_projected():
    """2026-07-28 allows any root; each element of an array is projected, of a scalar nothing is left."""
    made = lowlevel(
        array=tool({"type": "array", "items": SCHEMA}, structured([PROFILE, PROFILE])),
        scalar=tool({"type": "integer"}, structured(3)),
    )
    async with attached(made.server, NEW) as wire:
        answer = await wire.call("array", projection=INCLUDE)
        assert answer["structuredContent"] == [{"id": 7}, {"id": 7}]
        answer = await wire.call("scalar", projection=INCLUDE)
        assert answer["structuredContent"] is None
        assert answer["content"] == [{"type": "text", "text": "null"}]


def test_a_listing_that_is_none_is_refused():
    """Ours: and the server stays as it was."""
    server = Server("s")
    with pytest.raises(LouverError, match="'listing' is one of 'relaxed', 'omit', 'strict', not 'relax'"):
        louver.attach(server, listing="relax", disclosure="on-error")
    louver.attach(server, listing="omit")
