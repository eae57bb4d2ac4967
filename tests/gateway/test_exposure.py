"""`louver serve --exposure minimal`, in processes of its own, for a stock client."""

from __future__ import annotations

import json

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from gateway.gateways import LOUVER
from gateway.served import config, fixture, serving, stateless

pytestmark = pytest.mark.anyio

KEY = "0123456789abcdef0123456789abcdef"
MINIMAL = ["--exposure", "minimal"]


async def described(client, *tools):
    """What a model reads of tools, by the tool for that."""
    answer = await client.call_tool("get_tool_descriptions", {"tools": list(tools)})
    return json.loads(answer.content[0].text)


def arguments_of(description, **arguments):
    """As a model fills them in: what has a constant gets it."""
    properties = description["inputSchema"]["properties"]
    return {**arguments, **{name: part["const"] for name, part in properties.items() if "const" in part}}


OPEN = {"type": "object", "properties": {}}


async def is_served_minimally(client):
    listed = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert listed.keys() >= {"find", "get_tool_descriptions"}
    assert listed["find"].input_schema == OPEN
    assert listed["find"].output_schema is None
    refused = await client.call_tool("find", {"limit": 1})
    assert refused.is_error
    assert json.loads(refused.content[0].text)["error"]["code"] == "TOOL_DESCRIPTION_REQUIRED"
    description = (await described(client, "find"))["find"]
    answer = await client.call_tool("find", arguments_of(description, limit=2, output_fields=["rows.id"]))
    assert answer.structured_content == {"rows": [{"id": 0}, {"id": 1}]}


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_over_http(tmp_path, mode):
    """DISCLOSURE.md: the exposure of the command counts, whatever the configuration says."""
    options = config(tmp_path, {"records": fixture("records")}, exposure="full")
    with serving(*options, *MINIMAL) as served:
        async with Client(served.url, mode=mode) as client:
            await is_served_minimally(client)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_over_stdio(tmp_path, mode):
    options = config(tmp_path, {"records": fixture("records")}, exposure="minimal")
    server = StdioServerParameters(command=LOUVER[0], args=[*LOUVER[1:], *options])
    async with Client(stdio_client(server), mode=mode) as client:
        await is_served_minimally(client)


@pytest.mark.parametrize("keys", [[KEY], []])
async def test_gateways_with_one_key_take_each_others_grants(tmp_path, keys):
    """DISCLOSURE.md: several workers; without a key of theirs a client reads again."""
    options = config(tmp_path, {"records": fixture("records")}, exposure="minimal", keys=keys)
    with serving(*options) as one, serving(*options) as other:
        async with Client(one.url) as client, Client(other.url) as second:
            granted = arguments_of((await described(client, "find"))["find"], limit=1)
            assert not (await client.call_tool("find", granted)).is_error
            assert (await second.call_tool("find", granted)).is_error is not bool(keys)
            again = arguments_of((await described(second, "find"))["find"], limit=1)
            assert not (await second.call_tool("find", again)).is_error


async def test_the_example_has_it_too():
    with serving("--example", *MINIMAL) as served:
        async with Client(served.url) as client:
            listed = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert listed["get_user_profile"].input_schema == OPEN
            assert (await client.call_tool("get_user_profile", {"user_id": 1})).is_error


async def test_tools_are_searched_too(tmp_path):
    """DISCLOSURE.md, "Search": over all servers, by their names too; searching grants nothing."""
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "find_prose.json").write_text(json.dumps({"searchTerms": ["verse"]}))
    records = fixture("records", descriptions="files")
    options = config(tmp_path, {"records": records, "all": fixture("everything")}, exposure="minimal")
    with serving(*options) as served, httpx2.Client(trust_env=False) as http:
        by_term = asked(http, served.url, "tools/list", query="verse")["tools"]
        assert [tool["name"] for tool in by_term] == ["records__find_prose"]
        found = asked(http, served.url, "tools/list", query="find records")["tools"]
        assert found[0]["name"] == "records__find"
        assert found[0]["inputSchema"] == OPEN
        assert asked(http, served.url, "tools/call", name="records__find", arguments={})["isError"]
        opening = asked(http, served.url, "server/discover")
        assert opening["capabilities"]["tools"]["filtering"] is True
        assert opening["instructions"].count("Tool search:") == 1


def asked(http, url, method, **params):
    """The result of a request of 2026-07-28."""
    return http.post(url, **stateless(method, **params)).json()["result"]
