"""Louver before servers of FastMCP, with clients in the same process; `test_fastmcp.py` runs this where FastMCP is."""

import json

import httpx2
import pytest
from fastmcp import Client, FastMCP
from fastmcp.server.auth.providers.jwt import StaticTokenVerifier
from fastmcp_server import build
from mcp import Client as SdkClient
from mcp.client.streamable_http import streamable_http_client
from mcp.server import Server

import louver
from louver.errors import LouverError
from louver.middleware import FieldPolicy

pytestmark = pytest.mark.anyio

MODES = pytest.mark.parametrize("mode", ["legacy", "auto"])
ASKED = {"projection": {"mode": "include", "fields": ["name"]}}


@pytest.fixture
def anyio_backend():
    return "asyncio"


def test_a_server_has_the_lowlevel_server_that_is_attached_to():
    """Ours, pinned: there is no public way to it."""
    server = FastMCP("s")
    assert isinstance(server._mcp_server, Server)
    louver.attach(server)
    assert type(server._mcp_server.middleware[0]).__module__ == "louver.sdk.middleware"
    with pytest.raises(LouverError, match="attached to this server already"):
        louver.attach(server)


@MODES
async def test_its_own_client_gets_projections(mode):
    """Ours: by `_meta`, by a view, by the argument; of a tool that is mounted, too."""
    async with Client(build(argument=True), mode=mode) as client:
        answer = await client.call_tool("get_person", {"id": 1}, meta=ASKED)
        assert (answer.structured_content, answer.data.name) == ({"name": "Ada"}, "Ada")
        assert json.loads(answer.content[0].text) == {"name": "Ada"}
        answer = await client.call_tool("get_person", {"id": 1}, meta={"projection": {"mode": "view", "view": "card"}})
        assert answer.structured_content == {"name": "Ada", "address": {"city": "London"}}
        answer = await client.call_tool("more_list_people", {"output_fields": ["id"]})
        assert answer.structured_content == {"result": [{"id": 1}, {"id": 2}]}
        whole = await client.call_tool("get_person", {"id": 1})
        assert whole.structured_content["email"] == "ada@example.com"


@MODES
async def test_search_and_descriptions_on_demand(mode):
    """Ours: as of a server of the SDK."""
    async with Client(build(search=True, disclosure="enforce"), mode=mode) as client:
        assert [tool.name for tool in await client.list_tools()][-1] == "get_tool_descriptions"
        early = await client.call_tool("get_person", {"id": 1}, raise_on_error=False)
        assert early.is_error
        described = await client.call_tool("get_tool_descriptions", {"tools": ["get_person"]})
        text = json.loads(described.content[0].text)["get_person"]
        grant = text["inputSchema"]["properties"].get("grant")
        arguments = {"id": 1} if grant is None else {"id": 1, "grant": grant["const"]}
        assert (await client.call_tool("get_person", arguments, meta=ASKED)).data == {"name": "Ada"}


@MODES
async def test_a_policy_goes_by_the_tokens_of_the_server(mode, tmp_path):
    """Ours: over HTTP, with the client of the SDK."""
    rules = [
        {"name": "desk", "who": {"clients": ["desk"]}, "allow": ["*"]},
        {"name": "others", "allow": ["name"]},
    ]
    file = tmp_path / "people.policy.json"
    file.write_text(json.dumps({"version": "1", "tools": {"*": {"rules": rules}}}))
    server = build(policy=FieldPolicy(file, audit=tmp_path / "audit.db"))
    tokens = {name: {"client_id": name, "scopes": []} for name in ("desk", "shop")}
    server.auth = StaticTokenVerifier(tokens=tokens)
    app = server.http_app()
    seen = {}
    async with app.router.lifespan_context(app):
        for token in tokens:
            headers = {"authorization": f"Bearer {token}"}
            transport = httpx2.ASGITransport(app)
            async with httpx2.AsyncClient(transport=transport, headers=headers) as http:
                reached = streamable_http_client("http://127.0.0.1:8000/mcp", http_client=http)
                async with SdkClient(reached, mode=mode) as client:
                    seen[token] = (await client.call_tool("get_person", {"id": 1})).structured_content
    assert seen == {"desk": seen["desk"], "shop": {"name": "Ada"}}
    assert seen["desk"]["email"] == "ada@example.com"
