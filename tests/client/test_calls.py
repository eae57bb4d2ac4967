"""Calls of honest servers: those that project, those that do not, and those that leave it at that."""

import json

import anyio
import mcp_types as types
import pytest
from jsonschema import Draft202012Validator
from mcp import MCPError
from mcp.server import MCPServer
from mcp.server.mcpserver import Context

import louver
from client.servers import PROFILE, SCHEMA, example, lowlevel, plain, structured, tool
from fixtures.failsafe import FAILSAFE_S
from fixtures.vector_server import build_server as vector_server
from fixtures.vector_server import load_vectors, one_of_each_kind
from louver.core.wrapper import is_wrapped

pytestmark = pytest.mark.anyio

USER = ("get_user_profile", {"user_id": 42})
ISSUES = ("list_issues", {"limit": 3})


def satisfies(result):
    Draft202012Validator.check_schema(result.schema)
    return Draft202012Validator(result.schema).is_valid(result.data)


# A server that projects


async def test_the_named_fields_come_and_nothing_else(mode):
    """#1704 sections 3 and 4."""
    async with louver.Client(example(), mode=mode) as client:
        result = await client.call_tool(*USER, include=["name", "address.city"])
    assert result.data == {"name": "Ruben Keller", "address": {"city": "Wellington"}}
    assert (result.applied, result.pruned) == (True, False)
    assert result.receipt.fields == ["name", "address.city"]
    assert result.raw["structuredContent"] == result.data
    assert satisfies(result)
    assert not Draft202012Validator(result.schema).is_valid({**result.data, "email": "a@example.com"})


async def test_the_rows_that_meet_a_test_come_and_no_others(mode):
    """ROWS.md; the client cannot tell why a row is there, and checks the names."""
    async with louver.Client(example(), mode=mode) as client:
        whole = (await client.call_tool("list_issues", {"limit": 20})).data["issues"]
        result = await client.call_tool("list_issues", {"limit": 20}, include=["$.issues[?@.comments > 8].number"])
    numbers = [{"number": issue["number"]} for issue in whole if issue["comments"] > 8]
    assert result.data == {"issues": numbers}
    assert [row.to_wire() for row in result.receipt.rows] == [{"path": "issues", "kept": len(numbers), "of": 20}]
    assert satisfies(result)
    assert not Draft202012Validator(result.schema).is_valid({"issues": [{"number": 1, "title": "x"}]})


async def test_an_exclude_and_a_view_of_the_author(mode):
    """#1704, "Three modes"."""
    server = MCPServer("profiles")
    views = {"minimal": ["id"], "public": {"include": ["name", "email"], "exclude": ["email"]}}

    @server.tool(meta=louver.hint(views=views, always=["id"]))
    def get_profile() -> dict[str, str]:
        return {"id": "7", "name": "Ann", "email": "ann@example.com"}

    louver.attach(server)
    async with louver.Client(server, mode=mode) as client:
        assert await client.views("get_profile") == {
            "minimal": {"include": ["id"]},
            "public": {"include": ["email", "name"], "exclude": ["email"]},
        }
        excluded = await client.call_tool("get_profile", exclude=["email"])
        seen = await client.call_tool("get_profile", view="public")
    assert excluded.data == seen.data == {"id": "7", "name": "Ann"}
    assert excluded.applied
    assert seen.receipt.view == "public"
    assert satisfies(seen)


async def test_a_shaped_view_is_taken_as_it_is_shaped(mode):
    """Ours: its members have other names than the tool has."""
    views = {"get_profile": {"flat": {"select": {"town": "address.city", "who": "name"}}}}
    made = lowlevel(get_profile=tool(SCHEMA))
    louver.attach(made.server, views=views)
    async with louver.Client(made.server, mode=mode) as client:
        result = await client.call_tool("get_profile", view="flat")
    assert result.data == {"town": "Rome", "who": "Ann"}
    assert satisfies(result)


async def test_a_view_that_only_the_server_knows_is_taken_as_its_receipt_says(mode):
    """Ours: a tool without an output schema does not list the views of files."""
    made = lowlevel(get_profile=tool())
    louver.attach(made.server, views={"get_profile": {"minimal": ["id", "name"]}})
    async with louver.Client(made.server, mode=mode) as client:
        assert await client.views("get_profile") == {}
        result = await client.call_tool("get_profile", view="minimal")
        assert result.data == {"id": 7, "name": "Ann"}
        with pytest.raises(louver.errors.UnknownView, match="'minimal'"):
            await client.call_tool("get_profile", view="full")


async def test_a_default_view_needs_no_request(mode):
    """Ours: the receipt says that it was one."""
    server = example(views={"get_user_profile": {"minimal": ["name"]}}, default_views={"get_user_profile": "minimal"})
    async with louver.Client(server, mode=mode) as client:
        result = await client.call_tool(*USER)
    assert result.applied
    assert result.data == {"name": "Ruben Keller"}


@pytest.mark.parametrize("exact", [False, True])
async def test_the_schema_is_derived_here_where_the_exact_one_is_known(mode, exact):
    """Ours: then nothing is sent of the schema."""
    async with louver.Client(example(exact=exact), mode=mode) as client:
        result = await client.call_tool(*ISSUES, include=["issues.title"])
    assert (result.receipt.projected_schema is None) is exact
    assert result.schema["required"] == ["issues"]
    assert satisfies(result)


async def test_the_listed_schema_is_the_exact_one_where_it_is_not_loosened(mode):
    """Ours: `strict` lists it, and projects for those who declare the extension."""
    async with louver.Client(example(listing="strict"), mode=mode) as client:
        result = await client.call_tool(*USER, include=["name"])
    assert result.applied
    assert result.receipt.projected_schema is None
    assert result.schema["required"] == ["name"]


async def test_a_server_that_lists_no_schemas_still_cannot_send_more(mode):
    """Ours: what may be there follows from the request."""
    async with louver.Client(example(listing="omit"), mode=mode) as client:
        result = await client.call_tool(*USER, include=["name"])
    assert result.data == {"name": "Ruben Keller"}
    assert satisfies(result)


async def test_what_the_sdk_wraps_comes_unwrapped(mode):
    """Ours: paths may leave the wrapper out, and so does the data."""
    async with louver.Client(example(), mode=mode) as client:
        some = await client.call_tool("list_labels", include=["name"])
        same = await client.call_tool("list_labels", include=["result.name"])
        every = await client.call_tool("list_labels")
    assert some.raw["structuredContent"] == {"result": some.data}
    assert some.data[0] == {"name": "bug"}
    assert same.data == some.data
    assert satisfies(some)
    assert every.data[0]["color"] == "d73a4a"
    assert satisfies(every)


async def test_json_in_a_text_is_projected_and_read(mode):
    """Ours: many tools send it so."""
    async with louver.Client(example(), mode=mode) as client:
        result = await client.call_tool("export_stats", include=["users.total"])
        again = await client.call_tool("export_stats", include=["users.total"])
    assert result.data == again.data == {"users": {"total": 200}}
    assert result.receipt.schema_source == "inferred"
    assert satisfies(result)


@pytest.mark.parametrize("said", ['{"a": "a long text"}', "a long text in words"])
@pytest.mark.parametrize("view", [{"maxString": 5}, {"select": {"x": "a"}}, {"include": ["a"], "dropNulls": True}])
async def test_text_of_a_tool_with_a_shaping_view_is_read(mode, said, view):
    """Ours: each such view adds a branch to the listed schema."""
    server = MCPServer("texts")

    @server.tool(meta=louver.hint(views={"v": view}))
    def export() -> str:
        return said

    louver.attach(server)
    async with louver.Client(server, mode=mode) as client:
        result = await client.call_tool("export", view="v")
    assert result.applied
    assert isinstance(result.data, dict) == said.startswith("{")
    assert satisfies(result)


# Views name only fields that the schema knows.
OTHERS = {"required": ["result"], "patternProperties": {"^(id|name|x)$": {}}}
LIKE_A_WRAPPER = {"type": "object", "properties": {"result": {"type": "array"}}, **OTHERS}
LIKE_A_TEXT = {"type": "object", "properties": {"result": {"type": "string"}}, **OTHERS}
IN_TEXT = {"name": "Ann", "id": 1}


@pytest.mark.parametrize(
    ("asked", "left"),
    [
        ({"exclude": ["id"]}, {"result": {"name": "Ann"}, "x": 3}),
        ({"exclude": ["/id"]}, {"result": IN_TEXT, "x": 3}),
        ({"exclude": ["result"]}, {"id": 2, "x": 3}),
        ({"include": ["id"]}, {"id": 2}),
        ({"include": ["name", "x"]}, {"result": {"name": "Ann"}, "x": 3}),
        ({"include": ["/name"]}, {}),
    ],
)
@pytest.mark.parametrize("is_text", [True, False])
async def test_json_text_with_members_beside_is_read_by_its_value(mode, asked, left, is_text):
    """TRUST.md, row 13: a string in the wrapper, or the whole output as text."""
    value = {"result": json.dumps(IN_TEXT), "id": 2, "x": 3}
    whole = {"content": [{"type": "text", "text": json.dumps({**value, "result": IN_TEXT})}]}
    made = lowlevel(t=tool(LIKE_A_WRAPPER, whole) if is_text else tool(LIKE_A_TEXT, structured(value)))
    louver.attach(made.server, views={"t": {"v": asked}})
    async with louver.Client(made.server, mode=mode) as client:
        for request in (asked, {"view": "v"}):
            result = await client.call_tool("t", **request)
            assert result.applied
            assert result.data == left


async def test_json_in_a_wrapped_string_is_read_too(mode):
    """Ours."""
    server = MCPServer("texts")

    @server.tool()
    def export() -> str:
        return '{"id": 1, "name": "Ann"}'

    louver.attach(server)
    async with louver.Client(server, mode=mode) as client:
        result = await client.call_tool("export", include=["name"])
        assert (await client.call_tool("export")).data == '{"id": 1, "name": "Ann"}'
    assert result.data == {"name": "Ann"}
    assert satisfies(result)


@pytest.mark.parametrize(
    ("asked", "data"),
    [
        ({"include": ["result"]}, {"id": 1, "name": "Ann", "at": {"city": "Rome"}}),
        ({"include": ["result.name"]}, {"id": 1, "name": "Ann"}),
        ({"include": ["name"]}, {"id": 1, "name": "Ann"}),
        ({"exclude": ["result.at"]}, {"id": 1, "name": "Ann"}),
        ({"view": "named"}, {"id": 1, "name": "Ann"}),
    ],
)
async def test_paths_into_a_wrapped_string_may_begin_with_its_member(mode, asked, data):
    """docs/reference/requests.md, "What is projected": or leave it out; so may views, and what is always added."""
    server = MCPServer("texts")

    @server.tool(meta=louver.hint(views={"named": ["result.name"]}, always=["result.id"]))
    def export() -> str:
        return '{"id": 1, "name": "Ann", "at": {"city": "Rome"}}'

    louver.attach(server)
    async with louver.Client(server, mode=mode) as client:
        result = await client.call_tool("export", **asked)
    assert result.data == data
    assert result.applied
    assert satisfies(result)
    assert result.schema["properties"].keys() <= {"id", "name", "at"}


@pytest.mark.parametrize("take", [one_of_each_kind, pytest.param(list, marks=pytest.mark.deep)])
@pytest.mark.parametrize("era", ["2025-11-25", "2026-07-28"])
async def test_every_vector_comes_as_it_says(era, take):
    """The vectors name their sources; each is called in the revision that it is for. Everyday, one of each kind."""
    found = [
        vector
        for vector in load_vectors()
        if {"request", "kept"} <= vector.keys()
        and era in vector["eras"]
        and vector.get("request")
        # Requests that this client does not write: it asks for the schema as it needs it.
        and not {"argument", "meta", "defaultView", "hint"} & vector.keys()
    ]
    assert len(found) > 100
    kinds = {"include": "include", "exclude": "exclude", "view": "view"}
    taken = take(found)
    async with louver.Client(vector_server(taken), mode={"2025-11-25": "legacy"}.get(era, "auto")) as client:
        for vector in taken:
            request = vector["request"]
            named = {kinds[request["mode"]]: request.get("fields", request.get("view"))}
            result = await client.call_tool(vector["id"], **named, strict=request.get("strict", False))
            is_inside = is_wrapped(vector.get("schema")) and result.data != vector["kept"]
            assert ({"result": result.data} if is_inside else result.data) == vector["kept"], vector["id"]
            assert satisfies(result), vector["id"]


# A server that knows nothing of projection


async def test_a_server_that_does_not_project_sends_all(mode):
    """#1704, "Graceful degradation"."""
    async with louver.Client(plain(), mode=mode) as client:
        result = await client.call_tool(*USER, include=["name"])
    assert (result.applied, result.pruned, result.receipt) == (False, False, None)
    assert len(result.data) == 15
    assert satisfies(result)


async def test_what_it_sends_can_be_taken_away_here(mode):
    """Ours: `minimize`."""
    async with louver.Client(plain(), mode=mode) as client:
        result = await client.call_tool(*USER, include=["name"], minimize=True)
        labels = await client.call_tool("list_labels", include=["name"], minimize=True)
        text = await client.call_tool("export_stats", include=["users.total"], minimize=True)
    assert (result.applied, result.pruned) == (False, True)
    assert result.data == {"name": "Ruben Keller"}
    assert result.raw["structuredContent"]["email"]
    assert satisfies(result)
    assert labels.data[0] == {"name": "bug"}
    assert text.data == {"users": {"total": 200}}


async def test_a_required_projection_is_refused_before_the_call(mode):
    """Ours: nothing of such a server says that it could."""
    made = lowlevel(get_profile=tool(SCHEMA))
    async with louver.Client(made.server, mode=mode) as client:
        with pytest.raises(louver.errors.ProjectionRequired, match="says nothing of any"):
            await client.call_tool("get_profile", include=["name"], required=True)
    assert made.calls == []


async def test_a_server_that_only_hints_is_asked_in_the_words_of_the_proposal(mode):
    """#1704 sections 2 to 4: just those members, and a receipt of just those."""
    asked = []

    async def on_list_tools(_ctx, _params):
        listed = {"name": "get", "inputSchema": {"type": "object"}}
        return types.ListToolsResult(tools=[types.Tool.model_validate(listed)])

    async def on_call_tool(_ctx, params):
        raise AssertionError("the middleware answers")

    server = lowlevel().server.__class__("literal", on_list_tools=on_list_tools, on_call_tool=on_call_tool)

    async def middleware(ctx, call_next):
        if ctx.method == "tools/call":
            asked.append(ctx.params["_meta"]["projection"])
            receipt = {"applied": True, **asked[-1], "projectedSchema": {"type": "object", "title": "Kept"}}
            done = {"resultType": "complete"} if ctx.protocol_version != "2025-11-25" else {}
            return {**done, **structured({"name": "Ann"}), "_meta": {"projection": receipt}}
        answer = await call_next(ctx)
        if ctx.method == "tools/list":
            hint = {"supported": True, "recommendedViews": {"minimal": ["name"]}}
            answer["tools"][0]["annotations"] = {"projectionHint": hint}
        return answer

    server.middleware.insert(0, middleware)
    async with louver.Client(server, mode=mode) as client:
        result = await client.call_tool("get", include=["name"], strict=True, required=True)
        assert await client.views("get") == {"minimal": {"include": ["name"]}}
    assert asked == [{"mode": "include", "fields": ["name"]}]
    assert result.applied
    assert result.data == {"name": "Ann"}
    # What the server tells admits any member; what is told here does not.
    assert not Draft202012Validator(result.schema).is_valid({"name": "Ann", "id": 7})


async def test_an_answer_without_output_is_none(mode):
    """Ours: what it says in prose stands in `raw`."""
    made = lowlevel(say=tool(result={"content": [{"type": "text", "text": "hello"}]}))
    louver.attach(made.server)
    async with louver.Client(made.server, mode=mode) as client:
        result = await client.call_tool("say", include=["name"])
        assert result.data is None
        assert not result.applied
        assert result.receipt.reason == "no_structured_output"
        with pytest.raises(louver.errors.ProjectionRequired):
            await client.call_tool("say", include=["name"], required=True)


async def test_a_kept_result_comes_as_its_preview(mode):
    """Ours: it is no projection, and satisfies no schema that is known."""
    server = example(results=louver.KeptResults(over_bytes=1000), exact=True)
    async with louver.Client(server, mode=mode) as client:
        result = await client.call_tool("list_issues", {"limit": 20}, include=["issues.body"])
        assert not result.applied
        assert result.receipt.reason == "result_kept"
        with pytest.raises(louver.errors.ProjectionRequired):
            await client.call_tool("list_issues", {"limit": 20}, include=["issues.body"], required=True)


# Refusals


@pytest.mark.parametrize("server", [example, plain])
async def test_a_strict_request_is_refused_before_the_call(mode, server):
    """Ours: with what was probably meant, whether the server projects or not."""
    async with louver.Client(server(), mode=mode) as client:
        with pytest.raises(louver.errors.UnknownField) as refused:
            await client.call_tool(*USER, include=["nmae"], strict=True)
    assert refused.value.fields == {"unmatched": ["nmae"], "suggestions": {"nmae": "name"}}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"include": ["a"], "exclude": ["b"]}, "at a time"),
        ({"exclude": ["a"], "into": dict}, "at a time"),
        ({"include": "name"}, "a list of field paths"),
        ({"include": 7}, "a list of field paths"),
        ({"include": []}, "at least one"),
        ({"view": 7}, "the view's name"),
        ({"include": ["a..b"]}, "expected a name"),
        ({"strict": True}, "go with"),
        ({"view": "nope", "minimize": True}, "cannot be done here"),
    ],
)
async def test_a_request_that_is_none_is_refused(options, said):
    """Ours."""
    async with louver.Client(plain()) as client:
        with pytest.raises(louver.errors.InvalidProjection, match=said):
            await client.call_tool(*USER, **options)


@pytest.mark.parametrize("arguments", [[1], [], "id", 7])
async def test_arguments_that_are_no_object_are_refused(mode, arguments):
    """Ours: before anything is asked of the server."""
    made = lowlevel(get=tool())
    async with louver.Client(made.server, mode=mode) as client:
        with pytest.raises(louver.LouverError, match="expected an object of arguments") as refused:
            await client.call_tool("get", arguments)
    assert refused.value.code == "INVALID_INPUT"
    assert (made.listings, made.calls) == (0, [])


async def test_an_error_of_the_tool_is_raised_with_its_content(mode):
    """Ours: what it says stands in no message of ours."""
    async with louver.Client(example(), mode=mode) as client:
        with pytest.raises(louver.errors.ToolFailed) as failed:
            await client.call_tool("always_fails", include=["name"])
    assert "this tool always fails" not in str(failed.value)
    assert "this tool always fails" in failed.value.content[0]["text"]


async def test_a_known_code_of_an_error_is_told(mode):
    """Ours: here of a tool whose description was not read."""
    async with louver.Client(example(disclosure="enforce"), mode=mode) as client:
        with pytest.raises(louver.errors.ToolFailed, match="TOOL_DESCRIPTION_REQUIRED"):
            await client.call_tool(*USER, include=["name"])


async def test_an_output_that_the_server_itself_finds_wrong_is_told(mode):
    """Ours: OUTPUT_INVALID, which is no error of the tool's own."""
    made = lowlevel(get_profile=tool(SCHEMA, structured({**PROFILE, "name": 7})))
    louver.attach(made.server)
    async with louver.Client(made.server, mode=mode) as client:
        with pytest.raises(louver.errors.OutputInvalid, match="says the server"):
            await client.call_tool("get_profile", include=["name"])


async def test_a_hint_that_cannot_be_read_counts_as_none(mode):
    """Ours: a call need not be of a view."""
    hint = {"recommendedViews": {"minimal": ["a..b"]}}
    made = lowlevel(get_profile=tool(SCHEMA, meta={"dev.louver/projectionHint": hint}))
    async with louver.Client(made.server, mode=mode) as client:
        assert await client.views("get_profile") == {}
        assert (await client.call_tool("get_profile", include=["name"])).data == PROFILE


async def test_a_tool_that_is_not_there_is_the_servers_to_refuse(mode):
    """Ours."""
    async with louver.Client(lowlevel_with_refusal(), mode=mode) as client:
        with pytest.raises(MCPError, match="no such tool"):
            await client.call_tool("nope", include=["name"])


def lowlevel_with_refusal():
    def refuse(_arguments):
        raise MCPError(code=types.INVALID_PARAMS, message="no such tool")

    made = lowlevel(nope=tool(SCHEMA, refuse))
    louver.attach(made.server)
    return made.server


async def test_what_is_raised_within_the_block_comes_out_as_it_is(mode):
    """Ours: the SDK's client puts it into a group."""
    with pytest.raises(louver.errors.UnknownField):
        async with louver.Client(example(), mode=mode) as client:
            await client.call_tool(*USER, include=["nmae"], strict=True)


async def test_a_command_that_cannot_be_started_is_told():
    """Ours: likewise."""
    with pytest.raises(OSError, match="no-such-command"):
        async with louver.Client("no-such-command --at all"):
            pass
    with pytest.raises(louver.LouverError, match="expected a URL"):
        louver.Client("")


# What is known of the tools


async def test_tools_are_listed_once(mode):
    """Ours: and not at every call."""
    made = lowlevel(get_profile=tool(SCHEMA))
    async with louver.Client(made.server, mode=mode) as client:
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(client.call_tool, "get_profile")
        await client.call_tool("get_profile", include=["name"])
    assert made.listings == 1


async def test_a_tool_that_has_changed_is_listed_again(mode):
    """Ours: an answer that does not fit is no lie before that."""
    made = lowlevel(get_profile=tool(SCHEMA))
    async with louver.Client(made.server, mode=mode) as client:
        await client.call_tool("get_profile")
        newer = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
        made.tools["get_profile"] = tool(newer, structured({"id": "seven"}))
        result = await client.call_tool("get_profile", include=["id"])
    assert result.data == {"id": "seven"}
    assert made.listings == 2


async def test_a_new_tool_is_found(mode):
    """Ours."""
    made = lowlevel(get_profile=tool(SCHEMA))
    async with louver.Client(made.server, mode=mode) as client:
        await client.call_tool("get_profile")
        made.tools["other"] = tool(SCHEMA)
        with pytest.raises(louver.errors.UnknownField):
            await client.call_tool("other", include=["nmae"], strict=True)


async def test_a_change_of_the_list_is_heard_where_the_server_tells_of_it():
    """MCP 2025-11-25: `notifications/tools/list_changed`; the client's own handler hears it too."""
    heard = anyio.Event()
    server = MCPServer("changing")

    @server.tool()
    async def change(ctx: Context) -> dict[str, int]:
        await ctx.session.send_tool_list_changed()
        return {"done": 1}

    async def handler(message):
        if isinstance(message, types.ToolListChangedNotification):
            heard.set()

    async with louver.Client(server, mode="legacy", message_handler=handler) as client:
        await client.call_tool("change")

        @server.tool()
        def other() -> dict[str, int]:
            return {"x": 1}

        with anyio.fail_after(FAILSAFE_S):
            await heard.wait()
        assert (await client.call_tool("other", include=["x"], minimize=True)).data == {"x": 1}


async def test_all_pages_of_a_list_are_read(mode):
    """Ours."""
    made = lowlevel(1, first=tool(SCHEMA), second=tool(SCHEMA), third=tool(SCHEMA))
    async with louver.Client(made.server, mode=mode) as client:
        with pytest.raises(louver.errors.UnknownField):
            await client.call_tool("third", include=["nmae"], strict=True)
