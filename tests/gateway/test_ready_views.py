"""Ready views: shorter answers of public servers, which are played back by `fixtures/recorded.py`."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from mcp import Client

from core.corpus import recordings
from fixtures.forking import PYTHON
from gateway.gateways import over_stdio
from gateway.served import FIXTURES
from louver.gateway.config.model import Config, UpstreamConfig
from louver.gateway.gateway import Gateway
from louver.gateway.in_process import sdk_server
from steps.wire import NEW, OLD, connect, text_of

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("era", [OLD, NEW])]


def playing(name, **settings):
    """An upstream that answers as the server did when it was recorded."""
    recordings(name)
    command = (PYTHON, str(FIXTURES / "recorded.py"), name)
    return UpstreamConfig(name, "stdio", command=command, **{"ready_views": True, **settings})


def answered(name, tool):
    return next(call["response"] for call in recordings(name)["calls"] if call["tool"] == tool)


@asynccontextmanager
async def before(era, *upstreams, **options):
    """A connection to a gateway before servers, and the gateway."""
    gateway = Gateway(Config(upstreams), single_client=False, **options)
    try:
        async with connect(sdk_server(gateway.answer), era) as wire:
            yield wire, gateway
    finally:
        await gateway.close()


async def test_without_them_an_answer_is_as_it_was(era):
    """GATEWAY.md, "Transparency first": nobody gets ready views who has not asked for them."""
    async with before(era, playing("server-memory", ready_views=False)) as (wire, _):
        answer = await wire.call("create_entities", {"entities": []})
        listed = (await wire.tools())["create_entities"]
    assert answer["structuredContent"] == answered("server-memory", "create_entities")["structuredContent"]
    assert answer["content"] == answered("server-memory", "create_entities")["content"]
    assert "recommendedViews" not in listed["annotations"]["projectionHint"]


async def test_a_call_gets_the_compact_view_before_anything_was_listed(era):
    """001 pattern 4: compact is on by default."""
    async with before(era, playing("server-memory")) as (wire, _):
        answer = await wire.call("create_entities", {"entities": []})
    whole = answered("server-memory", "create_entities")["structuredContent"]["entities"]
    assert text_of(answer) == {"entities": [{"name": each["name"]} for each in whole]}
    assert answer["structuredContent"] == text_of(answer)
    assert answer["_meta"]["projection"]["view"] == "compact"


async def test_json_in_a_string_is_made_compact_too(era):
    """GATEWAY.md: `{"content": "..."}`, as server-filesystem sends its tree."""
    async with before(era, playing("server-filesystem")) as (wire, _):
        answer = await wire.call("directory_tree", {"path": "."})
        prose = await wire.call("list_directory", {"path": "."})
    text = answer["structuredContent"]["content"]
    assert "type" not in text
    assert len(text) < len(answered("server-filesystem", "directory_tree")["structuredContent"]["content"]) / 2
    assert prose["content"] == answered("server-filesystem", "list_directory")["content"]


async def test_a_model_is_told_how_it_gets_everything_and_gets_it(era):
    """001 pattern 4: `compact=False` when the rest is needed."""
    async with before(era, playing("server-memory")) as (wire, _):
        tools = await wire.tools()
        graph = tools["read_graph"]["inputSchema"]["properties"]["output_fields"]["description"]
        other = tools["delete_entities"]["inputSchema"]["properties"]
        whole = await wire.call("create_entities", {"entities": [], "output_fields": ["*"]})
        names = await wire.call("read_graph", {"output_fields": {"mode": "view", "view": "names"}})
    assert graph.endswith("Default view:compact; * is everything")
    assert "output_fields" not in other
    expected = answered("server-memory", "create_entities")["structuredContent"]
    assert whole["structuredContent"] == expected
    assert names["structuredContent"] == {"entities": [{"name": each["name"]} for each in expected["entities"]]}


async def test_servers_beside_one_another_each_get_their_own(era):
    """GATEWAY.md: `server__tool`; who says nothing, or is not known, is left alone."""
    time, quiet = playing("mcp-server-time"), playing("server-memory", ready_views=False)
    async with before(era, time, quiet, playing("mcp-server-git")) as (wire, _):
        now = await wire.call("mcp-server-time__get_current_time", {"timezone": "Europe/Paris"})
        made = await wire.call("server-memory__create_entities", {"entities": []})
        log = await wire.call("mcp-server-git__git_log", {"repo_path": "."})
    assert now["structuredContent"].keys() == {"datetime", "day_of_week"}
    assert made["structuredContent"] == answered("server-memory", "create_entities")["structuredContent"]
    assert log["content"] == answered("mcp-server-git", "git_log")["content"]


async def test_a_file_without_a_compact_view_changes_no_call(era):
    """Ours: what it has is there for who asks."""
    async with before(era, playing("server-everything")) as (wire, gateway):
        answer = await wire.call("get-structured-content", {"location": "New York"})
        echo = await wire.call("echo", {"message": "hi"})
        brief = await wire.call("get-structured-content", {}, projection={"mode": "view", "view": "brief"})
        (state,) = await gateway.open()
        views = {tool["name"]: gateway.views_of(state.name, tool) for tool in state.tools}
    assert answer["structuredContent"].keys() == {"temperature", "conditions", "humidity"}
    assert echo["content"] == answered("server-everything", "echo")["content"]
    assert brief["structuredContent"].keys() == {"temperature", "conditions"}
    assert views["get-structured-content"] == ["brief"]
    assert views["echo"] == []


async def test_files_and_default_views_of_the_user_go_before(era, tmp_path):
    """Ours: the nearer to the operator, the more it counts; a view of theirs is the default where they say so."""
    own = {"tool": "create_entities", "views": {"compact": ["entities.entityType"]}}
    (tmp_path / "create_entities.views.json").write_text(json.dumps(own))
    named = {"tool": "read_graph", "default": "names", "views": {"names": ["entities.name"]}}
    (tmp_path / "read_graph.views.json").write_text(json.dumps(named))
    upstream = playing("server-memory", views=tmp_path)
    async with before(era, upstream) as (wire, gateway):
        made = await wire.call("create_entities", {"entities": []})
        graph = await wire.call("read_graph")
        found = await wire.call("search_nodes", {"query": "Person1"})
        (state,) = await gateway.open()
        assert gateway.problems_of(state) == []
    assert made["structuredContent"] == answered("server-memory", "create_entities")["structuredContent"]
    assert graph["_meta"]["projection"]["view"] == "names"
    assert found["_meta"]["projection"]["view"] == "compact"


async def test_they_come_and_go_with_the_configuration(era):
    """GATEWAY.md, "Start": a changed file is reloaded."""
    upstream = playing("mcp-server-time", ready_views=False)
    async with before(era, upstream) as (wire, gateway):
        for ready in (True, False):
            await gateway.reconfigure(Config((replace(upstream, ready_views=ready),)))
            now = await wire.call("get_current_time", {"timezone": "Europe/Paris"})
            assert ("is_dst" not in now["structuredContent"]) is ready


async def test_all_servers_get_them_by_the_command_line(era):
    """Ours: `louver serve --ready-views`."""
    recordings("mcp-server-time")
    command = [PYTHON, str(FIXTURES / "recorded.py"), "mcp-server-time"]
    mode = "legacy" if era == OLD else "auto"
    async with Client(over_stdio("--ready-views", "--", *command), mode=mode) as client:
        now = await client.call_tool("get_current_time", {"timezone": "Europe/Paris"})
    assert now.structured_content.keys() == {"datetime", "day_of_week"}
