"""Answers that a host would not show whole: kept with a preview, and read in parts, though nothing is configured."""

from __future__ import annotations

import json
import re
from contextlib import asynccontextmanager

import anyio
import pytest
from mcp import Client
from mcp_types import Implementation

from fixtures.failsafe import A_WHILE_S, FAILSAFE_S, until
from fixtures.forking import PYTHON
from fixtures.stores import store as store
from gateway.served import FIXTURES
from louver.catalogue.hosts import HOSTS
from louver.gateway.config.model import Config, UpstreamConfig
from louver.gateway.gateway import Gateway
from louver.gateway.in_process import sdk_server
from louver.gateway.routing import aggregate, dispatch, slow_lists
from steps import wire as wires
from steps.wire import NEW, OLD, PROGRAM, connect

pytestmark = pytest.mark.anyio

ERAS = pytest.mark.parametrize("era", [OLD, NEW])
CODEX = "codex-mcp-client"
LONG = {"number": 150, "width": 400}
"""Rows of 64,000 bytes."""


def upstream(*command):
    return UpstreamConfig("large", "stdio", command=(PYTHON, *map(str, command or [FIXTURES / "large.py"])))


@asynccontextmanager
async def before(monkeypatch, era, host, *command, extensions=None, file=None, **options):
    """A connection of a host to a gateway."""
    monkeypatch.setattr(wires, "CLIENT", {"name": host, "version": "1"})
    gateway = Gateway(Config((upstream(*command),), **options), single_client=False, savings=file)
    try:
        async with connect(sdk_server(gateway.answer), era, extensions=extensions or {}) as wire:
            yield wire
    finally:
        await gateway.close()


def told(answer):
    return [block["text"] for block in answer["content"]]


@ERAS
@pytest.mark.parametrize("host", [host for host, of in HOSTS.items() if of.longest_answer is not None])
async def test_an_answer_past_the_limit_of_its_host_is_read_to_its_end(monkeypatch, era, host):
    """VALUE.md: the tool runs once, and each page is one that the host shows."""
    async with before(monkeypatch, era, host) as wire:
        assert ("read_result" in await wire.tools()) is HOSTS[host].defers
        answer = await wire.call("rows", LONG)
        (text,) = answer["structuredContent"]["louver"] if HOSTS[host].shown == "structured" else told(answer)
        assert text.startswith("Too large to send: ")
        assert ('rows again with "output_fields"' in text) is not HOSTS[host].defers
        assert answer["structuredContent"]["call"] == 1
        assert "read_result" in await wire.tools()
        handle = re.search('"handle": "([^"]+)"', text).group(1)
        found, page, pages = [], 0, 1
        while page < pages:
            page += 1
            (part,) = told(await wire.call("read_result", {"handle": handle, "page": page}))
            assert len(part) <= HOSTS[host].longest_answer
            head, rows = part.split("\n")
            pages = int(re.match(r"page \d+ of (\d+),", head).group(1))
            found += json.loads(rows)["rows"]
    assert [row["id"] for row in found] == [*range(150)]


SHORT = {"number": 100, "width": 100}
WHOLE = {
    "short": (CODEX, {}, {}, SHORT),
    "of a program": (CODEX, PROGRAM, {}, LONG),
    "of a host that is not known": ("other", {}, {}, LONG),
    "of a host that shows all": ("ai-sdk-mcp-client", {}, {}, LONG),
    "where nothing is to be kept": (CODEX, {}, {"keep_results": False}, LONG),
    "of the fields that are named": (CODEX, {}, {}, {**LONG, "output_fields": ["rows.id"]}),
}


@ERAS
@pytest.mark.parametrize(("host", "extensions", "options", "arguments"), WHOLE.values(), ids=WHOLE)
async def test_any_other_answer_is_sent_whole(monkeypatch, era, host, extensions, options, arguments):
    """Ours: what a host shows, and what is for programs."""
    async with before(monkeypatch, era, host, extensions=extensions, **options) as wire:
        answer = await wire.call("rows", arguments)
        assert "read_result" not in await wire.tools()
    assert len(answer["structuredContent"]["rows"]) == arguments["number"]
    assert "louver" not in answer["structuredContent"]


PROSE = "word " * 11_000
TEXT_SCHEMA = {"type": "object", "properties": {"content": {"type": "string"}}, "required": ["content"]}
SENT = {
    "prose": ({"structuredContent": {"content": PROSE}, "content": [{"type": "text", "text": PROSE}]}, CODEX),
    "a member that no page has": (
        {"structuredContent": {"path": "/a", "content": PROSE}, "content": [{"type": "text", "text": PROSE}]},
        CODEX,
    ),
    "an element that no page has": (
        {"structuredContent": {"pages": [{"text": PROSE}, {"text": "x"}]}, "content": [{"type": "text", "text": "x"}]},
        CODEX,
    ),
    "prose beside a small value": (
        {"structuredContent": {"count": 3}, "content": [{"type": "text", "text": PROSE}]},
        "gemini-cli-mcp-client",
    ),
    "a resource beside a small value": (
        {
            "content": [
                {"type": "text", "text": '{"path": "/a", "lines": 4000}'},
                {"type": "resource", "resource": {"uri": "file:///a", "text": PROSE}},
            ]
        },
        "gemini-cli-mcp-client",
    ),
    "several blocks, of which the host limits none": (
        {"content": [{"type": "text", "text": json.dumps({"a": "x" * 300, "n": n})} for n in range(200)]},
        "gemini-cli-mcp-client",
    ),
    "text of JSON that fits out of its JSON": (
        {
            "structuredContent": {"content": json.dumps([{"a": 'x"' * 10}] * 1_100)},
            "content": [{"type": "text", "text": "x"}],
        },
        CODEX,
    ),
}


@pytest.mark.parametrize(("result", "host"), SENT.values(), ids=SENT)
async def test_what_could_not_be_read_in_pages_or_would_be_shown_is_sent(monkeypatch, result, host):
    """Ours: what a host does with it is better than nothing."""
    tool = {"name": "t", "inputSchema": {"type": "object"}}
    is_text = "content" in result.get("structuredContent", {}) and len(result["structuredContent"]) == 1
    said = {"tools/list": {"tools": [{**tool, **({"outputSchema": TEXT_SCHEMA} if is_text else {})}]}}
    async with before(
        monkeypatch, OLD, host, FIXTURES / "saying.py", json.dumps({**said, "tools/call": result})
    ) as wire:
        await wire.tools()
        answer = await wire.call("t", {})
        assert "read_result" not in await wire.tools()
    if is_text:
        assert told(answer) == [result["structuredContent"]["content"]]
    else:
        assert answer.get("structuredContent") == result.get("structuredContent")
        assert len(answer["content"]) == len(result["content"])
        assert "Too large" not in json.dumps(answer)


async def test_a_tool_may_have_a_limit_of_its_own(monkeypatch):
    """HOSTS.md: Claude Code shows up to 500,000 characters of a tool that says so."""
    rows = {"rows": [{"id": n, "text": "x" * 400} for n in range(150)]}
    for meta, is_kept in (({}, True), ({"anthropic/maxResultSizeChars": 500_000}, False)):
        tool = {"name": "t", "inputSchema": {"type": "object"}, "_meta": meta}
        result = {"structuredContent": rows, "content": [{"type": "text", "text": "rows"}]}
        said = json.dumps({"tools/list": {"tools": [tool]}, "tools/call": result})
        async with before(monkeypatch, OLD, "claude-code", FIXTURES / "saying.py", said) as wire:
            await wire.tools()
            assert ("louver" in (await wire.call("t", {}))["structuredContent"]) is is_kept


async def test_behind_discovery_a_kept_answer_is_read_too(monkeypatch):
    """Ours: a script may have changed something, and its answer is not lost; it takes no argument for fields."""
    options = {"exposure": "discovery", "execute": "process"}
    async with before(monkeypatch, OLD, CODEX, **options) as wire:
        script = "result(large.rows({number = 150, width = 400}):await())"
        (text,) = (await wire.call("execute", {"script": script}))["structuredContent"]["louver"]
        assert text.startswith("Too large to send: ")
        assert "again with" not in text
        handle = re.search('"handle": "([^"]+)"', text).group(1)
        (part,) = told(await wire.call("read_result", {"handle": handle, "page": 1}))
    assert part.startswith("page 1 of ")


async def test_a_server_that_never_lists_holds_up_no_kept_answer(monkeypatch, tmp_path):
    """Ours: nothing is listed to keep an answer, or to read it."""
    slow = UpstreamConfig("slow", "stdio", command=(PYTHON, str(FIXTURES / "starting.py"), str(tmp_path)))
    monkeypatch.setattr(wires, "CLIENT", {"name": CODEX, "version": "1"})

    def leaves_out_after(seconds):
        for module in (aggregate, dispatch, slow_lists):
            monkeypatch.setattr(module, "LEFT_OUT_S", seconds, raising=False)

    leaves_out_after(A_WHILE_S)
    gateway = Gateway(Config((upstream(), slow)), single_client=False)
    try:
        async with connect(sdk_server(gateway.answer), NEW, extensions={}) as wire:

            async def is_open():
                return not (await wire.call("large__rows", {"number": 1})).get("isError")

            await until(is_open)
            leaves_out_after(FAILSAFE_S)
            with anyio.fail_after(FAILSAFE_S):
                (text,) = (await wire.call("large__rows", LONG))["structuredContent"]["louver"]
                handle = re.search('"handle": "([^"]+)"', text).group(1)
                (part,) = told(await wire.call("read_result", {"handle": handle, "page": 1}))
            assert part.startswith("page 1 of ")
    finally:
        await gateway.close()


async def test_replicas_read_what_another_has_kept(monkeypatch, tmp_path, store):
    """TEAM.md: kept results are where the state is; replicas without one keep none."""
    monkeypatch.setattr(wires, "CLIENT", {"name": CODEX, "version": "1"})
    entry = {"command": PYTHON, "args": [str(FIXTURES / "large.py")]}
    keys = {"keys": ["0123456789abcdef0123456789abcdef"]}
    for louver in ({**keys, "state": store.url}, keys):
        file = tmp_path / "mcp.json"
        file.write_text(json.dumps({"mcpServers": {"large": entry}, "louver": louver}))
        one, other = (Gateway(file, single_client=False) for _ in range(2))
        try:
            async with connect(sdk_server(one.answer), NEW, extensions={}) as wire:
                answer = await wire.call("rows", LONG)
            if "state" not in louver:
                assert "louver" not in answer["structuredContent"]
                continue
            handle = re.search('"handle": "([^"]+)"', answer["structuredContent"]["louver"][0]).group(1)
            async with connect(sdk_server(other.answer), NEW, extensions={}) as wire:
                (part,) = told(await wire.call("read_result", {"handle": handle, "page": 1}))
            assert part.startswith("page 1 of ")
        finally:
            await one.close()
            await other.close()


async def test_a_client_hears_once_that_kept_answers_can_be_read():
    """Ours."""
    heard = []

    async def hear(message):
        heard.append(type(getattr(message, "root", message)).__name__)

    gateway = Gateway(Config((upstream(),)), single_client=False)
    info = Implementation(name=CODEX, version="1")
    try:
        async with Client(gateway.server, client_info=info, mode="legacy", message_handler=hear) as client:
            for _ in range(2):
                await client.call_tool("rows", LONG)
            await client.list_tools()
    finally:
        await gateway.close()
    assert heard.count("ToolListChangedNotification") == 1


async def test_where_answers_were_so_large_the_tool_is_listed_from_the_start(monkeypatch, tmp_path):
    """VALUE.md: listed where it pays."""
    file = tmp_path / "savings.db"
    for is_listed in (False, True):
        async with before(monkeypatch, OLD, CODEX, file=file) as wire:
            assert ("read_result" in await wire.tools()) is is_listed
            await wire.call("rows", LONG)
