"""Deferred tools: what is listed, what is found, and that a call of a found tool is like any other."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import asynccontextmanager

import pytest
from mcp import Client
from mcp_types import Implementation

from fixtures.forking import PYTHON
from gateway.served import FIXTURES
from louver.gateway.config.model import Config, UpstreamConfig
from louver.gateway.gateway import Gateway
from louver.gateway.in_process import sdk_server
from louver.policy.tool_rules import ToolRules
from louver.steps.results.results import KeptResults
from steps import wire as wires
from steps.wire import NEW, OLD, PROGRAM, connect

pytestmark = pytest.mark.anyio

ERAS = pytest.mark.parametrize("era", [OLD, NEW])
CODEX = "codex-mcp-client"
PINNED = ("notes__create_issue", "large__rows")


def servers(**notes):
    """Fifty small tools, and one whose answers are large."""
    return (
        UpstreamConfig("notes", "stdio", command=(PYTHON, str(FIXTURES / "searchable.py")), **notes),
        UpstreamConfig("large", "stdio", command=(PYTHON, str(FIXTURES / "large.py"))),
    )


@asynccontextmanager
async def deferring(monkeypatch, era, host=CODEX, *, upstreams=None, file=None, extensions=None, **options):
    """A connection of a host to a gateway that defers tools."""
    monkeypatch.setattr(wires, "CLIENT", {"name": host, "version": "1"})
    options = {"exposure": "deferred", **options}
    config = Config(servers() if upstreams is None else upstreams, **options)
    gateway = Gateway(config, single_client=False, savings=file)
    await gateway.open()
    try:
        async with connect(sdk_server(gateway.answer), era, extensions=extensions or {}) as wire:
            yield wire
    finally:
        await gateway.close()


def text_of(answer):
    return "\n".join(block["text"] for block in answer["content"])


@ERAS
async def test_those_that_are_pinned_are_listed_whole_and_one_tool_for_all_others(monkeypatch, era):
    """VALUE.md: in the order of the servers' own list, so that prompt caches hold."""
    async with deferring(monkeypatch, era, exposure="full") as wire:
        whole = await wire.tools()
    async with deferring(monkeypatch, era, pinned=PINNED) as wire:
        first, *listed = (await wire.request("tools/list"))["tools"]
        assert await wire.tools() == {tool["name"]: tool for tool in (first, *listed)}
    assert listed == [tool for name, tool in whole.items() if name in PINNED]
    assert first["name"] == "search_tools"
    assert f"{len(whole) - 2} more tools of notes" in first["description"]


@ERAS
async def test_a_tool_is_found_by_what_it_does_and_called_by_its_name(monkeypatch, era):
    """Ours: the answer is that of a direct call, with all that this is."""
    options = {"pinned": PINNED[:1], "keep_results": KeptResults(over_bytes=20_000)}
    async with deferring(monkeypatch, era, **options) as wire:
        found = text_of(await wire.call("search_tools", {"query": "rows of a table"}))
        assert "large__rows{number?: int = 1000, width?: int = 2000" in found
        assert 'search_tools {"tool":"large__rows","arguments":{}}' in found
        asked = {"number": 2, "width": 3, "output_fields": ["rows.id"]}
        answer = await wire.call("search_tools", {"tool": "large__rows", "arguments": asked})
        kept = await wire.call("search_tools", {"tool": "large__rows"})
        assert answer["structuredContent"] == {"rows": [{"id": 0}, {"id": 1}]}
        assert "read_result" in kept["structuredContent"]["louver"][0]
        assert (await wire.tools()).keys() >= {"search_tools", "read_result"}


@ERAS
async def test_each_step_of_a_task_is_searched_by_a_line_of_its_own(monkeypatch, era):
    """DISCLOSURE.md, "Search"."""
    async with deferring(monkeypatch, era, pinned=PINNED[:1]) as wire:
        found = text_of(await wire.call("search_tools", {"query": "all issues of a repository\nrows of a table"}))
        nothing = text_of(await wire.call("search_tools", {"query": "zzzz"}))
    assert found.index("For all issues of a repository:\n\nnotes__listIssues{") < found.index("For rows of a table:")
    assert nothing.startswith("No tool fits.")


WRONG = {
    "nothing": ({}, "expected 'query', to find tools, or 'tool', to call one"),
    "white": ({"query": " "}, "'query' is white: expected plain words, for example 'create issue'\""),
    "a name that is not there": ({"tool": "notes__createIssue"}, "did you mean 'notes__create_issue'"),
    "a name without its server's": ({"tool": "create_issue"}, "did you mean 'notes__create_issue'?"),
    "no name": ({"tool": "~"}, "there is no tool '~': search for it, by 'query'"),
    "itself": ({"tool": "search_tools"}, "there is no tool 'search_tools'"),
    "no argument": ({"needs": ["x"]}, "'needs' is no argument: 'search_tools' takes 'query', 'tool', 'arguments'"),
    "no object": ({"tool": "notes__create_issue", "arguments": "x"}, "'arguments': expected an object"),
}


@ERAS
@pytest.mark.parametrize(("arguments", "told"), WRONG.values(), ids=WRONG)
async def test_what_is_wrong_with_a_search_or_a_call_is_told(monkeypatch, era, arguments, told):
    """Ours."""
    async with deferring(monkeypatch, era, pinned=PINNED) as wire:
        answer = await wire.call("search_tools", arguments)
    assert answer["isError"] is True
    assert told in text_of(answer)


async def test_a_tool_that_was_called_is_listed_to_its_client_from_then_on(monkeypatch):
    """Ours: to a client that hears of changed lists, and to no other."""
    heard = []

    async def hear(message):
        heard.append(type(getattr(message, "root", message)).__name__)

    gateway = Gateway(Config(servers(), exposure="deferred", pinned=PINNED[:1]), single_client=False)
    await gateway.open()
    info = Implementation(name=CODEX, version="1")
    try:
        async with (
            Client(gateway.server, client_info=info, mode="legacy", message_handler=hear) as client,
            Client(gateway.server, client_info=info, mode="legacy") as other,
        ):
            for _ in range(2):
                await client.call_tool("search_tools", {"tool": "large__rows", "arguments": {"number": 1}})
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert names == ["search_tools", "notes__create_issue", "large__rows"]
            assert len((await other.list_tools()).tools) == 2
            assert heard.count("ToolListChangedNotification") == 1
    finally:
        await gateway.close()


@pytest.mark.parametrize(("host", "extensions"), [("claude-code", {}), ("qwen-cli-mcp-client-x", {}), (CODEX, PROGRAM)])
async def test_who_defers_tools_itself_and_who_is_a_program_gets_all(monkeypatch, host, extensions):
    """VALUE.md."""
    async with deferring(monkeypatch, OLD, host, pinned=PINNED, extensions=extensions) as wire:
        tools = await wire.tools()
    assert "search_tools" not in tools
    assert len(tools) > 40


@ERAS
async def test_what_was_called_lately_is_listed_next_time(monkeypatch, era, tmp_path):
    """VALUE.md: by the savings that are counted anyway; before any are, the list is plain."""
    file = tmp_path / "savings.db"
    async with deferring(monkeypatch, era, file=file) as wire:
        assert "search_tools" not in await wire.tools()
        await wire.call("notes__create_issue", {})
    async with deferring(monkeypatch, era, file=file) as wire:
        assert [*await wire.tools()] == ["search_tools", "notes__create_issue"]
        await wire.call("search_tools", {"tool": "large__rows", "arguments": {"number": 1}})
    async with deferring(monkeypatch, era, file=file) as wire:
        assert [*await wire.tools()] == ["search_tools", "notes__create_issue", "large__rows"]


async def test_a_hidden_tool_is_neither_found_nor_called(monkeypatch):
    """Ours: as in every exposure."""
    rules = ToolRules.read({"hide": ["listIssues"]})
    async with deferring(monkeypatch, OLD, pinned=PINNED, upstreams=servers(tools=rules)) as wire:
        found = await wire.call("search_tools", {"query": "listIssues"})
        called = await wire.call("search_tools", {"tool": "notes__listIssues"})
    assert "notes__listIssues{" not in text_of(found)
    assert called["isError"] is True
    assert "there is no tool 'notes__listIssues'" in text_of(called)


async def test_a_tool_of_that_name_stays_that_of_the_server(monkeypatch, caplog):
    """Ours: then nothing is deferred, and it is logged once."""
    script = str(FIXTURES / "named.py")
    named = json.dumps(["search_tools", *(f"t{n}" for n in range(20))])
    upstream = UpstreamConfig("one", "stdio", command=(PYTHON, script, named))
    async with deferring(monkeypatch, OLD, pinned=("t0",), upstreams=(upstream,)) as wire:
        assert len(await wire.tools()) == len(await wire.tools()) == 21
        assert text_of(await wire.call("search_tools", {"query": "x"})) == "this is search_tools"
    assert [record.message for record in caplog.records].count(
        "the server has a tool 'search_tools' itself: no tool is deferred"
    ) == 1


LOADED = """
import asyncio, sys
from louver.gateway.config.model import Config, UpstreamConfig
from louver.gateway.gateway import Gateway

async def opened():
    upstream = UpstreamConfig("one", "stdio", command=(sys.executable, sys.argv[1], '["a"]'))
    gateway = Gateway(Config((upstream,), exposure="deferred"), single_client=False)
    await gateway.open()
    print("louver.catalogue.search.word_vectors" in sys.modules)
    await gateway.close()

asyncio.run(opened())
"""


def test_the_model_of_searches_is_read_while_servers_open():
    """VALUE.md: the first search need not wait for it."""
    pytest.importorskip("louver_meaning")
    done = subprocess.run([sys.executable, "-c", LOADED, str(FIXTURES / "named.py")], capture_output=True, text=True)
    assert done.stdout == "True\n", done.stderr
