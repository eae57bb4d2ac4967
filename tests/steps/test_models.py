"""What a model gets: no schema, nothing twice, and everything that is said where its host shows it."""

from __future__ import annotations

import json
import re
from contextlib import asynccontextmanager, closing

import pytest
from jsonschema import Draft202012Validator

import louver
from louver.catalogue.hosts import HOSTS, UNKNOWN, host_of
from louver.middleware import FieldPolicy
from louver.steps.audit.report import AuditReport
from steps import wire as wires
from steps.kept import COUNT, ISSUES, issues
from steps.profiles import PROFILE, SCHEMA, lowlevel, structured, text, tool
from steps.wire import NEW, OLD, PROGRAM, connect

pytestmark = pytest.mark.anyio

ALWAYS = [{"tool": "*", "note": "Ask by id."}]
GUIDANCE = "GUIDANCE: Ask by id."
SPELLED = json.dumps(PROFILE, indent=2)
SHOWN = {"claude-code": "structured", "gemini-cli-mcp-client": "text", "qwen-cli-mcp-client-x": "text", "other": "both"}


@asynccontextmanager
async def before(server, era, monkeypatch, host="other", extensions=None, **options):
    """A connection of a host to a server after `louver.attach`."""
    monkeypatch.setattr(wires, "CLIENT", {"name": host, "version": "1"})
    louver.attach(server, **options)
    async with connect(server, era, extensions=extensions or {}) as wire:
        yield wire


def texts(answer):
    return [block["text"] for block in answer["content"] if block["type"] == "text"]


def guided():
    return {"guidance": [{"tool": "t", "when": {"path": "id"}, "note": "Ask by id."}]}


@pytest.mark.parametrize("host", SHOWN)
async def test_what_is_said_beside_an_answer_stands_where_its_host_shows_it(era, monkeypatch, host):
    """HOSTS.md: in text, in the structured content, or in both for hosts that are not known; never in `_meta`.

    There the text stays the structured content spelled out: some hosts show the first text alone.
    """
    spelled = {"structuredContent": PROFILE, "content": [{"type": "text", "text": SPELLED}]}
    made = lowlevel(t=tool(SCHEMA, spelled))
    async with before(made.server, era, monkeypatch, host, **guided()) as wire:
        listed = (await wire.tools())["t"]["outputSchema"]
        answer = await wire.call("t")
    notes = answer["structuredContent"].pop("louver", [])
    assert answer["structuredContent"] == PROFILE
    if SHOWN[host] == "text":
        assert (notes, texts(answer)[1:]) == ([], [GUIDANCE])
    else:
        assert notes == [GUIDANCE]
        assert [json.loads(text) for text in texts(answer)] == [{**PROFILE, "louver": [GUIDANCE]}]
    assert "dev.louver/guidance" not in answer.get("_meta", {})
    assert Draft202012Validator(listed).is_valid({**PROFILE, "louver": notes})


async def test_a_program_gets_the_pristine_structured_content(era, monkeypatch):
    """HOSTS.md: who asks by `_meta`, or declares the extension; whatever host it says that it is."""
    asked = {"projection": {"mode": "include", "fields": ["id"]}}
    for extensions, meta in ((PROGRAM, {}), ({}, asked), (PROGRAM, asked)):
        made = lowlevel(t=tool(SCHEMA))
        async with before(made.server, era, monkeypatch, "claude-code", extensions, **guided()) as wire:
            answer = await wire.call("t", **meta)
        assert answer["structuredContent"] == ({"id": 7} if meta else PROFILE)
        assert answer["_meta"]["dev.louver/guidance"] == [{"note": "Ask by id."}]
        assert texts(answer)[1:] == [GUIDANCE]
        assert not meta or "projectedSchema" in answer["_meta"]["projection"]


async def test_where_the_structured_content_has_no_room_it_is_said_in_text(era, monkeypatch):
    """Ours: a tool that has such a member, or lists a schema that does not admit it, or answers text."""
    own = {"type": "object", "properties": {"id": {}, "louver": {}}}
    names = {"type": "object", "properties": {"id": {}}, "propertyNames": {"maxLength": 2}}
    made = lowlevel(
        own=tool(own, structured({"id": 1, "louver": 2})),
        names=tool(names, structured({"id": 1})),
        told=tool(None, text('{"id": 1}')),
    )
    rules = [{"tool": name, "when": {"path": "id"}, "note": "Ask by id."} for name in ("own", "names", "told")]
    async with before(made.server, era, monkeypatch, "claude-code", guidance=rules) as wire:
        for name in ("own", "names", "told"):
            answer = await wire.call(name)
            assert texts(answer)[-1] == GUIDANCE
            assert answer.get("structuredContent") in (None, {"id": 1, "louver": 2}, {"id": 1})


NOISY = {"$schema": "s", "type": "object", "title": "tArguments", "properties": {"n": {"title": "N"}}, "required": []}
TEXT_SCHEMA = {"type": "object", "properties": {"content": {"type": "string"}}, "required": ["content"]}


async def test_input_schemas_are_lean_for_models_alone(era, monkeypatch):
    """Step 22: of hosts in the table; a program, or who it may be, gets what the server lists."""
    for host, extensions in (("codex-mcp-client", {}), ("other", {}), ("gemini-cli-mcp-client", PROGRAM)):
        made = lowlevel(t=tool(None, text("x"), input=NOISY))
        async with before(made.server, era, monkeypatch, host, extensions) as wire:
            listed = (await wire.tools())["t"]["inputSchema"]
        expected = {"type": "object", "properties": {"n": {}}} if host == "codex-mcp-client" else NOISY
        assert listed == expected, host


@pytest.mark.parametrize("mode", ["enforce", "on-error"])
async def test_descriptions_are_signatures_for_models_of_known_hosts_alone(era, monkeypatch, mode):
    """VALUE.md: in half the tokens."""
    input = {"type": "object", "properties": {"n": {"type": "integer", "description": "How many."}}, "required": ["n"]}
    for host, signed in (("codex-mcp-client", True), ("other", False)):
        made = lowlevel(t=tool(SCHEMA, input=input))
        async with before(made.server, era, monkeypatch, host, disclosure=mode) as wire:
            (text,) = texts(await wire.call("get_tool_descriptions", {"tools": ["t", "u"]}))
            (error,) = texts(await wire.call("t")) if mode == "on-error" else (None,)
        if not signed:
            assert json.loads(text)["t"]["inputSchema"]["required"][0] == "n"
            continue
        assert text.startswith("t{n: int}\n")
        assert "\n  - n: How many.\n  -> {id: int, name: string, " in text
        assert """{"error":"Tool 'u' not found","available_tools":["t"]}""" in text
        assert error is None or error.startswith('The arguments do not fit: "n" is a required property. t is described')
        assert error is None or "\nt{n: int}\n" in error


async def test_one_string_is_sent_out_of_its_json(era, monkeypatch):
    """Step 22: to hosts that would show the JSON; where no output schema is listed none is expected."""
    for host, shown in SHOWN.items():
        said = {**structured({"content": 'one "line"\n'}), "content": [{"type": "text", "text": "a summary"}]}
        made = lowlevel(t=tool(TEXT_SCHEMA, said))
        async with before(made.server, era, monkeypatch, host) as wire:
            listed = (await wire.tools())["t"]
            answer = await wire.call("t")
        if shown == "structured":
            assert "outputSchema" not in listed
            assert (answer.get("structuredContent"), texts(answer)) == (None, ['one "line"\n'])
        else:
            assert "outputSchema" in listed
            assert (answer["structuredContent"], texts(answer)) == (said["structuredContent"], ["a summary"])


async def test_an_output_that_turns_into_one_string_stays_structured(era, monkeypatch):
    """Ours: a client may hold the list from before, with an output schema, and then refuses an answer without one."""
    made = lowlevel(t=tool(SCHEMA))
    async with before(made.server, era, monkeypatch, "codex-mcp-client") as wire:
        assert "outputSchema" in (await wire.tools())["t"]
        made.tools["t"] = tool(TEXT_SCHEMA, structured({"content": "x"}))
        for _ in range(2):
            assert "outputSchema" in (await wire.tools())["t"]
            assert (await wire.call("t"))["structuredContent"] == {"content": "x"}


async def test_the_audit_names_the_fields_of_what_is_sent_in_another_form(era, monkeypatch, tmp_path):
    """Ours: of a string out of its JSON, of a page of a kept answer, and of counts of it."""
    file = tmp_path / "it.policy.json"
    allowed = {"t": ["content"], "told": ["total"], "list_issues": ["total", "issues"]}
    shown = {name: {"rules": [{"name": "all", "allow": fields}]} for name, fields in allowed.items()}
    file.write_text(json.dumps({"version": "1", "tools": shown}))
    made = issues(t=tool(TEXT_SCHEMA, structured({"content": "x"})))
    for keeps in ({}, {"results": louver.KeptResults(over_bytes=20_000)}):
        audit = tmp_path / f"{len(keeps)}.db"
        options = {"policy": FieldPolicy(file, audit=audit), **keeps}
        async with before(lowlevel(**made.tools).server, era, monkeypatch, "codex-mcp-client", **options) as wire:
            if not keeps:
                await wire.tools()
                assert texts(await wire.call("t")) == ["x"]
            else:
                (text,) = (await wire.call("list_issues"))["structuredContent"]["louver"]
                handle = re.search('"handle": "([^"]+)"', text).group(1)
                for part in ({"output_fields": ["total", "issues.id"], "page": 1}, {"count_by": "user.login"}):
                    assert (await wire.call("read_result", {"handle": handle, **part})).get("isError") is not True
        with closing(AuditReport(audit)) as report:
            sent = [record.fields for record in report.records()]
        # Counts are recorded under the field that is counted.
        read = [("issues.*.id", "total"), ("issues.*.user.login",)]
        assert sent[-len(read) :] == read if keeps else sent[-1] == ("content",)


@pytest.mark.parametrize("host", SHOWN)
async def test_a_kept_result_is_read_to_its_end_by_the_tool_for_that(era, monkeypatch, host):
    """HOSTS.md: models cannot read resources; the preview names the tool and the handle."""
    made = issues()
    async with before(made.server, era, monkeypatch, host, results=louver.KeptResults(over_bytes=20_000)) as wire:
        assert (await wire.tools())["read_result"]["annotations"]["readOnlyHint"] is True
        answer = await wire.call("list_issues")
        shown = answer["structuredContent"].get("louver", []) if SHOWN[host] == "structured" else texts(answer)
        handle = re.search('"handle": "([^"]+)"', shown[0]).group(1)
        assert "read_result" in shown[0]
        assert not [block for block in answer["content"] if block["type"] != "text"]
        assert "dev.louver/result" not in answer.get("_meta", {})
        seen, page, pages = [], 0, 1
        while page < pages:
            page += 1
            part = await wire.call("read_result", {"handle": handle, "page": page, "fields": ["issues.id"]})
            head, rows = texts(part)[0].split("\n")
            pages = int(re.match(r"page \d+ of (\d+), 1,280 elements in all", head).group(1))
            seen += [row["id"] for row in json.loads(rows)["issues"]]
    assert seen == [*range(COUNT)]
    assert made.calls == [("list_issues", {})]


READS = {
    "no handle": ({}, "'handle': expected the text that the answer gave"),
    "no number": ({"page": "two"}, "'page': expected a whole number from 1"),
    "no page": ({"page": 99}, "'page': expected a number from 1 to 21"),
    "no path": ({"fields": ["a..b"]}, "field path 'a..b'"),
    "no view": ({"view": "nope"}, "'nope'"),
    "both": ({"view": "people", "fields": ["issues.id"]}, "either fields or a 'view'"),
    "no argument": (
        {"pages": 1},
        "'pages' is no argument: 'read_result' takes 'handle', 'output_fields', 'view', 'page', 'sort_by',",
    ),
    "no field": ({"output_fields": ["issues.titel"]}, "did you mean 'issues.title'?"),
    "all of it": ({}, "ask for fewer 'output_fields' (issues.body is the largest), or for a 'page' from 1 to 21"),
}


@pytest.mark.parametrize(("arguments", "told"), READS.values(), ids=READS)
async def test_what_is_wrong_with_a_read_is_told_in_one_sentence(era, monkeypatch, arguments, told):
    """Ours."""
    made = issues()
    async with before(made.server, era, monkeypatch, results=louver.KeptResults()) as wire:
        handle = re.search('"handle": "([^"]+)"', texts(await wire.call("list_issues"))[0]).group(1)
        given = {} if told.startswith("'handle'") else {"handle": handle}
        answer = await wire.call("read_result", {**given, **arguments})
    assert answer["isError"] is True
    assert told in answer["content"][0]["text"]
    assert len(answer["content"]) == 1


@pytest.mark.parametrize("name", ["list_issues", "told"])
async def test_pages_of_whole_elements_fit_the_bound_that_the_preview_is_for(era, monkeypatch, name):
    """Step 22: each page can be read, and all together are the answer; of what is not declared too."""
    async with before(issues().server, era, monkeypatch, results=louver.KeptResults(over_bytes=50_000)) as wire:
        handle = re.search('"handle": "([^"]+)"', texts(await wire.call(name))[0]).group(1)
        rows, page, pages = [], 0, 1
        while page < pages:
            page += 1
            (text,) = texts(await wire.call("read_result", {"handle": handle, "page": page}))
            assert len(text.encode()) <= 50_000
            head, part = text.split("\n")
            pages = int(re.match(r"page \d+ of (\d+),", head).group(1))
            rows += json.loads(part)["issues"]
        wrong = await wire.call("read_result", {"handle": handle, "page": 1, "output_fields": ["issues.titel"]})
    assert rows == ISSUES["issues"]
    assert pages > COUNT / 100
    assert wrong["isError"] is True
    assert "did you mean 'issues.title'?" in texts(wrong)[0]


async def test_empty_arguments_of_a_read_are_none(era, monkeypatch):
    """HOSTS.md: some hosts send each optional argument empty; a URI is as good as a handle."""
    made = issues()
    async with before(made.server, era, monkeypatch, results=louver.KeptResults()) as wire:
        handle = re.search('"handle": "([^"]+)"', texts(await wire.call("list_issues"))[0]).group(1)
        empty = {"view": "", "page": None}
        for each in (handle, f"louver://results/{handle}"):
            part = await wire.call("read_result", {"handle": each, "fields": "total", **empty})
            assert texts(part) == ['{"total":1280}']
        for guessed in ("x", "louver://results/x"):
            assert (await wire.call("read_result", {"handle": guessed}))["isError"] is True


async def test_a_tool_of_that_name_stays_that_of_the_server(era, monkeypatch):
    """Ours: then results are read by resources."""
    made = issues(read_result=tool(None, text("mine")))
    async with before(made.server, era, monkeypatch, results=louver.KeptResults()) as wire:
        assert (await wire.tools())["read_result"].get("title") is None
        assert texts(await wire.call("read_result", {"handle": "x"})) == ["mine"]
        assert "louver://results/" in texts(await wire.call("list_issues"))[0]


@pytest.mark.parametrize(
    ("said", "becomes"),
    [
        (SPELLED, json.dumps(PROFILE, separators=(",", ":"))),
        (json.dumps(PROFILE), json.dumps(PROFILE, separators=(",", ":"))),
        ("Ann is here.", "Ann is here."),
        (json.dumps({**PROFILE, "id": 8}, indent=2), json.dumps({**PROFILE, "id": 8}, indent=2)),
        ("{\n not JSON", "{\n not JSON"),
    ],
)
async def test_text_that_is_just_the_structured_content_is_written_without_white_space(era, monkeypatch, said, becomes):
    """HOSTS.md: lossless first; text that is the tool's own is never touched."""
    result = {"content": [{"type": "text", "text": said}], "structuredContent": PROFILE}
    made = lowlevel(t=tool(SCHEMA, result))
    async with before(made.server, era, monkeypatch) as wire:
        answer = await wire.call("t")
    assert texts(answer) == [becomes]
    assert answer["structuredContent"] == PROFILE


async def test_an_unknown_field_of_an_output_that_nothing_declares_is_told_with_those_that_it_has(era, monkeypatch):
    """HOSTS.md: guessing fails; the weightiest first."""
    rows = {"nodes": [{"id": number, "text": "x" * 50} for number in range(3)], "total": 3}
    made = lowlevel(t=tool(None, text(json.dumps(rows))))
    options = {"argument": True, "views": {"t": {"brief": ["total"]}}}
    async with before(made.server, era, monkeypatch, **options) as wire:
        wrong = await wire.call("t", {"output_fields": ["node"]})
        half = await wire.call("t", {"output_fields": ["total", "node"]})
    assert texts(wrong) == [
        "output_fields: the output has no field 'node'; did you mean 'nodes'? Its fields: nodes.text, nodes.id, total"
    ]
    assert wrong["isError"] is True
    assert texts(half) == ['{"total":3}', "NOTE: the output has no field 'node'; did you mean 'nodes'?"]


async def test_resources_are_announced_where_there_is_something_to_read(era, monkeypatch):
    """HOSTS.md: OpenCode gives its model three more tools for them."""
    for extensions, options, announced in (
        ({}, {}, False),
        (PROGRAM, {}, False),
        ({}, {"results": louver.KeptResults()}, True),
    ):
        async with before(lowlevel(t=tool(SCHEMA)).server, era, monkeypatch, extensions=extensions, **options) as wire:
            assert ("resources" in wire.opening["capabilities"]) is announced


def test_hosts_are_known_by_the_name_of_their_client():
    """HOSTS.md: Qwen Code adds the name of the server; an unknown client gets both."""
    assert host_of("qwen-cli-mcp-client-memory") is HOSTS["qwen-cli-mcp-client"]
    assert host_of("claude-code").shown == "structured"
    assert host_of("claude-codex") is UNKNOWN
    assert host_of(None) is host_of("mcp") is UNKNOWN


def test_both_revisions_are_tried():
    """Ours."""
    assert {OLD, NEW} == {"2025-11-25", "2026-07-28"}
