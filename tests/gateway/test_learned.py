"""What is learnt of the answers of real servers: offered from the next start on."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from desk.commands.test_suggest import suggest
from fixtures.forking import PYTHON
from gateway.configs import ENVIRON, write
from gateway.served import FIXTURES
from louver.gateway.config.model import Config, UpstreamConfig
from louver.gateway.config.read import read_config
from louver.gateway.gateway import Gateway
from louver.gateway.in_process import sdk_server
from steps import wire as wires
from steps.wire import NEW, connect

pytestmark = pytest.mark.anyio

RECORDS = (PYTHON, str(FIXTURES / "records.py"))


@asynccontextmanager
async def started(folder, *names, **options):
    upstreams = tuple(UpstreamConfig(name, "stdio", command=RECORDS) for name in names)
    gateway = Gateway(Config(upstreams, learn=folder, **options), single_client=False)
    try:
        async with connect(sdk_server(gateway.answer), NEW, extensions={}) as wire:
            yield wire
    finally:
        await gateway.close()


async def argument_of(wire, tool):
    return (await wire.tools())[tool]["inputSchema"].get("properties", {}).get("output_fields")


async def test_a_tool_that_declares_nothing_is_offered_the_argument_once_its_answers_are_known(tmp_path):
    """HOSTS.md: so the 83 % of real tools that declare nothing can be projected."""
    tool = "find_text"
    async with started(tmp_path, "one") as wire:
        for _ in range(5):
            assert await argument_of(wire, tool) is None
            await wire.call(tool)
    async with started(tmp_path, "one") as wire:
        offered = await argument_of(wire, tool)
        assert offered["description"].startswith("Return only fields seen: ")
        assert "rows." in offered["description"]
        answer = await wire.call(tool, {"output_fields": ["total"]})
        assert json.loads(answer["content"][0]["text"]) == {"total": 3}
        assert "outputSchema" not in (await wire.tools())[tool]


@pytest.mark.parametrize(("host", "is_compact"), [("gemini-cli-mcp-client", True), ("other", False)])
async def test_json_text_of_one_shape_is_sent_without_white_space(tmp_path, monkeypatch, host, is_compact):
    """Step 22: to models of known hosts."""
    monkeypatch.setattr(wires, "CLIENT", {"name": host, "version": "1"})
    for _ in range(2):
        async with started(tmp_path, "one") as wire:
            await wire.tools()
            texts = [(await wire.call("find_text"))["content"][0]["text"] for _ in range(5)]
    assert [" " not in text for text in texts] == [is_compact] * 5
    assert json.loads(texts[0])["total"] == 3


async def test_it_is_learnt_of_each_server_apart(tmp_path):
    """Ours: a file each, which names the server by how it is reached."""
    async with started(tmp_path, "one", "two") as wire:
        await wire.call("two__find_text")
    (file,) = tmp_path.glob("*.learned.json")
    assert json.loads(file.read_text("utf-8"))["tools"].keys() == {"find_text"}


async def test_by_default_nothing_is_learnt(tmp_path):
    """GATEWAY.md, "Transparency first"."""
    async with started(None, "one") as wire:
        await wire.call("find_text")
    assert list(tmp_path.iterdir()) == []


async def test_what_cannot_be_kept_is_no_matter_of_the_call(tmp_path, caplog):
    """Ours: it is logged."""
    folder = tmp_path / "file"
    folder.write_text("")
    async with started(folder, "one") as wire:
        assert not (await wire.call("find_text")).get("isError")
    assert "nothing is learnt of tool 'find_text'" in caplog.text


def test_where_it_is_kept_is_a_setting(tmp_path):
    """HOSTS.md: opt-in."""

    def learn(said):
        servers = {"a": {"command": "a"}}
        return read_config(write(tmp_path, json.dumps({"mcpServers": servers, "louver": said})), ENVIRON).learn

    assert learn({}) is None
    assert learn({"learn": False}) is None
    assert learn({"learn": "here"}) == tmp_path / "here"
    assert learn({"learn": True}).parts[-3:] == (".local", "state", "louver")


def test_samples_of_suggest_are_learnt_from(tmp_path, monkeypatch):
    """HOSTS.md: `louver suggest --learn`."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    calls = ["--call", "find_text", "{}"] * 5
    status, _, err = suggest(*calls, "--learn", "--run-anyway", server=RECORDS)
    assert status == 0
    assert "find_text: " in err
    (file,) = (tmp_path / "louver").glob("*.learned.json")
    assert Path(file).name.endswith(".learned.json")
    assert "rows.name" in json.loads(file.read_text("utf-8"))["tools"]["find_text"]["fields"]
