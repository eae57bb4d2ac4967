"""Projected calls: what is kept, what stands in `content`, what the receipt says."""

import json
from copy import deepcopy

import mcp_types as types
import pytest
from jsonschema import Draft202012Validator

import louver
from louver.sdk.adapter import StepMiddleware, call_server
from louver.steps.calls.request import RequestOptions
from louver.steps.projection import ProjectionStep
from louver.steps.request import in_order
from louver.steps.tools.registry import ToolRegistry
from louver.steps.tools.views import ToolViews
from steps.profiles import PROFILE, SCHEMA, VIEWS, build, lowlevel, structured, text, tool
from steps.wire import NEW, OLD, attached, connect, text_of

pytestmark = pytest.mark.anyio

NAME = {"mode": "include", "fields": ["name"]}
EXTENSION = "dev.louver/projection"
IMAGE = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
LINK = {"type": "resource_link", "uri": "file:///a", "name": "a"}


def receipt_of(answer):
    return answer["_meta"]["projection"]


async def test_an_include_request_gets_only_the_named_fields(profiles, era):
    """#1704, sections 3 and 4: `structuredContent` is trimmed, `_meta` says how."""
    async with attached(profiles.server, era) as wire:
        answer = await wire.call(
            "get_profile", {"user_id": 7}, projection={"mode": "include", "fields": ["name", "address.city"]}
        )
    assert answer["structuredContent"] == {"name": "Ann", "address": {"city": "Rome"}}
    receipt = receipt_of(answer)
    assert receipt["applied"] is True
    assert receipt["mode"] == "include"
    assert receipt["fields"] == ["name", "address.city"]
    assert receipt["partial"] is True
    assert profiles.calls == [("get_profile", {"user_id": 7})]


async def test_an_exclude_request_gets_everything_but_the_named_fields(profiles, era):
    """#1704, "Key Features": exclude (blacklist); `**.name` at any depth is ours."""
    async with attached(profiles.server, era) as wire:
        answer = await wire.call("get_profile", projection={"mode": "exclude", "fields": ["**.email"]})
    kept = {key: value for key, value in PROFILE.items() if key != "email"}
    assert answer["structuredContent"] == {**kept, "items": [{"id": 1}, {"id": 2}]}
    assert receipt_of(answer)["fields"] == ["**.email"]


@pytest.mark.parametrize(
    ("view", "kept", "receipt"),
    [
        ("minimal", ["id", "name", "nextCursor"], {"fields": ["id", "name"]}),
        ("contact", ["id", "name", "email", "nextCursor"], {"fields": ["id", "name", "email"]}),
        ("public", ["id", "name", "address", "items", "nextCursor"], {"fields": ["*"]}),
        ("mixed", ["name", "address", "nextCursor"], {"excluded": ["address.zip"]}),
    ],
)
async def test_a_view_request_gets_what_the_view_says(era, view, kept, receipt):
    """#1704, "Key Features": view (named presets); `always` is ours."""
    made = lowlevel(t=tool(SCHEMA, meta=louver.hint(VIEWS, always=["nextCursor"])))
    async with attached(made.server, era) as wire:
        answer = await wire.call("t", projection={"mode": "view", "view": view})
    assert list(answer["structuredContent"]) == kept
    assert receipt_of(answer)["view"] == view
    assert receipt.items() <= receipt_of(answer).items()


async def test_always_stands_in_the_receipt_of_what_includes(era):
    """Ours: the author's choice is added to every include, never to an exclude."""
    made = lowlevel(t=tool(SCHEMA, meta=louver.hint(always=["id", "nextCursor"])))
    async with attached(made.server, era) as wire:
        included = await wire.call("t", projection=NAME)
        excluded = await wire.call("t", projection={"mode": "exclude", "fields": ["id", "items"]})
    assert list(included["structuredContent"]) == ["id", "name", "nextCursor"]
    assert receipt_of(included)["always"] == ["id", "nextCursor"]
    assert list(excluded["structuredContent"]) == ["name", "email", "address", "nextCursor"]
    assert "always" not in receipt_of(excluded)


async def test_the_projected_schema_admits_the_answer_and_not_the_whole(profiles, era):
    """#1704, section 4: "derived subset schema for validation"."""
    async with attached(profiles.server, era) as wire:
        answer = await wire.call("get_profile", projection=NAME)
    validator = Draft202012Validator(receipt_of(answer)["projectedSchema"])
    assert validator.is_valid(answer["structuredContent"])
    assert not validator.is_valid(PROFILE)


@pytest.mark.parametrize(("form", "told"), [("inline", {"projectedSchema"}), ("none", set())])
async def test_the_projected_schema_is_told_as_asked(profiles, era, form, told):
    """Ours: itself, or not at all; a schema can be larger than the answer."""
    async with attached(profiles.server, era) as wire:
        receipt = receipt_of(await wire.call("get_profile", projection={**NAME, "schema": form}))
        whole = receipt_of(await wire.call("get_profile", projection=NAME))
    assert receipt.keys() & {"projectedSchema"} == told
    assert receipt.items() <= whole.items()


async def test_a_receipt_says_whether_something_was_left_out(profiles, era):
    """Ours: what is partial must not be written back."""
    async with attached(profiles.server, era) as wire:
        everything = await wire.call("get_profile", projection={"mode": "include", "fields": ["*"]})
        nothing_there = await wire.call("get_profile", projection={"mode": "exclude", "fields": ["**.x"]})
    assert everything["structuredContent"] == nothing_there["structuredContent"] == PROFILE
    assert receipt_of(everything)["partial"] is False
    assert receipt_of(nothing_there)["partial"] is False


async def test_an_unknown_field_is_named_with_what_was_probably_meant(profiles, era):
    """Ours: lenient by default, and said."""
    async with attached(profiles.server, era) as wire:
        answer = await wire.call("get_profile", projection={"mode": "include", "fields": ["nmae", "items.0", "name"]})
    assert answer["structuredContent"] == {"name": "Ann", "items": [{}, {}]}
    assert set(receipt_of(answer)["unmatched"]) == {"nmae", "items.0"}
    assert receipt_of(answer)["suggestions"] == {"nmae": "name", "items.0": "items.*"}


async def test_nothing_matched_is_never_the_full_output(profiles, era):
    """Ours: `{}` for an object."""
    async with attached(profiles.server, era) as wire:
        answer = await wire.call("get_profile", projection={"mode": "include", "fields": ["nope"]})
    assert answer["structuredContent"] == {}
    assert answer["content"] == [{"type": "text", "text": "{}"}]


@pytest.mark.parametrize("key", ["projection", "dev.louver/projection"])
async def test_the_receipt_stands_under_the_key_of_the_request(profiles, era, key):
    """Ours: "same key form as the request"."""
    async with attached(profiles.server, era) as wire:
        meta = (await wire.call("get_profile", **{key: NAME}))["_meta"]
    assert meta.keys() & {"projection", "dev.louver/projection"} == {key}
    assert meta[key]["applied"] is True


async def test_the_same_request_under_both_keys_is_one_request(profiles, era):
    """Ours: the receipt then stands under the literal key."""
    async with attached(profiles.server, era) as wire:
        same = {"fields": ["name", "name"], "mode": "include", "strict": False}
        answer = await wire.call("get_profile", projection=NAME, **{EXTENSION: same})
    assert answer["structuredContent"] == {"name": "Ann"}
    assert "projection" in answer["_meta"]
    assert EXTENSION not in answer["_meta"]


async def test_unknown_keys_of_meta_pass(profiles, era):
    """The specification: `_meta` is open. Ours: what we do not know is not ours to judge."""
    async with attached(profiles.server, era) as wire:
        plain = await wire.call("get_profile")
        other = await wire.call("get_profile", **{"com.example/x": {"mode": 1}, "projections": 3})
        both = await wire.call("get_profile", projection=NAME, **{"com.example/x": None})
    assert plain == other
    assert both["structuredContent"] == {"name": "Ann"}


async def test_the_meta_of_the_tool_stays_beside_the_receipt(era):
    """Ours."""
    made = lowlevel(t=tool(SCHEMA, {**structured(PROFILE), "_meta": {"com.example/cost": 3}}))
    async with attached(made.server, era) as wire:
        meta = (await wire.call("t", projection=NAME))["_meta"]
    assert meta["com.example/cost"] == 3
    assert meta["projection"]["applied"] is True
    assert ("io.modelcontextprotocol/serverInfo" in meta) == (era == NEW)


async def test_content_comes_from_the_kept_value(profiles, era):
    """Ours: text and `structuredContent` are one value; the tool's prose may hold what was left out."""
    async with attached(profiles.server, era) as wire:
        answer = await wire.call("get_profile", projection=NAME)
    assert len(answer["content"]) == 1
    assert text_of(answer) == answer["structuredContent"] == {"name": "Ann"}
    assert json.dumps(answer).count("Rome") == 0


@pytest.mark.parametrize("request_", [NAME, {"mode": "view", "view": "minimal"}])
async def test_other_blocks_are_dropped_and_counted(era, request_):
    """Ours: an image of a profile is a profile."""
    made = lowlevel(t=tool(SCHEMA, structured(PROFILE, IMAGE, LINK), meta=louver.hint(VIEWS)))
    async with attached(made.server, era) as wire:
        answer = await wire.call("t", projection=request_)
    assert [block["type"] for block in answer["content"]] == ["text"]
    assert receipt_of(answer)["contentDropped"] == 2


async def test_exclude_keeps_other_blocks_and_drops_prose(era):
    """Ours."""
    made = lowlevel(t=tool(SCHEMA, structured(PROFILE, IMAGE, LINK)))
    async with attached(made.server, era) as wire:
        answer = await wire.call("t", projection={"mode": "exclude", "fields": ["email"]})
    assert [block["type"] for block in answer["content"]] == ["text", "image", "resource_link"]
    assert text_of(answer) == answer["structuredContent"]
    assert "contentDropped" not in receipt_of(answer)


async def test_an_author_can_keep_the_content(era):
    """Ours: `content: "keep"`, for a tool whose text says less than its structure."""
    result = structured(PROFILE, IMAGE)
    made = lowlevel(t=tool(SCHEMA, result, meta=louver.hint(content="keep")))
    async with attached(made.server, era) as wire:
        answer = await wire.call("t", projection=NAME)
    assert answer["structuredContent"] == {"name": "Ann"}
    assert answer["content"] == result["content"]
    assert "contentDropped" not in receipt_of(answer)


async def test_a_default_view_answers_calls_that_ask_for_nothing(profiles, era):
    """Ours: the receipt stands under the literal key; a request of the client's goes first."""
    views = {"get_profile": {"minimal": ["id"]}}
    async with attached(profiles.server, era, views=views, default_views={"get_profile": "minimal"}) as wire:
        default = await wire.call("get_profile")
        asked = await wire.call("get_profile", **{EXTENSION: NAME})
        everything = await wire.call("get_profile", projection={"mode": "include", "fields": ["*"]})
    assert default["structuredContent"] == {"id": 7}
    assert receipt_of(default)["view"] == "minimal"
    assert asked["structuredContent"] == {"name": "Ann"}
    assert everything["structuredContent"] == PROFILE


async def test_the_wrapper_of_the_sdk_is_looked_through(era):
    """Ours: `name` and `result.name` both work, and the wrapper stays on the wire."""
    schema = {
        "type": "object",
        "properties": {"result": {"type": "array", "items": SCHEMA}},
        "required": ["result"],
    }
    made = lowlevel(t=tool(schema, structured({"result": [PROFILE]})))
    async with attached(made.server, era) as wire:
        for path in ("name", "result.name"):
            answer = await wire.call("t", projection={"mode": "include", "fields": [path]})
            assert answer["structuredContent"] == {"result": [{"name": "Ann"}]}
            assert receipt_of(answer)["fields"] == ["result.name"]


async def test_json_text_without_a_schema_is_projected_as_text(era):
    """Ours: no `structuredContent` is added; the schema is inferred, and knows of no field that cannot be."""
    made = lowlevel(t=tool(None, text(json.dumps(PROFILE))))
    async with attached(made.server, era) as wire:
        answer = await wire.call("t", projection={"mode": "include", "fields": ["name", "nope"]})
    assert "structuredContent" not in answer
    assert text_of(answer) == {"name": "Ann"}
    assert receipt_of(answer)["schemaSource"] == "inferred"
    assert "unmatched" not in receipt_of(answer)


async def test_json_text_beside_a_declared_schema_is_projected_too(era):
    """Ours: a tool that declares structure and answers with text, of which the schema says nothing."""
    made = lowlevel(t=tool(SCHEMA, text(json.dumps({**PROFILE, "name": ["Ann"]}))))
    async with attached(made.server, era) as wire:
        answer = await wire.call("t", projection=NAME)
    assert text_of(answer) == {"name": ["Ann"]}
    assert receipt_of(answer)["schemaSource"] == "inferred"


STRING = {"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]}


@pytest.mark.parametrize("path", ["name", "result.name"])
async def test_a_string_that_holds_json_keeps_a_string_that_holds_the_kept_json(era, path):
    """Ours: a `-> str` tool."""
    made = lowlevel(t=tool(STRING, structured({"result": json.dumps(PROFILE)})))
    async with attached(made.server, era) as wire:
        answer = await wire.call("t", projection={"mode": "include", "fields": [path]})
    assert answer["structuredContent"] == {"result": '{"name":"Ann"}'}
    assert text_of(answer) == {"name": "Ann"}


async def test_a_string_that_holds_prose_is_not_let_through(era):
    """Ours: a field of a scalar is missing, and what was not asked for is not sent. `strict` cannot foresee it."""
    made = lowlevel(t=tool(STRING, structured({"result": "Ann lives in Rome."})))
    async with attached(made.server, era) as wire:
        answer = await wire.call("t", projection={**NAME, "strict": True})
    assert answer["structuredContent"] == {"result": None}
    assert receipt_of(answer)["fields"] == receipt_of(answer)["unmatched"] == ["result.name"]
    assert "Rome" not in json.dumps(answer)


async def test_equal_requests_give_equal_bytes(profiles, era):
    """Ours: include writes members in the schema's order, whatever the order of the request."""
    async with attached(profiles.server, era) as wire:
        one = await wire.call("get_profile", projection={"mode": "include", "fields": ["items.id", "id", "name"]})
        other = await wire.call(
            "get_profile", projection={"fields": ["/name", "$.items[*].id", "id", "id"], "mode": "include"}
        )
    assert list(one["structuredContent"]) == ["id", "name", "items"]
    one_receipt, other_receipt = receipt_of(one), receipt_of(other)
    assert one["content"] == other["content"]
    assert one_receipt["fields"] == ["id", "name", "items.id"]
    assert other_receipt["fields"] == ["id", "name", "items.*.id"]


async def test_a_tool_whose_schema_changed_after_listing_heals_itself(era):
    """Ours: the server is asked again before an answer is called invalid."""
    made = lowlevel(t=tool(SCHEMA))
    async with attached(made.server, era) as wire:
        await wire.call("t", projection=NAME)
        changed = {"type": "object", "properties": {"name": {"type": "integer"}}, "required": ["name"]}
        made.tools["t"] = tool(changed, structured({"name": 5, "email": "x"}))
        answer = await wire.call("t", projection=NAME)
    assert answer["structuredContent"] == {"name": 5}
    assert receipt_of(answer)["projectedSchema"]["properties"]["name"] == {"type": "integer"}
    assert made.listings == 2
    assert len(made.calls) == 2


async def test_a_tool_that_was_added_after_listing_is_found():
    """Ours."""
    made = build("MCPServer")
    async with attached(made.server, OLD) as wire:
        await wire.tools()

        @made.server.tool()
        def later() -> dict[str, int]:
            return {"a": 1, "b": 2}

        answer = await wire.call("later", projection={"mode": "include", "fields": ["a"]})
    assert answer["structuredContent"] == {"a": 1}


async def test_a_server_that_answers_in_models_is_projected_alike(era):
    """Ours: the SDK hands wire objects to a middleware, other frameworks their models."""
    made = lowlevel(t=tool(SCHEMA))

    async def in_models(ctx, call_next):
        result = await call_next(ctx)
        models = {"tools/call": types.CallToolResult, "tools/list": types.ListToolsResult}
        return models[ctx.method].model_validate(result) if ctx.method in models else result

    made.server.middleware.insert(0, in_models)
    async with attached(made.server, era) as wire:
        answer = await wire.call("t", projection=NAME)
        plain = await wire.call("t")
    assert answer["structuredContent"] == {"name": "Ann"}
    assert receipt_of(answer)["applied"] is True
    assert plain["structuredContent"] == PROFILE


@pytest.mark.parametrize("seat", ["structured", "text"])
async def test_what_a_server_has_sent_stays_as_it_was(era, seat):
    """Ours: a gateway sends it on in its own text if nothing has changed it, and compares with what came."""
    made = lowlevel(
        t=tool(SCHEMA if seat == "structured" else None, None if seat == "structured" else text(json.dumps(PROFILE)))
    )
    came = []

    async def keep(request, call_next):
        result = await call_next(request)
        if request.method == "tools/call":
            came.append((result, deepcopy(result)))
        return result

    step = ProjectionStep(
        made.server.server_info_stamp, ToolRegistry(ToolViews(None, {})), RequestOptions("off"), "relaxed"
    )
    made.server.middleware.insert(0, StepMiddleware(in_order([step, keep], call_server)))
    async with connect(made.server, era) as wire:
        assert text_of(await wire.call("t", projection=NAME)) == {"name": "Ann"}
    ((result, before),) = came
    assert result == before
