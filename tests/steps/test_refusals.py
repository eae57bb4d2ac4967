"""What is refused before a tool runs: the exact code, for each hostile request."""

import json
import logging

import pytest
from mcp import MCPError

from fixtures.tables import in_turn
from louver.limits import MAX_PATH_CHARACTERS, MAX_PATHS, MAX_SEGMENTS
from steps.profiles import CANARY, LOWLEVEL, MCPSERVER, PROFILE, SCHEMA, build, lowlevel, structured, tool
from steps.wire import NEW, OLD, attached, connect, text_of
from tests.fixtures.company import build_server

pytestmark = pytest.mark.anyio

EXTENSION = "dev.louver/projection"


def include(*fields, **options):
    return {"mode": "include", "fields": list(fields), **options}


HOSTILE = {
    "not an object: null": (None, "INVALID_PROJECTION"),
    "not an object: a string": ("name", "INVALID_PROJECTION"),
    "not an object: a list": (["name"], "INVALID_PROJECTION"),
    "not an object: a number": (1, "INVALID_PROJECTION"),
    "not an object: true": (True, "INVALID_PROJECTION"),
    "empty": ({}, "INVALID_PROJECTION"),
    "mode missing": ({"fields": ["name"]}, "INVALID_PROJECTION"),
    "mode unknown": ({"mode": "only", "fields": ["name"]}, "INVALID_PROJECTION"),
    "mode in capitals": ({"mode": "INCLUDE", "fields": ["name"]}, "INVALID_PROJECTION"),
    "mode a list": ({"mode": ["include"], "fields": ["name"]}, "INVALID_PROJECTION"),
    "mode an object": ({"mode": {}, "fields": ["name"]}, "INVALID_PROJECTION"),
    "fields missing": ({"mode": "include"}, "INVALID_PROJECTION"),
    "fields empty": (include(), "INVALID_PROJECTION"),
    "fields a string": ({"mode": "include", "fields": "name"}, "INVALID_PROJECTION"),
    "fields an object": ({"mode": "include", "fields": {"name": 1}}, "INVALID_PROJECTION"),
    "fields null": ({"mode": "include", "fields": None}, "INVALID_PROJECTION"),
    "a number among the fields": (include("name", 1), "INVALID_PROJECTION"),
    "a list among the fields": (include(["name"]), "INVALID_PROJECTION"),
    "too many paths": (include(*(f"f{n}" for n in range(MAX_PATHS + 1))), "PROJECTION_LIMIT"),
    "too long a path": (include("x" * (MAX_PATH_CHARACTERS + 1)), "PROJECTION_LIMIT"),
    "too many segments": (include(".".join("x" * (MAX_SEGMENTS + 1))), "PROJECTION_LIMIT"),
    "too many states": (
        include(*("*." * n + "a" + ".*" * (14 - n) + ".z" for n in range(14))),
        "PROJECTION_LIMIT",
    ),
    "an empty path": (include(""), "INVALID_PROJECTION"),
    "..": (include("a..b"), "INVALID_PROJECTION"),
    ".. in a test": (include("$.items[?@..email]"), "INVALID_PROJECTION"),
    "a filter": (include("items[?(@.id==1)]"), "INVALID_PROJECTION"),
    "a function in a filter": (include("$.items[?length(@.id)==1].email"), "INVALID_PROJECTION"),
    "a function": (include("$.items.`len`"), "INVALID_PROJECTION"),
    "a slice": (include("items[0:2]"), "INVALID_PROJECTION"),
    "a slice of texts": (include("$.items['a':'b']"), "INVALID_PROJECTION"),
    "a position": (include("items[0]"), "INVALID_PROJECTION"),
    "a union of unlike things": (include("$.items['id',0]"), "INVALID_PROJECTION"),
    "a partial wildcard": (include("na*"), "INVALID_PROJECTION"),
    "an unbalanced backtick": (include("`name"), "INVALID_PROJECTION"),
    "an unbalanced quote": (include("['name]"), "INVALID_PROJECTION"),
    "NUL": (include("na\0me"), "INVALID_PROJECTION"),
    "a lone surrogate": (include("na\ud800me"), "INVALID_PROJECTION"),
    "** in an include": (include("**.email"), "INVALID_PROJECTION"),
    "something after **": ({"mode": "exclude", "fields": ["**.a.b"]}, "INVALID_PROJECTION"),
    "a wrong escape in a pointer": (include("/a~2"), "INVALID_PROJECTION"),
    "view and fields": (include("name", view="minimal"), "INVALID_PROJECTION"),
    "fields and view": ({"mode": "view", "view": "minimal", "fields": ["name"]}, "INVALID_PROJECTION"),
    "view missing": ({"mode": "view"}, "INVALID_PROJECTION"),
    "view empty": ({"mode": "view", "view": ""}, "INVALID_PROJECTION"),
    "view a list": ({"mode": "view", "view": ["minimal"]}, "INVALID_PROJECTION"),
    "view unknown": ({"mode": "view", "view": "minimal"}, "UNKNOWN_VIEW"),
    "an unknown key": (include("name", filter="x"), "INVALID_PROJECTION"),
    "__proto__": (include("name", __proto__={}), "INVALID_PROJECTION"),
    "strict a string": (include("name", strict="true"), "INVALID_PROJECTION"),
    "required a number": (include("name", required=1), "INVALID_PROJECTION"),
    "schema unknown": (include("name", schema="full"), "INVALID_PROJECTION"),
    "schema a list": (include("name", schema=["inline"]), "INVALID_PROJECTION"),
    "strict and unknown": (include("nmae", strict=True), "UNKNOWN_FIELD"),
    "strict and one unknown": (include("name", "nmae", strict=True), "UNKNOWN_FIELD"),
}
"""`Hostile inputs`, "Projection": request and code."""


async def refused(wire, tool, arguments=None, **meta):
    """The error of a refused call, as it stands in the protocol error's data."""
    with pytest.raises(MCPError) as raised:
        await wire.call(tool, arguments, **meta)
    error = raised.value.error
    assert error.code == -32602
    assert error.data["error"]["message"] == error.message
    return error.data["error"]


@pytest.mark.whole
@pytest.mark.parametrize(
    ("projection", "code", "kind", "era", "key"),
    in_turn(HOSTILE, [MCPSERVER, LOWLEVEL], [OLD, NEW], ["projection", EXTENSION]),
)
async def test_a_hostile_request_is_refused_before_the_tool_runs(kind, era, key, projection, code):
    """PRIVACY, "Hostile inputs; the answer is exact"."""
    profiles = build(kind)
    async with attached(profiles.server, era) as wire:
        assert (await refused(wire, "get_profile", **{key: projection}))["code"] == code
    assert profiles.calls == []


async def test_two_different_requests_are_refused(profiles, era):
    """PRIVACY, "both keys different"; a request and something wrong too."""
    async with attached(profiles.server, era) as wire:
        for other in (include("id"), include("name", strict=True), None, {}):
            error = await refused(wire, "get_profile", **{"projection": include("name"), EXTENSION: other})
            assert error["code"] == "INVALID_PROJECTION"
    assert profiles.calls == []


async def test_a_refused_path_says_where_and_what_would_have_been_right(profiles, era):
    """Ours: the reader is often a model that must repair its own request."""
    async with attached(profiles.server, era) as wire:
        assert await refused(wire, "get_profile", projection=include("name", "items[0].id")) == {
            "code": "INVALID_PROJECTION",
            "message": "field path 'items[0].id': expected '*]', ']' or a quoted name with its ']' at "
            "offset 6. Elements are selected from the root, behind '$.': '[*]' stands for every one",
            "path": "items[0].id",
            "offset": 6,
            "expected": "'*]', ']' or a quoted name with its ']'",
        }


async def test_an_unknown_field_of_a_strict_request_is_named(profiles, era):
    """Ours: with what was probably meant."""
    async with attached(profiles.server, era) as wire:
        error = await refused(wire, "get_profile", projection=include("nmae", "id", strict=True))
    assert error["unmatched"] == ["nmae"]
    assert error["suggestions"] == {"nmae": "name"}


async def test_a_strict_request_for_known_fields_is_answered(profiles, era):
    """Ours: the counterpart, which shows that `strict` alone refuses nothing."""
    async with attached(profiles.server, era) as wire:
        answer = await wire.call("get_profile", projection=include("name", strict=True))
    assert answer["structuredContent"] == {"name": "Ann"}
    assert len(profiles.calls) == 1


async def test_an_unknown_view_is_refused_with_those_that_there_are(profiles, era):
    """Ours."""
    views = {"get_profile": {"minimal": ["id"], "contact": ["email"]}}
    async with attached(profiles.server, era, views=views) as wire:
        error = await refused(wire, "get_profile", projection={"mode": "view", "view": "x" * 100})
    assert error["code"] == "UNKNOWN_VIEW"
    assert error["views"] == ["contact", "minimal"]
    assert len(error["view"]) == 80


async def outcome(wire, tool, arguments, **meta):
    """The answer of a call without what it says of us, or its error."""
    try:
        return await wire.call(tool, arguments, **meta)
    except MCPError as error:
        return error.error.model_dump()


async def test_an_unknown_tool_with_a_projection_is_that_unknown_tool(era):
    """PRIVACY, "a projection on an unknown tool (as the unknown tool)"."""
    projections = [include("name"), {"mode": "view", "view": "v"}, include("x", required=True)]
    by_argument = [{"a": 1, "output_fields": projection} for projection in projections]
    async with connect(build_server(), era) as wire:
        plain = await outcome(wire, "nope", {"a": 1})
        plain_by_argument = [await outcome(wire, "nope", arguments) for arguments in by_argument]
    async with attached(build_server(), era, argument=True) as wire:
        assert await outcome(wire, "nope", {"a": 1}) == plain
        for projection in projections:
            assert await outcome(wire, "nope", {"a": 1}, projection=projection) == plain
        assert [await outcome(wire, "nope", arguments) for arguments in by_argument] == plain_by_argument


async def test_a_meta_that_is_no_object_is_refused_by_the_sdk(profiles, era):
    """Ours: it holds no request; what is wrong with it is not ours to say."""
    async with attached(profiles.server, era) as wire:
        for meta in ("x", 1, ["projection"]):
            with pytest.raises(MCPError):
                await wire.request("tools/call", {"name": "get_profile", "arguments": {}, "_meta": meta})
    assert profiles.calls == []


async def test_a_name_that_is_no_text_is_refused_by_the_sdk(profiles, era):
    """Ours, likewise."""
    async with attached(profiles.server, era) as wire:
        for name in (None, 1, ["get_profile"]):
            with pytest.raises(MCPError):
                await wire.request(
                    "tools/call", {"name": name, "arguments": {}, "_meta": {"projection": include("name")}}
                )


INVALID = {
    "a number for a text": {**PROFILE, "name": 5, "email": CANARY},
    "a field that is not there": {key: value for key, value in PROFILE.items() if key != "name"},
    "a deeper value": {**PROFILE, "address": {"city": "Rome", "zip": CANARY}},
}
"""Outputs that the tool's schema does not admit."""


@pytest.mark.parametrize(("output", "channel", "era"), in_turn(INVALID, ["_meta", "argument"], [OLD, NEW]))
async def test_an_output_that_its_schema_does_not_admit_is_not_sent(era, output, channel, caplog):
    """Ours: OUTPUT_INVALID, never the full value, and no value in the message or the log."""
    made = lowlevel(t=tool(SCHEMA, structured(output)))
    caplog.set_level(logging.DEBUG, "louver")
    fields = ["name", "address.zip"]
    async with attached(made.server, era, argument=True) as wire:
        if channel == "_meta":
            answer = await wire.call("t", projection=include(*fields))
        else:
            answer = await wire.call("t", {"output_fields": fields})
    assert answer["isError"] is True
    if channel == "_meta":
        assert text_of(answer)["error"]["code"] == "OUTPUT_INVALID"
    else:
        assert "does not satisfy its projected schema" in answer["content"][0]["text"]
    assert "structuredContent" not in answer
    for value in (CANARY, "Ann", "Rome"):
        assert value not in json.dumps(answer)
        assert value not in caplog.text


@pytest.mark.parametrize("output", [[PROFILE], CANARY])
async def test_an_output_with_another_root_is_not_sent(output):
    """2026-07-28 allows any root, but this tool's schema does not."""
    made = lowlevel(t=tool(SCHEMA, structured(output)))
    async with attached(made.server, NEW) as wire:
        answer = await wire.call("t", projection=include("name"))
    assert text_of(answer)["error"]["code"] == "OUTPUT_INVALID"
    assert CANARY not in json.dumps(answer)


async def test_an_output_is_checked_as_far_as_it_is_sent(era):
    """Ours: what was left out is nobody's business."""
    made = lowlevel(t=tool(SCHEMA, structured(INVALID["a deeper value"])))
    async with attached(made.server, era) as wire:
        assert (await wire.call("t", projection=include("name")))["structuredContent"] == {"name": "Ann"}


async def test_no_refusal_holds_a_value_of_the_output(era, caplog):
    """Ours: nor does the log; what a client reads is its own request and names of the schema."""
    caplog.set_level(logging.DEBUG, "louver")
    made = lowlevel(t=tool(SCHEMA))
    async with attached(made.server, era) as wire:
        # The tool has run, so its output could be known.
        await wire.call("t", projection=include("id"))
        for projection, _ in HOSTILE.values():
            assert CANARY not in json.dumps(await refused(wire, "t", projection=projection))
    assert CANARY not in caplog.text
