"""Louver's middleware in a server's own list."""

from __future__ import annotations

import json
from dataclasses import replace

import httpx2
import pytest
from mcp import Client
from mcp.server import MCPServer

import louver
from louver.errors import LouverError
from louver.middleware import FieldPolicy, LouverMiddleware
from steps.profiles import LOWLEVEL, MCPSERVER, build
from steps.wire import NEW, OLD, connect

pytestmark = pytest.mark.anyio

ASKED = {"projection": {"mode": "include", "fields": ["name"]}}
POLICY = {"version": "1", "tools": {"get_profile": {"rules": [{"name": "all", "allow": ["id", "name"]}]}}}


def options(folder):
    """Everything on, under a policy that shows two fields."""
    file = folder / "it.policy.json"
    file.write_text(json.dumps(POLICY))
    policy = FieldPolicy(file, audit=folder / "audit.db")
    return {"argument": True, "search": True, "disclosure": "on-error", "policy": policy}


async def answers(server, era):
    """What a client gets of a server, but for what is random."""
    async with connect(server, era) as wire:
        listed = await wire.request("tools/list")
        found = await wire.request("tools/list", {"query": "profile"})
        called = await wire.call("get_profile", **ASKED)
        return [wire.opening, listed, found, called]


@pytest.mark.parametrize("kind", [MCPSERVER, LOWLEVEL])
async def test_in_a_list_it_does_what_attach_does(tmp_path, kind, era):
    """Ours: among other middleware, in front of it and behind."""

    async def passes(ctx, call_next):
        return await call_next(replace(ctx, params=ctx.params))

    attached, server = build(kind).server, build(kind).server
    louver.attach(attached, **options(tmp_path))
    expected = await answers(attached, era)
    assert expected[3]["structuredContent"] == {"name": "Ann"}
    assert "email" not in json.dumps(expected)
    server.middleware.extend([passes, LouverMiddleware(**options(tmp_path)), passes])
    assert await answers(server, era) == expected


async def test_its_own_answers_name_the_server_once_it_is_known():
    """Ours: in 2026-07-28 each result says whose it is; the first answers of the server itself tell."""
    server = build(LOWLEVEL).server
    server.middleware.append(LouverMiddleware(disclosure="on-error"))
    async with connect(server, NEW) as wire:
        listed = await wire.request("tools/list")
        described = await wire.call("get_tool_descriptions", {"tools": ["get_profile"]})
    key = "io.modelcontextprotocol/serverInfo"
    assert described["_meta"][key] == listed["_meta"][key]


async def test_a_server_of_the_sdk_takes_them_when_it_is_made(era):
    """Ours: `MCPServer(middleware=[...])`."""
    server = MCPServer("s", middleware=[LouverMiddleware(default_views={"get": "one"})])

    @server.tool(meta=louver.hint(views={"one": ["a"]}))
    def get() -> dict[str, int]:
        return {"a": 1, "b": 2}

    async with Client(server, mode="legacy" if era == OLD else "auto") as client:
        assert (await client.call_tool("get")).structured_content == {"a": 1}


async def test_a_server_within_the_tool_of_another_has_its_own(era):
    """Ours: in one process a request of one can lead to a request of the other, with all that it has in its context."""
    inner = build(MCPSERVER).server
    inner.middleware.append(LouverMiddleware())
    outer = MCPServer("outer", middleware=[LouverMiddleware()])
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
    server.middleware.append(LouverMiddleware(search=True, disclosure="enforce"))
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


@pytest.mark.parametrize("wrong", [{"warnings": "yes"}, {"queries_per_minute": "9"}, {"keys": ["short"]}])
def test_what_cannot_be_an_option_is_an_error_at_once(wrong):
    """Ours: before any server has it."""
    with pytest.raises(LouverError):
        LouverMiddleware(disclosure="enforce", **wrong)
