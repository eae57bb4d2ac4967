"""What a server's author or a client gets wrong, or leaves half said."""

import json
import logging
import threading

import mcp_types as types
import pytest
from jsonschema import Draft202012Validator
from mcp import Client, MCPError
from mcp.server import MCPServer, Server

import louver
from louver.limits import MAX_ON_LOOP
from steps.profiles import CANARY, PROFILE, SCHEMA, build, lowlevel, structured, text, tool
from steps.wire import OLD, attached, connect

pytestmark = pytest.mark.anyio

NAME = {"mode": "include", "fields": ["name"]}
ANN = {"type": "object", "properties": {"name": {"type": "string"}, "token": {"type": "string"}}}
WRAPPED = {"type": "object", "properties": {"result": {"type": "array", "items": ANN}}, "required": ["result"]}
TEXT = {"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]}


async def test_a_second_attach_is_refused(profiles):
    """Ours: a projection of a projection would tell a wrong receipt."""
    louver.attach(profiles.server)
    with pytest.raises(louver.LouverError, match="attached to this server already"):
        louver.attach(profiles.server)


@pytest.mark.parametrize("options", [{"views": {"get_profil": {"m": ["id"]}}}, {"default_views": {"get_profil": "m"}}])
async def test_views_for_a_tool_that_is_not_there_keep_a_server_from_starting(options):
    """Ours: a misspelt tool name is not silently ignored."""
    made = build("MCPServer")
    louver.attach(made.server, **options)
    with pytest.raises(BaseException) as stopped:  # noqa: PT011 - the SDK wraps it in groups
        async with Client(made.server):
            pass
    assert "'get_profil', which the server does not have" in _messages(stopped.value)


async def test_a_file_of_views_for_a_tool_that_is_not_there_is_logged(tmp_path, caplog):
    """Ours: one folder can hold views for several servers."""
    (tmp_path / "x.views.json").write_text(json.dumps({"tool": "other", "views": {"m": ["id"]}}))
    made = build("MCPServer")
    louver.attach(made.server, views=tmp_path)
    with caplog.at_level(logging.WARNING):
        async with Client(made.server) as client:
            await client.list_tools()
    assert "a tool 'other', which the server does not have" in caplog.text


async def test_null_as_the_argument_is_no_request(profiles, era):
    """Ours: so models leave optional arguments out; the tool does not see it either."""
    async with attached(profiles.server, era, argument=True) as wire:
        answer = await wire.call("get_profile", {"user_id": 3, "output_fields": None})
    assert answer["structuredContent"] == PROFILE
    assert "projection" not in answer.get("_meta", {})
    assert profiles.calls == [("get_profile", {"user_id": 3})]


async def test_an_argument_that_is_no_request_is_told_the_right_form(profiles, era):
    """Ours: once, in one sentence."""
    async with attached(profiles.server, era, argument=True) as wire:
        answer = await wire.call("get_profile", {"output_fields": 7})
    assert answer["isError"] is True
    assert "a list of field names, such as ['id', 'user.login']" in answer["content"][0]["text"]
    assert profiles.calls == []


@pytest.mark.parametrize("required", [True, False])
async def test_a_tool_that_is_callable_but_not_listed_is_projected(era, required):
    """Ours: hidden is no way around a projection."""
    made = lowlevel(page_size=0, hidden=tool(SCHEMA))
    async with attached(made.server, era) as wire:
        answer = await wire.call("hidden", projection={**NAME, "required": required})
    assert answer["structuredContent"] == {"name": "Ann"}
    assert answer["_meta"]["projection"]["schemaSource"] == "inferred"
    assert CANARY not in json.dumps(answer)


async def test_a_hidden_tool_that_fails_answers_as_without_projection(era):
    """PRIVACY: a projection on an unknown tool is answered as the unknown tool."""
    made = lowlevel(page_size=0, hidden=tool(None, {"isError": True, **text("no")}))
    async with connect(made.server, era) as wire:
        before = await wire.call("hidden")
    async with attached(made.server, era) as wire:
        assert await wire.call("hidden", projection=NAME) == before


async def test_a_request_that_is_none_is_refused_before_a_hidden_tool_runs(era):
    """Ours: refusals come before effects, for every tool."""
    made = lowlevel(page_size=0, hidden=tool(SCHEMA))
    async with attached(made.server, era) as wire:
        with pytest.raises(MCPError):
            await wire.call("hidden", projection={"mode": "nonsense"})
    assert made.calls == []


async def test_a_view_of_a_hidden_tool_never_gives_the_full_output(era):
    """Ours: a hidden tool has no views; that it is not simply unknown shows only when it answers."""
    made = lowlevel(page_size=0, hidden=tool(SCHEMA))
    async with attached(made.server, era) as wire:
        with pytest.raises(MCPError) as refused:
            await wire.call("hidden", projection={"mode": "view", "view": "none"})
    assert refused.value.data["error"]["code"] == "UNKNOWN_VIEW"


@pytest.mark.parametrize(("rows", "absent"), [(MAX_ON_LOOP // 2, 0), (MAX_ON_LOOP // 200, 200)])
async def test_a_large_answer_is_projected_off_the_event_loop(rows, absent, era, monkeypatch):
    """Ours: nobody waits for somebody else's large answer, nor for many names that a small one has not."""
    threads = []
    inside = louver.Plan.__call__

    def remember(plan, value):
        threads.append(threading.current_thread() is threading.main_thread())
        return inside(plan, value)

    monkeypatch.setattr(louver.Plan, "__call__", remember)
    value = {"rows": [{"id": number, "text": "x"} for number in range(rows)]}
    schema = {"type": "object", "properties": {"rows": {"type": "array", "items": {"type": "object"}}}}
    made = lowlevel(large=tool(schema, structured(value)), small=tool(schema, structured({"rows": [{"id": 1}]})))
    async with attached(made.server, era) as wire:
        wanted = {"mode": "include", "fields": ["rows.id", *(f"rows.no{number}.x" for number in range(absent))]}
        for _ in range(2):
            # Also once code was generated: what it does not expect takes as long as before.
            answer = await wire.call("large", projection=wanted)
            assert answer["structuredContent"]["rows"][-1] == {"id": rows - 1}
        await wire.call("small", projection=wanted)
    assert threads == [False, False, True]


async def test_a_server_that_lists_nothing_is_projected(era):
    """Ours: a lowlevel server may serve calls without a list."""

    async def on_call_tool(_ctx, _params):
        return types.CallToolResult.model_validate(structured(PROFILE))

    server = Server("no list", on_call_tool=on_call_tool)
    async with attached(server, era) as wire:
        assert (await wire.call("t", projection=NAME))["structuredContent"] == {"name": "Ann"}


async def test_a_field_that_was_added_since_the_last_listing_is_known_to_strict(era):
    """Ours: what an old listing does not know is looked up in a new one."""
    made = lowlevel(get_profile=tool({"type": "object", "properties": {"id": {}}}))
    async with attached(made.server, era) as wire:
        await wire.tools()
        made.tools["get_profile"] = tool(SCHEMA)
        answer = await wire.call("get_profile", projection={**NAME, "strict": True})
        assert answer["structuredContent"] == {"name": "Ann"}
        with pytest.raises(MCPError, match="not a field"):
            await wire.call("get_profile", projection={"mode": "include", "fields": ["nope"], "strict": True})


def _text_server(output):
    server = MCPServer("text")

    @server.tool(meta=louver.hint(views={"short": ["a"]}))
    def export() -> str:
        return output

    return server


async def test_json_text_in_the_wrapper_has_a_schema_that_fits_the_structured_content(era):
    """#1704 section 4: `projectedSchema` is for validating the answer's `structuredContent`."""
    async with attached(_text_server('{"a": 1, "b": 2}'), era) as wire:
        for wanted in (NAME | {"fields": ["a"]}, NAME | {"fields": ["result.a"]}, {"mode": "view", "view": "short"}):
            answer = await wire.call("export", projection=wanted)
            assert answer["structuredContent"] == {"result": '{"a":1}'}
            schema = answer["_meta"]["projection"]["projectedSchema"]
            assert Draft202012Validator(schema).is_valid(answer["structuredContent"])
            held = schema["properties"]["result"]["contentSchema"]
            assert Draft202012Validator(held).is_valid({"a": 1})
            assert not Draft202012Validator(held).is_valid({"a": 1, "b": 2})


async def test_text_in_the_wrapper_that_is_not_json_has_no_fields(era):
    """PROJECTION rule 8: nothing matched, and the wrapper stays on the wire."""
    async with attached(_text_server("in words"), era) as wire:
        answer = await wire.call("export", projection=NAME)
        whole = await wire.call("export", projection={"mode": "include", "fields": ["*"]})
    assert answer["structuredContent"] == {"result": None}
    assert "in words" not in json.dumps(answer)
    assert whole["structuredContent"] == {"result": "in words"}


def _messages(error):
    if isinstance(error, BaseExceptionGroup):
        return "\n".join(_messages(part) for part in error.exceptions)
    return str(error)


@pytest.mark.whole
@pytest.mark.parametrize(
    ("schema", "value", "left"),
    [
        (WRAPPED, {"result": [{"name": "Ann", "token": CANARY}], "token": CANARY}, {"result": [{"name": "Ann"}]}),
        # JSON text in the wrapper is looked into; members beside it are not sent.
        (TEXT, {"result": f'{{"name":"Ann","token":"{CANARY}"}}', "token": CANARY}, {"result": '{"name":"Ann"}'}),
        (TEXT, {"result": "prose", "token": CANARY}, {"result": "prose"}),
    ],
    ids=["objects", "text", "prose"],
)
async def test_an_exclude_leaves_out_the_member_beside_a_wrapper_too(era, schema, value, left):
    """TRUST.md, row 13: an open schema declares `result` alone, and the answer has more."""
    made = lowlevel(t=tool(schema, structured(value)))
    louver.attach(made.server)
    async with Client(made.server, mode="legacy" if era == OLD else era) as client:
        answer = await client.call_tool("t", {}, meta={"projection": {"mode": "exclude", "fields": ["token"]}})
    assert CANARY not in answer.model_dump_json()
    assert answer.structured_content == left
    assert answer.meta["projection"]["applied"]
    assert Draft202012Validator(answer.meta["projection"]["projectedSchema"]).is_valid(left)
