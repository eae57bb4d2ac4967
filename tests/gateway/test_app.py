"""The gateway as an ASGI application: under uvicorn, mounted in Starlette, with tokens, and what is refused."""

from __future__ import annotations

import asyncio
import socket
from contextlib import asynccontextmanager

import httpx2
import pytest
import uvicorn
from mcp import Client
from starlette.applications import Starlette
from starlette.routing import Mount

from fixtures.forking import PYTHON
from gateway.front.auth.guarded import bearing, token_file
from gateway.raw import HANDSHAKE, STATELESS
from louver.errors import InvalidConfig, InvalidInput
from louver.gateway import create_app

pytestmark = pytest.mark.anyio

SHOP = {"mcpServers": {"shop": {"command": PYTHON, "args": ["-m", "louver", "serve", "--example"]}}}
NAME = {"projection": {"mode": "include", "fields": ["name"]}}
ERAS = pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])


@asynccontextmanager
async def under_uvicorn(app):
    """The address of plain uvicorn, with nothing of `louver serve`."""
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=2))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            await serving


async def name_of(url, era):
    async with Client(url, mode="legacy" if era == HANDSHAKE else "auto") as client:
        return (await client.call_tool("get_user_profile", {"user_id": 1}, meta=NAME)).structured_content


@ERAS
async def test_it_runs_under_plain_uvicorn(era):
    """Ours: with its own lifespan."""
    async with under_uvicorn(create_app(SHOP, require_auth=False)) as address:
        assert await name_of(f"{address}/mcp", era) == {"name": "Edith Moreau"}


@pytest.mark.parametrize("path", ["/", "/tools"])
async def test_it_is_mounted_in_another_application(path):
    """Ours: which runs its lifespan; it serves `/mcp` below."""
    app = create_app(SHOP, require_auth=False)
    outer = Starlette(routes=[Mount(path, app)], lifespan=app.lifespan)
    async with under_uvicorn(outer) as address, httpx2.AsyncClient() as http:
        at = address + path.rstrip("/")
        assert await name_of(f"{at}/mcp", STATELESS) == {"name": "Edith Moreau"}
        assert (await http.get(f"{at}/other")).status_code == 404


async def test_each_lifespan_has_a_gateway_of_its_own():
    """Ours: an application may be started again."""
    app = create_app(SHOP, require_auth=False)
    for _ in range(2):
        async with under_uvicorn(app) as address:
            assert await name_of(f"{address}/mcp", STATELESS) == {"name": "Edith Moreau"}


async def test_without_a_lifespan_it_says_what_is_missing():
    """Ours: Starlette runs none of what it mounts."""
    outer = Starlette(routes=[Mount("/", create_app(SHOP, require_auth=False))])
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(outer), base_url="http://localhost") as http:
        with pytest.raises(RuntimeError, match=r"expected 'lifespan=app.lifespan' where the app is mounted"):
            await http.post("/mcp")


async def test_it_serves_no_websockets():
    """Ours: Starlette passes them on to what it mounts."""
    sent = []

    async def send(message):
        sent.append(message)

    await create_app(SHOP, require_auth=False)({"type": "websocket", "path": "/mcp"}, None, send)
    assert [message["type"] for message in sent] == ["websocket.close"]


@ERAS
async def test_clients_need_the_tokens_of_the_configuration(tmp_path, era):
    """Ours: `auth` counts, whatever else is said."""
    auth = {"tokens": str(tmp_path / token_file(tmp_path))}
    app = create_app({**SHOP, "louver": {"auth": auth}}, require_auth=False)
    async with under_uvicorn(app) as address:
        async with httpx2.AsyncClient() as http:
            assert (await http.post(f"{address}/mcp")).status_code == 401
        async with bearing(f"{address}/mcp", "t-ann", era) as client:
            assert "result" in await client.request("tools/list")


def test_without_auth_it_is_refused_unless_that_is_meant(tmp_path):
    """Ours: the token of `louver serve` is that command's; nobody is served by an oversight."""
    with pytest.raises(InvalidConfig, match="has no 'auth' under 'louver': expected one, or 'require_auth=False'"):
        create_app(SHOP)
    with pytest.raises(InvalidConfig, match="cannot be read"):
        create_app(tmp_path / "nowhere.json", require_auth=False)


async def test_other_hosts_are_refused_unless_allowed():
    """Ours: DNS rebinding."""
    with pytest.raises(InvalidInput, match=r"an allowed host is as mcp.example or mcp.example:8080, not 'http://x'"):
        create_app(SHOP, require_auth=False, allowed_hosts=["http://x"])
    app = create_app(SHOP, require_auth=False, allowed_hosts=["mcp.example"])
    found = {}
    async with app.lifespan(), httpx2.AsyncClient(transport=httpx2.ASGITransport(app)) as http:
        for host in ("mcp.example", "mcp.example:8443", "localhost:1", "evil.example"):
            found[host] = (await http.post(f"http://{host}/mcp", json={})).status_code
    # What comes further is no message.
    assert found == {"mcp.example": 400, "mcp.example:8443": 400, "localhost:1": 400, "evil.example": 421}
