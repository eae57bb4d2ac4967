"""Savings are counted exactly: what a stock client received, against what the server itself answers."""

from __future__ import annotations

import json
import os
from contextlib import asynccontextmanager, suppress
from errno import EACCES
from unittest.mock import patch

import pytest
from mcp import Client, MCPError

from fixtures import records
from fixtures.forking import PYTHON
from gateway.front.auth.guarded import bearing, token_file
from gateway.served import FIXTURES, config, fixture, serving
from louver.catalogue.hosts import HOSTS, Host
from louver.cli.process import SAVINGS, state
from louver.gateway.config.read import as_config
from louver.gateway.gateway import Gateway
from louver.gateway.in_process import sdk_server
from louver.steps.savings.report import SavingsReport
from steps.wire import NEW, OLD, connect

pytestmark = pytest.mark.anyio

FORMS = pytest.mark.parametrize("shown", ["structured", "text", "both", "whole"])
SERVER = {"command": PYTHON, "args": [str(FIXTURES / "records.py")]}
CANARIES = [b"ada", b"a@b.c", b"n0", b"rows", b"login", b"canary"]
"""Values of the server's answers, names of their fields, and names of a principal."""


def shown_text(result, shown):
    """What a host shows of a result, written once more by other means than the counter's."""
    texts = [block["text"] for block in result.get("content") or [] if block["type"] == "text"]
    structured = [compact(result["structuredContent"])] if "structuredContent" in result else texts
    forms = {"structured": structured, "text": texts, "whole": [compact(result)]}
    return "".join([*structured, *texts] if shown == "both" and structured is not texts else forms.get(shown, texts))


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@asynccontextmanager
async def counted(folder, shown, era=NEW, servers=None, *, defers=False, **louver):
    """A model's client of a gateway in this process; once it is closed, `saved(folder)` has its counters."""
    content = {
        "mcpServers": {"records": SERVER} if servers is None else servers,
        "louver": {"savings": str(folder / "savings.db"), **louver},
    }
    hosts = {} if shown is None else {"wire": Host(shown, defers=defers)}
    with patch.dict(HOSTS, hosts):
        async with Gateway(content) as gateway:
            await gateway.open()
            async with connect(sdk_server(gateway.answer), era, extensions={}) as wire:
                yield wire


def saved(folder, by="view"):
    return SavingsReport(folder / "savings.db").totals(by)


async def whole_of(tool, shown, era=NEW):
    """What a host shows of the server's own answer."""
    async with connect(records.server, era, extensions={}) as wire:
        return shown_text(await wire.call(tool), shown)


def total(folder):
    row = SavingsReport(folder / "savings.db").total()
    return row["calls"], row["savedNothing"], row["wholeBytes"], row["sentBytes"]


@FORMS
@pytest.mark.parametrize("era", [OLD, NEW])
async def test_each_way_to_reduce_an_answer_is_counted_as_its_host_shows_it(tmp_path, shown, era):
    """TEAM.md: the baseline is what the caller would have got; a default view is no request, and counts too."""
    views = tmp_path / "views"
    views.mkdir()
    (views / "find.views.json").write_text(json.dumps({"tool": "find", "views": {"brief": {"include": ["total"]}}}))
    servers = {"records": {**SERVER, "louver": {"views": str(views)}}}
    received = {}
    async with counted(tmp_path, shown, era, servers) as wire:
        received[""] = await wire.call("find")
        received["include"] = await wire.call("find", {"output_fields": ["rows.id"]})
        received["exclude"] = await wire.call("find", projection={"mode": "exclude", "fields": ["rows.owner"]})
        received["brief"] = await wire.call("find", {"output_fields": ["view:brief"]})
        assert (await wire.call("find", {"limit": "many"}))["isError"]
    whole = len(await whole_of("find", shown, era))
    rows = {row["view"]: row for row in saved(tmp_path)}
    assert rows.keys() == received.keys()
    for view, result in received.items():
        assert rows[view]["sentBytes"] == len(shown_text(result, shown)), view
        assert rows[view]["wholeBytes"] == whole, view
        assert (rows[view]["server"], rows[view]["tool"], rows[view]["calls"]) == ("records", "find", 1)


async def test_a_host_that_is_not_known_counts_one_form(tmp_path):
    """Ours: else each answer would save twice."""
    async with counted(tmp_path, None) as wire:
        result = await wire.call("find", {"output_fields": ["total"]})
    whole, sent = await whole_of("find", "structured"), shown_text(result, "structured")
    assert total(tmp_path) == (1, 0, len(whole), len(sent))


async def test_an_answer_that_saves_nothing_counts_as_nothing_and_one_that_costs_more_as_less(tmp_path):
    """TEAM.md, "Savings, honestly": a note to the answer is not left out of the account."""
    async with counted(tmp_path, "text") as wire:
        plain = await wire.call("find_prose")
        noted = await wire.call("find", {"output_fields": ["rows", "total", "nothing"]})
    assert "nothing" in shown_text(noted, "text")
    by_tool = {row["tool"]: row for row in saved(tmp_path, "tool")}
    assert by_tool["find_prose"]["savedBytes"] == 0
    assert by_tool["find_prose"]["savedNothing"] == 1
    assert by_tool["find_prose"]["sentBytes"] == len(shown_text(plain, "text"))
    (found,) = [row for row in saved(tmp_path) if row["view"] == "include"]
    assert found["sentBytes"] == len(shown_text(noted, "text"))


@FORMS
async def test_a_kept_answer_counts_with_what_is_read_of_it(tmp_path, shown):
    """Ours: a preview saves what is never read; a read is no call, and has a price."""
    async with counted(tmp_path, shown, keepResults=100) as wire:
        preview = await wire.call("find")
        handle = next(word for word in preview["content"][0]["text"].split('"') if len(word) > 20 and " " not in word)
        part = await wire.call("read_result", {"handle": handle, "fields": ["rows.id"]})
        assert not part.get("isError")
        assert (await wire.call("read_result", {"handle": "x" * 43}))["isError"]
    (row,) = saved(tmp_path)
    assert (row["view"], row["calls"]) == ("kept", 1)
    assert row["wholeBytes"] == len(await whole_of("find", shown))
    assert row["sentBytes"] == len(shown_text(preview, shown)) + len(shown_text(part, shown))


@FORMS
async def test_under_a_policy_the_whole_is_what_its_caller_may_see(tmp_path, shown):
    """TEAM.md: what is hidden is not saved."""
    policy = {"version": "1", "tools": {"*": {"rules": [{"name": "all", "deny": ["**.mail"]}]}}}
    (tmp_path / "it.policy.json").write_text(json.dumps(policy))
    servers = {"records": {**SERVER, "louver": {"policy": str(tmp_path / "it.policy.json")}}}
    audit = {"audit": {"file": str(tmp_path / "audit.db")}}
    async with counted(tmp_path, shown, servers=servers, **audit) as wire:
        visible = await wire.call("find")
        part = await wire.call("find", {"output_fields": ["rows.id"]})
    assert "mail" not in json.dumps(visible)
    whole, sent = len(shown_text(visible, shown)), len(shown_text(part, shown))
    assert total(tmp_path) == (2, 1, 2 * whole, whole + sent)


@FORMS
async def test_the_single_tool_counts_for_the_tool_that_it_calls(tmp_path, shown):
    """Ours: the whole is the answer of that tool; an export is one that is kept."""
    servers = {"records": SERVER, "other": SERVER}
    async with counted(tmp_path, shown, servers=servers, exposure="gateway") as wire:
        call = {"action": "call", "id": "records__find", "arguments": {}, "fields": ["rows.id"]}
        sent = await wire.call("gateway", call)
        exported = await wire.call("gateway", {"action": "export", "id": "other__find", "arguments": {}})
        await wire.call("gateway", {"action": "search", "query": "records"})
    whole = len(await whole_of("find", shown))
    rows = {row["server"]: row for row in saved(tmp_path)}
    assert [rows[name]["view"] for name in ("records", "other")] == ["include", "kept"]
    assert [rows[name]["wholeBytes"] for name in ("records", "other")] == [whole, whole]
    assert [rows[name]["sentBytes"] for name in ("records", "other")] == [
        len(shown_text(result, shown)) for result in (sent, exported)
    ]


@FORMS
async def test_a_script_counts_for_all_that_it_calls(tmp_path, shown):
    """Ours: each call has its share of the script's result, by the size of its answer."""
    script = """
    local found = await_all{records.find({}), records.find({}, {fields = {"total"}}), records.find_prose({})}
    result({rows = #found[1].rows, prose = found[3]})
    """
    async with counted(tmp_path, shown, exposure="full", execute="process") as wire:
        sent = await wire.call("execute", {"script": script})
        assert not sent.get("isError"), sent
    find, prose = [len(await whole_of(tool, shown)) for tool in ("find", "find_prose")]
    rows = {row["tool"]: row for row in saved(tmp_path)}
    assert {row["view"] for row in rows.values()} == {"script"}
    assert [(rows[name]["calls"], rows[name]["wholeBytes"]) for name in ("find", "find_prose")] == [
        (2, 2 * find),
        (1, prose),
    ]
    assert sum(row["sentBytes"] for row in rows.values()) == len(shown_text(sent, shown))
    assert rows["find"]["sentBytes"] > rows["find_prose"]["sentBytes"] > 0


async def test_discovery_counts_calls_and_not_what_inspects(tmp_path):
    """Ours: nobody would have made that call."""
    async with counted(tmp_path, "text", exposure="discovery", execute="off", inspect="all") as wire:
        sample = {"luaServerName": "records", "luaToolName": "find"}
        assert not (await wire.call("inspect-tool-response", sample)).get("isError")
        await wire.call("find")
    found, inspected = sorted(saved(tmp_path), key=lambda row: row["server"], reverse=True)
    assert (found["tool"], found["calls"]) == ("find", 1)
    # What a model reads to find a tool is what finding cost.
    assert (inspected["tool"], inspected["calls"], inspected["wholeBytes"]) == ("inspect-tool-response", 0, 0)
    assert inspected["sentBytes"] > 0


def listed_size(tools):
    return len(compact([{key: tool[key] for key in ("name", "description", "inputSchema")} for tool in tools]))


@pytest.mark.parametrize("era", [OLD, NEW])
@pytest.mark.parametrize("louver", [{}, {"exposure": "gateway"}, {"exposure": "minimal"}], ids=str)
async def test_a_list_is_counted_against_the_servers_own_once_a_connection(tmp_path, era, louver):
    """VALUE.md: the list is most of what a conversation costs; in 2026-07-28 each list is one of its own."""
    async with connect(records.server, era, extensions={}) as wire:
        own = listed_size((await wire.request("tools/list"))["tools"])
    async with counted(tmp_path, "text", era, **louver) as wire:
        sent = listed_size((await wire.request("tools/list"))["tools"])
        await wire.request("tools/list")
        await wire.request("tools/list", {"_meta": {"dev.louver/server": "records"}})
        with suppress(MCPError):
            # What is no query is refused by who searches, and nothing else fails.
            await wire.request("tools/list", {"query": 7})
        # Lists are counted in the background, from the servers' own, which this call waits for.
        calls = ("gateway", {"action": "list"}) if louver.get("exposure") == "gateway" else ("find", {})
        await wire.call(*calls)
    (row,) = [row for row in saved(tmp_path, "tool") if row["tool"] == "tools/list"]
    lists = 1 if era == OLD else 2
    assert (row["server"], row["tool"], row["calls"]) == ("", "tools/list", 0)
    assert (row["wholeBytes"], row["sentBytes"]) == (own * lists, sent * lists)
    # Lists have more characters a token.
    assert row["wholeTokens"] == pytest.approx(own * lists / 4.5, abs=1)


async def test_a_list_of_a_host_that_defers_is_not_counted(tmp_path):
    """Ours: such a host reads names alone."""
    async with counted(tmp_path, "text", defers=True) as wire:
        await wire.tools()
    assert saved(tmp_path) == []


async def test_no_value_and_no_principal_gets_into_the_file(tmp_path):
    """Common law of the house: the bytes of the file are searched."""
    tokens = token_file(tmp_path, {"t-1": {"subject": "canary-subject", "client": "canary-client"}})
    options = config(tmp_path, {"records": fixture("records")}, savings="savings.db", auth={"tokens": tokens})
    with serving(*options, no_auth=False) as served:
        async with bearing(served.url, "t-1") as client:
            arguments = {"output_fields": ["rows.owner"], "limit": 3}
            await client.result("tools/call", name="find", arguments=arguments)
            await client.result("tools/call", name="find", arguments={})
        served.process.terminate()
        served.ends()
    data = b"".join(file.read_bytes() for file in tmp_path.glob("savings.db*"))
    assert b"find" in data
    assert [canary for canary in CANARIES if canary in data] == []
    assert total(tmp_path)[0] == 2


async def test_another_file_counts_from_a_reload_on(tmp_path):
    """Ours: what was counted before stays in the file before; `false` counts nothing."""

    def content(savings):
        return as_config({"mcpServers": {"records": SERVER}, "louver": {"savings": savings}})

    async with Gateway(content(str(tmp_path / "one.db"))) as gateway, Client(gateway.server) as client:
        for savings in (str(tmp_path / "two.db"), False):
            await client.call_tool("find", {})
            await gateway.reconfigure(content(savings))
        await client.call_tool("find", {})
    assert [SavingsReport(tmp_path / name).total()["calls"] for name in ("one.db", "two.db")] == [1, 1]


async def test_by_default_the_command_counts_in_the_folder_for_state(tmp_path):
    """The issue, B; an embedded gateway counts only where its configuration says so."""
    with serving(*config(tmp_path, {"records": fixture("records")})) as served:
        async with Client(served.url) as client:
            await client.call_tool("find", {})
        served.process.terminate()
        served.ends()
    file = state(SAVINGS)
    assert SavingsReport(file).total()["calls"] == 1
    file.unlink()
    with serving(*config(tmp_path, {"records": fixture("records")}, savings=False)) as served:
        async with Client(served.url) as client:
            await client.call_tool("find", {})
    async with Gateway({"mcpServers": {"records": SERVER}}) as gateway, Client(gateway.server) as client:
        await client.call_tool("find", {})
    assert not file.exists()


async def test_a_file_that_cannot_be_written_fails_no_call(tmp_path, caplog):
    """The issue, B: one warning, and one that the use of tools is not known."""
    (tmp_path / "savings.db").write_text("not a database, but somebody's notes")
    async with counted(tmp_path, "text") as wire:
        for _ in range(3):
            assert not (await wire.call("find")).get("isError")
    unread, unwritten = [line.getMessage() for line in caplog.records if "savings" in line.getMessage()]
    assert unread.startswith("the use of tools is not known")
    assert "it is no file of savings" in unwritten
    assert (tmp_path / "savings.db").read_text() == "not a database, but somebody's notes"
    assert os.listdir(tmp_path) == ["savings.db"]


async def test_a_folder_that_cannot_be_looked_into_fails_no_start(tmp_path, caplog, monkeypatch):
    """Ours: of another user, say, since Louver was run as that one before."""
    look = os.stat

    def looked(path, **how):
        if path == tmp_path / "savings.db":
            raise PermissionError(EACCES, "Permission denied")
        return look(path, **how)

    monkeypatch.setattr(os, "stat", looked)
    async with counted(tmp_path, "text") as wire:
        assert not (await wire.call("find")).get("isError")
    [unwritten] = [line.getMessage() for line in caplog.records if "savings" in line.getMessage()]
    assert unwritten.endswith("cannot be written: Permission denied")
