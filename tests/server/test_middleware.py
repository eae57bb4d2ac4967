"""Louver's middleware in a server's own list: in any order, beside other middleware, as one."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.server import MCPServer

import louver
from louver.errors import LouverError
from louver.middleware import (
    DisclosureMiddleware,
    PolicyMiddleware,
    ProjectionMiddleware,
    SearchMiddleware,
)
from server.profiles import LOWLEVEL, MCPSERVER, build
from server.wire import NEW, OLD, connect

pytestmark = pytest.mark.anyio

ASKED = {"projection": {"mode": "include", "fields": ["name"]}}
POLICY = {"version": "1", "tools": {"get_profile": {"rules": [{"name": "all", "allow": ["id", "name"]}]}}}


def four(folder):
    """One of each, under a policy that shows two fields."""
    file = folder / "it.policy.json"
    file.write_text(json.dumps(POLICY))
    return [
        ProjectionMiddleware(argument=True),
        SearchMiddleware(),
        DisclosureMiddleware("advise"),
        PolicyMiddleware(file, audit=folder / "audit.db"),
    ]


def refused(message):
    """The server refuses: in a group, since the connection ends with it."""
    return pytest.RaisesGroup(pytest.RaisesExc(MCPError, match=message), flatten_subgroups=True)


async def answers(server, era):
    """What a client gets of a server, but for what is random."""
    async with connect(server, era) as wire:
        listed = await wire.request("tools/list")
        found = await wire.request("tools/list", {"query": "profile"})
        called = await wire.call("get_profile", **ASKED)
        return [wire.opening, listed, found, called]


@pytest.mark.parametrize("kind", [MCPSERVER, LOWLEVEL])
async def test_each_feature_is_a_middleware_of_its_own(kind, era):
    """Ours: none needs another."""
    for made, shows in (
        (ProjectionMiddleware(), lambda opening, listed, found, called: called["structuredContent"] == {"name": "Ann"}),
        (SearchMiddleware(), lambda opening, listed, found, called: "Tool search" in opening["instructions"]),
        (
            DisclosureMiddleware("advise"),
            lambda opening, listed, found, called: listed["tools"][-1]["name"] == "get_tool_descriptions",
        ),
    ):
        server = build(kind).server
        server.middleware.append(made)
        got = await answers(server, era)
        assert shows(*got), (type(made).__name__, got)


@pytest.mark.parametrize("kind", [MCPSERVER, LOWLEVEL])
async def test_their_order_does_not_matter(tmp_path, kind, era):
    """Ours: an order of their own, with other middleware among them."""

    async def passes(ctx, call_next):
        return await call_next(replace(ctx, params=ctx.params))

    attached = build(kind).server
    policy = four(tmp_path)[3]
    louver.attach(attached, argument=True, search=True, disclosure="advise", policy=policy)
    expected = await answers(attached, era)
    assert expected[3]["structuredContent"] == {"name": "Ann"}
    assert "email" not in json.dumps(expected)
    for order in permutations(range(4)):
        made = four(tmp_path)
        server = build(kind).server
        for number in order:
            server.middleware.extend([passes, made[number]])
        assert await answers(server, era) == expected, order


async def test_a_server_of_the_sdk_takes_them_when_it_is_made(era):
    """Ours: `MCPServer(middleware=[...])`."""
    server = MCPServer("s", middleware=[SearchMiddleware(), ProjectionMiddleware(default_views={"get": "one"})])

    @server.tool(meta=louver.hint(views={"one": ["a"]}))
    def get() -> dict[str, int]:
        return {"a": 1, "b": 2}

    async with Client(server, mode="legacy" if era == OLD else "auto") as client:
        assert (await client.call_tool("get")).structured_content == {"a": 1}


async def test_two_of_a_kind_are_refused(era):
    """Ours: by the first request; which options count could not be told."""
    server = build(LOWLEVEL).server
    server.middleware += [SearchMiddleware(), SearchMiddleware()]
    with refused("the server has 2 of SearchMiddleware: expected one, with all options"):
        await answers(server, era)


async def test_one_that_another_middleware_has_hidden_is_refused(tmp_path, era, caplog):
    """Ours: a policy that the first request did not reach must not be left out without a word."""

    async def hides(ctx, call_next):
        if ctx.method in ("initialize", "server/discover"):
            opening = {"capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
            versions = (
                {"protocolVersion": OLD} if era == OLD else {"supportedVersions": [NEW], "resultType": "complete"}
            )
            return {**opening, **versions, "ttlMs": 0, "cacheScope": "private"}
        return await call_next(ctx)

    server = build(LOWLEVEL).server
    server.middleware += [ProjectionMiddleware(), hides, four(tmp_path)[3]]
    with refused("PolicyMiddleware was not reached by the server's first request"):
        async with connect(server, era) as wire:
            await wire.call("get_profile")
    assert "PolicyMiddleware was not reached" in caplog.text


async def test_one_that_comes_after_attach_is_refused(era):
    """Ours: its options belong to `attach`."""
    server = build(LOWLEVEL).server
    louver.attach(server)
    server.middleware.append(SearchMiddleware())
    with refused("its options into 'louver.attach', if the server is attached"):
        await answers(server, era)
    with pytest.raises(LouverError, match="attached to this server already"):
        louver.attach(server)


async def test_a_middleware_that_refuses_the_first_request_has_the_word(era):
    """Ours: they find each other as soon as a request is let through."""
    refusing = [True]

    async def refuses(ctx, call_next):
        if refusing[0]:
            raise MCPError(-32001, "not yet")
        return await call_next(ctx)

    server = build(LOWLEVEL).server
    server.middleware += [ProjectionMiddleware(), refuses, SearchMiddleware()]
    with refused("not yet"):
        await answers(server, era)
    refusing[0] = False
    assert (await answers(server, era))[3]["structuredContent"] == {"name": "Ann"}


async def test_a_server_within_the_tool_of_another_has_its_own(era):
    """Ours: in one process a request of one can lead to a request of the other, with all that it has in its context."""
    inner = build(MCPSERVER).server
    inner.middleware.append(ProjectionMiddleware())
    outer = MCPServer("outer", middleware=[ProjectionMiddleware()])
    mode = "legacy" if era == OLD else "auto"

    @outer.tool()
    async def ask() -> dict[str, str]:
        async with Client(inner, mode=mode) as client:
            answer = await client.call_tool("get_profile", meta=ASKED)
        return {"got": json.dumps(answer.structured_content), "rest": "x"}

    async with Client(outer, mode=mode) as client:
        answer = await client.call_tool("ask", meta={"projection": {"mode": "include", "fields": ["got"]}})
    assert answer.structured_content == {"got": '{"name": "Ann"}'}


async def test_a_worker_may_get_a_call_before_anything_else():
    """Ours: over HTTP without sessions the handshake was with another worker."""
    server = build(MCPSERVER).server
    server.middleware.extend([SearchMiddleware(), ProjectionMiddleware(), DisclosureMiddleware("enforce")])
    app = server.streamable_http_app(stateless_http=True, json_response=True)
    call = {"name": "get_tool_descriptions", "arguments": {"tools": ["get_profile"]}}
    headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": OLD}
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1:8000") as client,
    ):

        async def post(params):
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            return (await client.post("/mcp", json=body, headers=headers)).json()["result"]

        described = json.loads((await post(call))["content"][0]["text"])["get_profile"]
        assert (await post({"name": "get_profile", "arguments": {}}))["isError"]
        grant = described["inputSchema"]["properties"]["grant"]["const"]
        answer = await post({"name": "get_profile", "arguments": {"grant": grant}, "_meta": ASKED})
    assert answer["structuredContent"] == {"name": "Ann"}


@pytest.mark.parametrize("make", [ProjectionMiddleware, SearchMiddleware, DisclosureMiddleware])
def test_what_cannot_be_an_option_is_an_error_at_once(make):
    """Ours: before any server has it."""
    wrong = {
        ProjectionMiddleware: {"warnings": "yes"},
        SearchMiddleware: {"queries_per_minute": "9"},
        DisclosureMiddleware: {"keys": ["short"]},
    }
    with pytest.raises(LouverError):
        make(**wrong[make])
