"""The discovery tools, as a stock client meets them."""

from __future__ import annotations

import json

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

from gateway.builtin.test_service import SERVERS
from gateway.gateways import LOUVER
from gateway.served import config, fixture, serving
from louver.gateway.builtin.step import BuiltInCall
from louver.gateway.builtin.tools import DIRECT_INSTRUCTIONS
from louver.gateway.clients.client import ClientRequest, client_of
from louver.gateway.config.model import Config
from louver.gateway.front.connections import StatelessConnection
from louver.gateway.gateway import Gateway
from louver.gateway.in_process import sdk_server
from louver.lua import sandbox
from louver.steps.request import Request
from steps.wire import NEW, connect

pytestmark = pytest.mark.anyio

NO_SCRIPTS = ["--exposure", "discovery", "--no-execute"]
SOME = [fixture("everything")["command"], *fixture("everything")["args"]]
MODES = pytest.mark.parametrize("mode", ["legacy", "auto"])


def text_of(answer):
    return answer.content[0].text


def error_of(answer):
    assert answer.is_error
    assert answer.structured_content is None
    return json.loads(text_of(answer))["error"]


async def lists_its_tools(client):
    """And nothing of the servers' own."""
    listed = (await client.list_tools()).tools
    assert [tool.name for tool in listed] == [
        "list-servers",
        "list-server-tools",
        "search-tools",
        "tool-details",
        "inspect-tool-response",
    ]
    said = await client.call_tool("list-servers", {})
    assert text_of(said).startswith("Available MCP Servers:\n\n## calculator (Lua: calculator)\n")
    assert said.structured_content["servers"][0]["luaName"] == "calculator"
    return {tool.name: tool for tool in listed}


@MODES
async def test_over_http(tmp_path, mode):
    """003 section "Gateway Tools"."""
    with serving(*config(tmp_path, SERVERS), *NO_SCRIPTS) as served:
        async with Client(served.url, mode=mode) as client:
            tools = await lists_its_tools(client)
    assert all(tool.annotations.read_only_hint for tool in tools.values())
    assert all(tool.output_schema for tool in tools.values())


@MODES
async def test_over_stdio(tmp_path, mode):
    """GATEWAY.md: the configuration says it as well as the command."""
    options = config(tmp_path, SERVERS, exposure="discovery", execute="off")
    server = StdioServerParameters(command=LOUVER[0], args=[*LOUVER[1:], *options])
    async with Client(stdio_client(server), mode=mode) as client:
        await lists_its_tools(client)


async def test_models_are_not_told_of_scripts_that_cannot_be_run(monkeypatch):
    """Ours: without Lua the tools are called by their names."""
    monkeypatch.setattr(sandbox, "find_spec", lambda name: None)
    gateway = Gateway(Config.from_command(SOME), single_client=False, exposure="discovery")
    try:
        async with connect(sdk_server(gateway.answer), NEW) as wire:
            assert "execute" not in await wire.tools()
            assert wire.opening["instructions"] == DIRECT_INSTRUCTIONS
    finally:
        await gateway.close()


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    with serving(*config(tmp_path_factory.mktemp("served"), SERVERS), *NO_SCRIPTS) as served:
        yield served.url


@pytest.fixture
async def client(url):
    async with Client(url) as client:
        yield client


async def test_the_texts_are_laid_out_as_in_the_examples(client):
    """003 sections "1." to "3.", "Example Output"."""
    servers = await client.call_tool("list-servers", {})
    assert text_of(servers).startswith(
        "Available MCP Servers:\n\n"
        "## calculator (Lua: calculator)\nA simple calculator server\nVersion: 1.0.0\n\n"
        "## data-server (Lua: data_server)\nProvides data access tools\n"
    )
    tools = await client.call_tool("list-server-tools", {"luaServerName": "calculator"})
    assert text_of(tools) == (
        "Tools for calculator:\n\n"
        "- add (Lua: add): Add two numbers together\n"
        "- multiply (Lua: multiply): Multiply two numbers\n"
        "- divide (Lua: divide): Divide two numbers"
    )
    details = await client.call_tool("tool-details", {"luaServerName": "calculator", "luaToolName": "add"})
    assert text_of(details).startswith(
        "## add\n\nAdd two numbers together\n\n### Parameters\n\n- a (number, required)\n- b (number, required)\n"
    )


async def test_without_scripts_tools_are_called_by_their_full_names(client):
    """GATEWAY.md: they are not listed, and called all the same."""
    details = await client.call_tool("tool-details", {"luaServerName": "calculator", "luaToolName": "add"})
    name = details.structured_content["callName"]
    assert repr(name) in text_of(details)
    assert (await client.call_tool(name, {"a": 1, "b": 2})).structured_content == {"result": 3}
    kept = await client.call_tool("data-server__list_people", {"output_fields": ["people.id"]})
    assert kept.structured_content == {"people": [{"id": 0}, {"id": 1}, {"id": 2}]}


async def test_the_tools_are_projected_like_any_tool(client):
    """GATEWAY.md: by `_meta`, with a derived schema."""
    meta = {"projection": {"mode": "include", "fields": ["servers.luaName"]}}
    answer = await client.call_tool("list-servers", {}, meta=meta)
    assert answer.structured_content == {
        "servers": [{"luaName": "calculator"}, {"luaName": "data_server"}, {"luaName": "odd"}]
    }
    assert "luaName" in str(answer.meta["projection"]["projectedSchema"])


async def test_models_are_told_of_the_steps(client):
    """003 section "Optimization Tips for Agents"; GATEWAY.md: instead of what each server says."""
    assert "search-tools by a short line for each thing to do" in client.instructions
    assert "Keeps records" not in client.instructions


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("tool-details", {"luaServerName": "calculator"}, "'luaToolName' is missing: 'tool-details' takes"),
        ("list-server-tools", {"luaServerName": 3}, "'luaServerName': expected a text"),
        ("list-server-tools", {"luaServerName": "x", "limit": 3}, "'limit' is no argument"),
        ("inspect-tool-response", {"luaServerName": "a", "luaToolName": "b", "sampleArgs": [1]}, "expected an object"),
        ("inspect-tool-response", {"luaServerName": "a", "luaToolName": "b", "full": 1}, "expected true or false"),
        ("list-servers", {"x": 1}, "'list-servers' takes no arguments"),
    ],
)
async def test_wrong_arguments_are_told_with_what_would_be_right(client, tool, arguments, said):
    """Ours: and nothing has run."""
    error = error_of(await client.call_tool(tool, arguments))
    assert error["code"] == "INVALID_ARGUMENTS"
    assert said in error["message"]


async def test_refusals_are_for_models_to_read(client):
    """GATEWAY.md."""
    there = {"luaServerName": "calculator", "luaToolName": "divide"}
    assert error_of(await client.call_tool("inspect-tool-response", there))["code"] == "NOT_READ_ONLY"
    unknown = error_of(await client.call_tool("list-server-tools", {"luaServerName": "calculater"}))
    assert (unknown["code"], unknown["nearest"]) == ("UNKNOWN_NAME", ["calculator"])


async def test_inspection_can_be_allowed_for_all_tools(tmp_path):
    """GATEWAY.md: by the configuration."""
    with serving(*config(tmp_path, SERVERS, inspect="all"), *NO_SCRIPTS) as served:
        async with Client(served.url) as client:
            arguments = {"luaServerName": "calculator", "luaToolName": "divide", "sampleArgs": {"a": 1, "b": 0}}
            answer = await client.call_tool("inspect-tool-response", arguments)
            inspect = {tool.name: tool for tool in (await client.list_tools()).tools}["inspect-tool-response"]
    assert error_of(answer)["code"] == "TOOL_ERROR"
    assert "zero" not in text_of(answer)
    assert "cannot divide by zero" in answer.content[1].text
    assert inspect.annotations.read_only_hint is False


async def test_an_unknown_tool_is_unknown(client):
    """Ours: as before a server."""
    with pytest.raises(MCPError):
        await client.call_tool("nothing__at_all", {})


async def test_a_request_of_a_built_in_tool_stays_in_the_trace_of_its_caller():
    """SEP-414; what else its caller has put into `_meta` is of the call itself."""
    meta = {"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "progressToken": 7}
    request = Request("tools/call", {"name": "execute", "_meta": meta}, 1, NEW, StatelessConnection(None))
    asked = []

    async def call_next(inner):
        asked.append(inner.params["_meta"])
        return {}

    await BuiltInCall(ClientRequest(client_of(request), request), {}, call_next).ask("tools/list", {})
    assert asked == [{"traceparent": meta["traceparent"]}]
