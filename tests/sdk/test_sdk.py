"""Steps in front of a server of the MCP SDK, and each use of what is private to the SDK."""

from __future__ import annotations

from dataclasses import replace

import anyio
import mcp_types as types
import pytest
from mcp.server import Server
from mcp.server.auth.provider import AccessToken
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, PromptsListChanged, ToolsListChanged

import louver
from fixtures.failsafe import A_WHILE_S
from louver.policy.principal import NOBODY, Principal
from louver.sdk.adapter import SdkConnection, StepMiddleware, call_server, identity_of, on_tools_published, words
from louver.steps.request import ANONYMOUS, in_order
from steps.conftest import era as era
from steps.profiles import PROFILE, SCHEMA, lowlevel, tool
from steps.reading import descriptions
from steps.test_callers import caller
from steps.wire import CLIENT, NEW, OLD, PROGRAM, connect

pytestmark = pytest.mark.anyio


def of_token(**said):
    """Whose request it is that has this token."""
    return identity_of(AccessToken(token="", **{"client_id": "desk", "scopes": [], **said}))


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({}, Principal(client="desk")),
        ({"client_id": ""}, NOBODY),
        ({"scopes": ["a", "b"]}, Principal(client="desk", scopes=frozenset({"a", "b"}))),
        ({"subject": "ann"}, Principal("ann", "desk")),
        ({"subject": "ann", "claims": {"iss": "https://id"}}, Principal("https://id#ann", "desk")),
        ({"claims": {"iss": "https://id"}}, Principal(client="desk")),
        ({"claims": {"roles": ["a", "b"]}}, Principal(client="desk", roles=frozenset({"a", "b"}))),
        ({"claims": {"roles": "a  b"}}, Principal(client="desk", roles=frozenset({"a", "b"}))),
    ],
)
def test_a_token_says_who_it_is(said, expected):
    """Ours."""
    assert of_token(**said).principal == expected


@pytest.mark.parametrize("said", [None, True, 7, {"admin": True}, [], [["admin"], 1, None]])
def test_roles_of_another_form_are_none(said):
    """Ours: nobody gets a role by chance."""
    assert words(said) == frozenset()


def test_subjects_of_two_issuers_are_two_principals():
    """RFC 7519 section 4.1.2: a subject is unique within its issuer."""
    one, other = (of_token(subject="ann", claims={"iss": issuer}) for issuer in ("https://a", "https://b"))
    assert one.principal != other.principal
    assert one.key != other.key


class Seen:
    """What a step sees of the requests that pass it."""

    def __init__(self, change=lambda request: request):
        self.requests, self._change = [], change

    async def step(self, request, call_next):
        self.requests.append(request)
        return await call_next(self._change(request))

    def before(self, server):
        server.middleware.insert(0, StepMiddleware(in_order([self.step], call_server)))
        return server


async def test_a_request_is_of_the_principal_of_its_token(era):
    """Ours: requests are answered in tasks of the transport; without a token nobody is known."""
    seen = Seen()
    async with connect(seen.before(lowlevel(t=tool(SCHEMA)).server), era) as wire:
        with caller("other"):
            await wire.call("t")
        await wire.call("t")
    first, second = (request.identity for request in seen.requests[-2:])
    assert (first.principal, second) == (Principal(client="other"), ANONYMOUS)


async def test_a_request_holds_what_the_client_has_sent(era):
    """Ours: of this revision, over this connection; in memory there is no address."""
    seen = Seen()
    async with connect(seen.before(lowlevel(t=tool(SCHEMA)).server), era) as wire:
        await wire.call("t", {"user_id": 1}, note="x")
        await wire.request("tools/list")
        await wire.notify("notifications/progress")
        await wire.request("tools/list")
    call, listed, note, again = seen.requests[-4:]
    assert (call.method, call.revision, call.address) == ("tools/call", era, None)
    assert (call.params["name"], call.params["arguments"]) == ("t", {"user_id": 1})
    assert call.params["_meta"]["note"] == "x"
    assert len({call.id, listed.id, again.id}) == 3
    assert (note.id, note.params) == (None, {})


async def test_a_step_changes_what_the_server_gets_and_no_step_nothing(era):
    """Ours: what it takes out of `_meta` reaches no handler either."""
    got = []

    async def look(ctx, call_next):
        if ctx.method.startswith("tools/"):
            got.append((ctx.method, dict(ctx.params or {}), ctx.meta))
        return await call_next(ctx)

    def changed(request):
        if request.method != "tools/call" or "change" not in request.params["_meta"]:
            return request
        kept = {key: said for key, said in request.params["_meta"].items() if key != "change"}
        return replace(request, params={**request.params, "arguments": {"user_id": 2}, "_meta": kept})

    made = lowlevel(t=tool(SCHEMA))
    made.server.middleware.append(look)
    async with connect(Seen(changed).before(made.server), era) as wire:
        await wire.call("t", {"user_id": 1}, keep=1)
        await wire.call("t", {"user_id": 1}, keep=1, change=1)
    (_, plain, plain_meta), (_, other, other_meta) = got
    assert (plain["arguments"], other["arguments"]) == ({"user_id": 1}, {"user_id": 2})
    assert plain["_meta"] == plain_meta == other["_meta"] == other_meta
    assert made.calls == [("t", {"user_id": 1}), ("t", {"user_id": 2})]


async def test_a_step_asks_the_server_something_else_for_the_same_client(era):
    """Ours: a call may need the list first."""
    listed = []

    async def step(request, call_next):
        if request.method == "tools/call":
            meta = {"_meta": request.params["_meta"]} if "_meta" in request.params else {}
            listed.append(await call_next(replace(request, method="tools/list", params=meta)))
        return await call_next(request)

    made = lowlevel(t=tool(SCHEMA))
    made.server.middleware.insert(0, StepMiddleware(in_order([step], call_server)))
    async with connect(made.server, era) as wire:
        assert (await wire.call("t"))["structuredContent"] == PROFILE
    assert [each["name"] for each in listed[0]["tools"]] == ["t"]


async def test_a_result_is_a_dict_that_a_step_may_change(era):
    """Ours: the SDK hands on the dict, the model or the nothing of whoever answered."""
    kept = {"content": []}
    answers = {"dict": kept, "model": types.CallToolResult(content=[], structured_content={"a": None}), "none": None}

    async def answer(ctx, call_next):
        return answers[ctx.params["name"]] if ctx.method == "tools/call" else await call_next(ctx)

    found = []

    async def step(request, call_next):
        result = await call_next(request)
        if request.method == "tools/call":
            found.append(dict(result))
            result["changed"] = True
        return result

    made = lowlevel()
    made.server.middleware += [StepMiddleware(in_order([step], call_server)), answer]
    async with connect(made.server, era) as wire:
        for name in answers:
            assert (await wire.call(name))["changed"] is True
    assert (found[0], found[2]) == ({"content": []}, {})
    assert found[1]["structuredContent"] == {"a": None}
    assert kept == {"content": []}


async def test_steps_of_one_middleware_go_in_their_order(era):
    went = []

    def named(name):
        async def step(request, call_next):
            if request.method == "tools/call":
                went.append(name)
            return await call_next(request)

        return step

    made = lowlevel(t=tool(SCHEMA))
    made.server.middleware.append(StepMiddleware(in_order([named("a"), named("b")], call_server)))
    async with connect(made.server, era) as wire:
        await wire.call("t")
    assert went == ["a", "b"]


# What is private to the SDK


async def test_what_belongs_to_a_connection_is_where_it_is_looked_for():
    """Ours, pinned: the SDK has no public way to its state."""
    made = lowlevel(t0=tool(SCHEMA))
    louver.attach(made.server, disclosure="enforce")
    seen = []

    async def look(ctx, call_next):
        seen.append((ctx.session._connection.state, ctx.session.client_params))
        return await call_next(ctx)

    made.server.middleware.insert(0, look)
    async with connect(made.server, OLD) as wire:
        await descriptions(wire, "t0")
    state, params = seen[-1]
    assert state["dev.louver/disclosure"][None].keys() == {"t0"}
    assert params is not None


async def test_in_2025_all_requests_of_a_connection_share_its_state_and_its_opening():
    """Ours, pinned; before `initialize` is answered there is neither."""
    seen = Seen()
    async with connect(seen.before(lowlevel(t=tool(SCHEMA)).server), OLD) as wire:
        await wire.tools()
        await wire.call("t")
    # Read after it was answered, as all are of one connection.
    opening, *_, listed, called = (request.connection for request in seen.requests)
    assert listed.state is called.state is opening.state
    assert listed.shared is None
    assert listed.opening == {
        "protocolVersion": OLD,
        "capabilities": {"extensions": PROGRAM},
        "clientInfo": CLIENT,
    }


async def test_a_connection_of_2025_is_open_after_initialize():
    """Ours, pinned: before it the SDK refuses requests itself."""
    found = []

    async def step(request, call_next):
        found.append((request.method, request.connection.is_open, request.connection.opening is None, request.lasts))
        return await call_next(request)

    made = lowlevel(t=tool(SCHEMA))
    made.server.middleware.append(StepMiddleware(in_order([step], call_server)))
    async with connect(made.server, OLD) as wire:
        await wire.tools()
    assert found[0] == ("initialize", False, True, False)
    assert found[-1] == ("tools/list", True, False, True)


@pytest.mark.parametrize("streams", [True, False])
async def test_in_2026_requests_share_what_their_stream_has(streams):
    """Ours, pinned: the SDK makes a connection for each; over HTTP nothing is shared."""
    seen = Seen()
    async with connect(seen.before(lowlevel(t=tool(SCHEMA)).server), NEW, streams=streams) as wire:
        await wire.tools()
        await wire.call("t")
        one, other = (request.connection for request in seen.requests[-2:])
        assert one.state is not other.state
        assert one.is_open
        assert (one.shared is not None) is streams
        assert one.shared is other.shared
        if streams:
            one.shared["x"] = 1
            assert other.shared == {"x": 1}


async def test_two_streams_share_nothing():
    """Ours."""
    seen = Seen()
    server = seen.before(lowlevel(t=tool(SCHEMA)).server)
    async with connect(server, NEW) as one, connect(server, NEW) as other:
        await one.tools()
        await other.tools()
        first, second = (request.connection.shared for request in seen.requests[-2:])
        assert first is not second


async def test_what_is_to_be_done_at_the_end_of_a_connection_is_done_then():
    """Ours, pinned: its exit stack."""
    closed = []

    async def step(request, call_next):
        if request.method == "initialize":

            async def close():
                closed.append("closed")

            request.connection.when_closed(close)
        return await call_next(request)

    made = lowlevel(t=tool(SCHEMA))
    made.server.middleware.append(StepMiddleware(in_order([step], call_server)))
    async with connect(made.server, OLD) as wire:
        await wire.tools()
        assert closed == []
    assert closed == ["closed"]


@pytest.mark.parametrize("is_related", [True, False])
async def test_a_client_is_asked_for_a_request_or_beside_it_once_it_is_ready(is_related):
    """MCP, "Lifecycle": beside its requests not before `notifications/initialized`; pinned, the SDK's event of it."""

    async def step(request, call_next):
        if request.method != "tools/call":
            return await call_next(request)
        roots = await request.connection.ask("roots/list", None, request.id if is_related else None)
        return {"content": [], "structuredContent": roots}

    made = lowlevel()
    made.server.middleware.append(StepMiddleware(in_order([step], call_server)))
    async with connect(made.server, OLD, handshake=False) as wire:
        await wire.request("initialize", {"protocolVersion": OLD, "capabilities": {"roots": {}}, "clientInfo": CLIENT})
        await wire._send({"id": 7, "method": "tools/call", "params": {"name": "t", "arguments": {}}})
        if not is_related:
            with anyio.move_on_after(A_WHILE_S) as waiting:
                await wire._receive()
            assert waiting.cancelled_caught
            await wire.notify("notifications/initialized")
        asked = await wire._receive()
        assert asked["method"] == "roots/list"
        await wire._send({"id": asked["id"], "result": {"roots": [], "x.y/own": 1}})
        assert (await wire._receive())["result"]["structuredContent"] == {"roots": [], "x.y/own": 1}


async def test_a_client_is_told_things_of_which_the_sdk_has_no_model():
    """Ours: what an upstream tells passes through, whatever it is."""

    async def step(request, call_next):
        if request.method == "tools/call":
            await request.connection.notify("notifications/x.y/own", {"a": None}, request.id)
            return {"content": []}
        return await call_next(request)

    made = lowlevel()
    made.server.middleware.append(StepMiddleware(in_order([step], call_server)))
    async with connect(made.server, OLD) as wire:
        await wire._send({"id": 7, "method": "tools/call", "params": {"name": "t", "arguments": {}}})
        told = await wire._receive()
        assert (told["method"], told["params"]) == ("notifications/x.y/own", {"a": None})
        assert (await wire._receive())["id"] == 7


async def test_the_ways_by_which_changes_are_heard_are_there():
    """Ours, pinned: neither is public in the SDK."""
    bus, heard = InMemorySubscriptionBus(), []
    server = Server("s", on_subscriptions_listen=ListenHandler(bus))
    assert server.get_request_handler("subscriptions/listen").handler._bus is bus
    unsubscribe = on_tools_published(server, lambda: heard.append("tools"))
    for event in (ToolsListChanged(), PromptsListChanged()):
        await bus.publish(event)
    unsubscribe()
    await bus.publish(ToolsListChanged())
    assert heard == ["tools"]
    assert on_tools_published(Server("s"), lambda: heard.append("never"))() is None


async def test_of_a_connection_the_latest_hears_of_changed_tools():
    """Ours, pinned: its outbound channel is replaced, once."""
    heard, channels = [], []

    async def step(request, call_next):
        if isinstance(request.connection, SdkConnection) and request.lasts:
            channels.append(request.connection._opened.outbound)
            request.connection.on_tools_changed(lambda id=request.id: heard.append(id))
        return await call_next(request)

    async def on_call_tool(ctx, _params):
        await ctx.session.send_prompt_list_changed()
        await ctx.session.send_tool_list_changed()
        return types.CallToolResult(content=[])

    server = Server("s", on_call_tool=on_call_tool)
    server.middleware.append(StepMiddleware(in_order([step], call_server)))
    async with connect(server, OLD) as wire:
        await wire.call("t")
        await wire.call("t")
    first, *_, last = channels
    assert type(first).__module__.startswith("mcp.")
    assert type(last).__module__ == "louver.sdk.outbound"
    assert len(set(heard)) == len(heard) == 2
