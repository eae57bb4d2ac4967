"""`"toon": true`: models of known hosts get arrays of alike objects as TOON, everything else gets what it got."""

from __future__ import annotations

import json
import sys
import threading
from contextlib import asynccontextmanager, closing

import pytest
from toon_format import decode

from benchmarks.path import served_modules
from gateway.configs import ENVIRON, write
from gateway.served import config, fixture
from louver.catalogue.guidance import GuidanceRule
from louver.catalogue.hosts import HOSTS, Host
from louver.catalogue.learned import learned_file
from louver.errors import InvalidConfig
from louver.gateway.config.model import Config, UpstreamConfig
from louver.gateway.config.read import read_config
from louver.gateway.gateway import Gateway
from louver.gateway.in_process import sdk_server
from louver.limits import MAX_TOON_ON_LOOP
from louver.steps.audit.report import AuditReport
from louver.steps.calls import toon, warnings
from louver.steps.results.results import KeptResults
from steps import wire as wires
from steps.wire import NEW, OLD, PROGRAM, connect

pytestmark = pytest.mark.anyio

CODEX, GEMINI = "codex-mcp-client", "gemini-cli-mcp-client"
ROWS = {"rows": [{"id": number, "name": f"n{number}"} for number in range(5)], "total": 5}
TEXT = json.dumps(ROWS, indent=2)
SCHEMA = {
    "type": "object",
    "properties": {
        "rows": {
            "type": "array",
            "items": {"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}},
        },
        "total": {"type": "integer"},
    },
}


def said(value=ROWS, schema=SCHEMA):
    """What `fixtures/saying.py` lists and answers; without a schema, text alone."""
    declared, structured = ({}, {}) if schema is None else ({"outputSchema": schema}, {"structuredContent": value})
    return {
        "tools/list": {"tools": [{"name": "t", "inputSchema": {"type": "object"}, **declared}]},
        "tools/call": {"content": [{"type": "text", "text": json.dumps(value, indent=2)}], **structured},
    }


@asynccontextmanager
async def opened(config, monkeypatch, host, era=OLD, extensions=None):
    monkeypatch.setattr(wires, "CLIENT", {"name": host, "version": "1"})
    gateway = Gateway(config, single_client=False)
    try:
        async with connect(sdk_server(gateway.answer), era, extensions=extensions or {}) as wire:
            yield wire
    finally:
        await gateway.close()


def upstream(answers, **options):
    entry = fixture("saying", json.dumps(answers))
    return UpstreamConfig("it", "stdio", command=(entry["command"], *entry["args"]), **options)


def before(monkeypatch, host, answers=None, era=OLD, extensions=None, guidance=(), **options):
    """A connection of a host to a gateway with the setting."""
    servers = (upstream(answers or said(), guidance=guidance),)
    return opened(Config(servers, **{"toon": True, **options}), monkeypatch, host, era, extensions)


def texts(answer):
    return [block["text"] for block in answer["content"]]


@pytest.mark.parametrize("era", [OLD, NEW])
@pytest.mark.parametrize(("host", "is_structured"), [(CODEX, True), (GEMINI, False)])
async def test_a_known_host_gets_the_text_alone_where_it_shows_it(monkeypatch, era, host, is_structured):
    """VALUE.md: stock clients want structured content where an output schema is listed, so none is."""
    async with before(monkeypatch, host, era=era) as wire:
        listed = (await wire.tools())["t"]
        answer = await wire.call("t")
    assert [decode(text) for text in texts(answer)] == [ROWS]
    assert "rows[5]{id,name}:" in texts(answer)[0]
    assert ("outputSchema" in listed, "structuredContent" in answer) == (not is_structured, not is_structured)


WHOLE = {
    "a program": (CODEX, PROGRAM, {}, {}),
    "a program by its request": (CODEX, {}, {}, {"projection": {"mode": "include", "fields": ["*"]}}),
    "an unknown host": ("other", {}, {}, {}),
    "a host that shows both": ("mine", {}, {}, {}),
    "a gateway without the setting": (CODEX, {}, {"toon": False}, {}),
}


@pytest.mark.whole
@pytest.mark.parametrize(("host", "extensions", "options", "meta"), WHOLE.values(), ids=WHOLE)
async def test_all_others_get_what_they_got(monkeypatch, host, extensions, options, meta):
    """GATEWAY.md, "Transparency first"."""
    monkeypatch.setitem(HOSTS, "mine", Host("both"))
    async with before(monkeypatch, host, extensions=extensions, **options) as wire:
        listed = (await wire.tools())["t"]
        answer = await wire.call("t", **meta)
    assert answer["structuredContent"] == ROWS
    assert json.loads(texts(answer)[0]) == ROWS
    assert ("outputSchema" in listed) is (meta == {})


@pytest.mark.whole
@pytest.mark.parametrize("host", [CODEX, GEMINI])
@pytest.mark.parametrize("is_learnt", [True, False])
async def test_json_text_becomes_toon_once_answers_have_shown_that_it_is_data(monkeypatch, tmp_path, host, is_learnt):
    """Ours: as with white space. It is learnt of the JSON, whatever is sent."""
    answers = said(schema=None)
    file = learned_file(tmp_path, upstream(answers).server_id)
    fields = {"rows.id": [5, 45], "total": [5, 5]} if is_learnt else {}
    file.write_text(json.dumps({"tools": {"t": {"samples": 5, "steady": 5, "fields": fields}}}))
    async with before(monkeypatch, host, answers, learn=tmp_path) as wire:
        await wire.tools()
        answer = await wire.call("t")
    assert texts(answer) == ([toon.toon(ROWS)] if is_learnt else [TEXT])
    learnt = json.loads(file.read_text())["tools"]["t"]
    assert (learnt["samples"], learnt["fields"]["total"][0]) == (6, 6 if is_learnt else 1)


async def test_an_error_stays(monkeypatch):
    """Ours."""
    answers = said()
    answers["tools/call"] |= {"isError": True}
    async with before(monkeypatch, CODEX, answers) as wire:
        await wire.tools()
        assert [json.loads(text) for text in texts(await wire.call("t"))] == [ROWS]


@pytest.mark.parametrize("host", [CODEX, GEMINI])
async def test_rules_read_the_value_and_notes_stand_beside_its_text(monkeypatch, host):
    """HOSTS.md: where the host shows them, which is text now."""
    rule = GuidanceRule.read({"tool": "t", "when": {"path": "rows"}, "note": "Ask by id."})
    monkeypatch.setattr(warnings, "MANY_CHARACTERS", 50)
    async with before(monkeypatch, host, guidance=(rule,), warnings=True) as wire:
        await wire.tools()
        text, *notes = texts(await wire.call("t"))
    assert decode(text) == ROWS
    assert [note.partition(":")[0] for note in notes] == ["GUIDANCE", "TOKEN_WARNING"]


async def test_a_projected_answer_keeps_its_receipt(monkeypatch):
    """Ours."""
    async with before(monkeypatch, CODEX, argument="all") as wire:
        await wire.tools()
        answer = await wire.call("t", {"output_fields": ["rows"]})
    assert [decode(text) for text in texts(answer)] == [{"rows": ROWS["rows"]}]
    assert answer["_meta"]["projection"]["fields"] == ["rows"]


async def test_a_kept_answer_has_a_preview_in_json(monkeypatch):
    """Ours: it is read by the paths of its structured content; one that is sent is TOON all the same."""
    for over_bytes, is_kept in ((100, True), (10_000, False)):
        async with before(monkeypatch, CODEX, keep_results=KeptResults(over_bytes=over_bytes)) as wire:
            await wire.tools()
            answer = await wire.call("t")
        assert ("structuredContent" in answer) is is_kept
        assert is_kept or decode(*texts(answer)) == ROWS
    monkeypatch.setitem(HOSTS, "mine", Host("structured", longest_answer=50))
    async with before(monkeypatch, "mine") as wire:
        await wire.tools()
        assert (await wire.call("t"))["structuredContent"]["louver"][0].startswith("Too large to send: ")


@pytest.mark.parametrize("host", [CODEX, GEMINI, "other"])
async def test_the_audit_names_the_fields_of_the_value(monkeypatch, tmp_path, host):
    """Ours: of what a model gets as TOON, as of what it gets as JSON."""
    rules = [{"name": "all", "deny": ["total"]}]
    (tmp_path / "it.policy.json").write_text(json.dumps({"version": "1", "tools": {"*": {"rules": rules}}}))
    entry = fixture("saying", json.dumps(said()), policy="it.policy.json")
    _, path = config(tmp_path, {"it": entry}, toon=True)
    async with opened(read_config(tmp_path / path), monkeypatch, host) as wire:
        await wire.tools()
        text, *_ = texts(await wire.call("t"))
    assert (decode(text) if host != "other" else json.loads(text)) == {"rows": ROWS["rows"]}
    with closing(AuditReport(tmp_path / "audit.db")) as report:
        (record,) = report.records()
    assert (record.fields, record.dropped) == (("rows.*.id", "rows.*.name"), 1)


@pytest.mark.whole
@pytest.mark.parametrize(("count", "is_on_loop"), [(5, True), (MAX_TOON_ON_LOOP // 10, False)])
async def test_a_large_answer_is_written_in_a_thread(monkeypatch, count, is_on_loop):
    """PRIVACY.md, "Hostile inputs": the event loop never stalls."""
    found, encode = [], toon.encode
    monkeypatch.setattr(toon, "encode", lambda value: found.append(threading.current_thread()) or encode(value))
    async with before(monkeypatch, CODEX, said({"rows": [{"id": 1, "name": "n"}] * count})) as wire:
        await wire.tools()
        assert len(decode(*texts(await wire.call("t")))["rows"]) == count
    assert [thread is threading.main_thread() for thread in found] == [is_on_loop]


def test_without_the_library_the_setting_is_refused(monkeypatch, tmp_path):
    """Ours: where it stands, and what to install; without the setting nothing is imported."""
    monkeypatch.setitem(sys.modules, "toon_format", None)
    text = '{"mcpServers": {"a": {"command": "a"}},\n"louver": {\n"toon": %s}}'
    assert read_config(write(tmp_path, text % "false"), ENVIRON).toon is False
    path = write(tmp_path, text % "true")
    with pytest.raises(InvalidConfig) as caught:
        read_config(path, ENVIRON)
    assert str(caught.value) == (
        f"{path}:3: 'toon': answers as TOON need the extra 'toon': uv sync --inexact --extra toon"
    )
    assert "louver.steps.calls.toon" not in served_modules()
