"""A gateway within a program: its configuration, its clients, and its end."""

from __future__ import annotations

import json
import os

import pytest
from mcp import Client

import louver
from fixtures.failsafe import until
from fixtures.forking import PYTHON
from gateway.served import children
from gateway.test_app import SHOP
from louver.errors import InvalidConfig, ToolFailed
from louver.gateway.config.model import Config

pytestmark = pytest.mark.anyio

USER = {"user_id": 1}


async def test_a_client_over_it_names_fields():
    """Ours: `louver.Client` takes it as it takes a server."""
    async with louver.Gateway(SHOP) as gateway, louver.Client(gateway) as client:
        result = await client.call_tool("get_user_profile", USER, include=["name"])
        assert (result.data, result.applied) == ({"name": "Edith Moreau"}, True)
        minimal = await client.call_tool("get_user_profile", USER, view="minimal")
        assert minimal.data.keys() == {"id", "name"}
        assert "get_user_profile" in [tool["name"] for tool in await client.list_tools()]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_client_of_the_sdk_takes_its_server(mode):
    """Ours: in both revisions, several at a time."""
    asked = {"projection": {"mode": "include", "fields": ["name"]}}
    async with (
        louver.Gateway(SHOP) as gateway,
        Client(gateway.server, mode=mode) as one,
        Client(gateway.server, mode=mode) as other,
    ):
        for client in (one, other):
            answer = await client.call_tool("get_user_profile", USER, meta=asked)
            assert answer.structured_content == {"name": "Edith Moreau"}


async def test_the_configuration_is_a_file_its_content_or_made_already(tmp_path):
    """Ours: paths of a dict are relative to where the program runs."""
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps(SHOP))
    made = Config.from_command([PYTHON, "-m", "louver", "serve", "--example"])
    server = {**SHOP["mcpServers"]["shop"], "cwd": tmp_path}
    for config in (file, str(file), made, {"mcpServers": {"shop": server}}):
        async with louver.Gateway(config) as gateway, louver.Client(gateway) as client:
            assert (await client.call_tool("get_user_profile", USER, include=["id"])).data == {"id": 1}


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"mcpServers": {"shop": {"comand": "x"}}}, r"<dict>:\d+: server 'shop': unknown key 'comand'.*'command'"),
        ({"mcpServers": {"shop": {"command": {1}}}}, "a configuration is JSON: texts, numbers, lists and dicts"),
        ({}, "'mcpServers' is missing"),
    ],
)
def test_what_is_wrong_with_a_configuration_is_said(config, message):
    """Ours: as of a file."""
    with pytest.raises(InvalidConfig, match=message):
        louver.Gateway(config)


async def test_a_server_that_is_not_there_fails_its_own_calls():
    """Ours: a program may have several."""
    gone = {"command": str(PYTHON) + "-nowhere"}
    config = {"mcpServers": {**SHOP["mcpServers"], "gone": gone}}
    async with louver.Gateway(config) as gateway, louver.Client(gateway) as client:
        assert (await client.call_tool("shop__get_user_profile", USER, include=["id"])).data == {"id": 1}
        with pytest.raises(ToolFailed):
            await client.call_tool("gone__x")


async def test_its_principal_is_that_of_the_configuration(tmp_path):
    """Ours: as over stdio, the program itself is the caller."""
    rules = [{"name": "desk", "who": {"roles": ["desk"]}, "allow": ["*"]}, {"name": "others", "allow": ["name"]}]
    policy = tmp_path / "shop.policy.json"
    policy.write_text(json.dumps({"version": "1", "tools": {"*": {"rules": rules}}}))
    server = {**SHOP["mcpServers"]["shop"], "louver": {"policy": str(policy)}}
    settings = {"audit": {"file": str(tmp_path / "audit.db")}}
    for principal, expected in (
        ({}, {"name"}),
        ({"principal": {"subject": "desk-7", "roles": ["desk"]}}, {"id", "name"}),
    ):
        config = {"mcpServers": {"shop": server}, "louver": {**settings, **principal}}
        async with louver.Gateway(config) as gateway, louver.Client(gateway) as client:
            data = (await client.call_tool("get_user_profile", USER, include=["id", "name"])).data
            assert data.keys() == expected


async def test_its_servers_end_with_it():
    """Ours: also if nobody has called them yet."""
    script = "import sys; sys.stdin.read()"
    command = [PYTHON, "-c", script]
    config = {"mcpServers": {"still": {"command": command[0], "args": command[1:]}}}
    async with louver.Gateway(config):
        await until(lambda: any(script in line for line in children(os.getpid()).values()))
    assert not any(script in line for line in children(os.getpid()).values())
