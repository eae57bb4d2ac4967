"""Tools that declare nothing, and whose output a file declares."""

from __future__ import annotations

import json
import os
from contextlib import asynccontextmanager

import pytest
from mcp import Client, MCPError

from fixtures.forking import PYTHON
from fixtures.samples import CANARY
from gateway.served import FIXTURES
from louver import relax
from louver.catalogue.files.output_schemas import SchemaFile, SchemaFiles, file_name
from louver.errors import InvalidSchema
from louver.gateway.config.model import Config, UpstreamConfig
from louver.gateway.gateway import Gateway
from louver.gateway.in_process import sdk_server
from steps.wire import NEW, OLD, connect, text_of

ITEM = {
    "type": "object",
    "required": ["id", "kind"],
    "properties": {"id": {"type": "integer"}, "kind": {"type": "string"}, "body": {"type": "string"}, "owner": {}},
}
ITEMS = {
    "type": "object",
    "required": ["items", "total"],
    "properties": {"items": {"type": "array", "items": ITEM}, "total": {"type": "integer"}},
}
WRAPPED = {"type": "object", "required": ["result"], "properties": {"result": {"type": "array", "items": ITEM}}}
NUMBERS = {
    "type": "object",
    "required": ["result"],
    "properties": {"result": {"type": "array", "items": {"type": "integer"}}},
}
TEXTS = {"type": "object", "required": ["content"], "properties": {"content": {"type": "string"}}}
IDS = {"mode": "include", "fields": ["items.id"]}

pytestmark = pytest.mark.anyio
every_era = pytest.mark.parametrize("era", [OLD, NEW])


def put(folder, stamp=1, /, **schemas):
    """Files of schemas, with an explicit time, so that a change is one without waiting."""
    for tool, schema in schemas.items():
        path = folder / file_name(tool.replace("_", "-"))
        path.write_text(schema if isinstance(schema, str) else json.dumps(schema))
        os.utime(path, ns=(stamp, stamp))
    return folder


def samples(schemas=None, name="samples", **settings):
    return UpstreamConfig(name, "stdio", command=(PYTHON, str(FIXTURES / "samples.py")), schemas=schemas, **settings)


@asynccontextmanager
async def before(era, *upstreams, **config):
    """A connection to a gateway before servers, and the gateway."""
    gateway = Gateway(Config(upstreams, **config), single_client=False)
    try:
        async with connect(sdk_server(gateway.answer), era) as wire:
            yield wire, gateway
    finally:
        await gateway.close()


@every_era
async def test_it_is_listed_as_one_that_its_server_declares(era, tmp_path):
    """WIRE.md, "Listing": what was inferred never enters the list, a configured schema file does."""
    async with before(era, samples(put(tmp_path, as_text=ITEMS))) as (wire, _):
        tools = await wire.tools()
    assert tools["as-text"]["outputSchema"] == relax(ITEMS)
    assert tools["as-text"]["annotations"]["projectionHint"]["supported"] is True
    assert "output_fields" in tools["as-text"]["inputSchema"]["properties"]
    assert "outputSchema" not in tools["in-a-string"]
    assert "properties" not in tools["in-a-string"]["inputSchema"]


@every_era
async def test_every_answer_has_structured_content_and_its_text_as_it_was(era, tmp_path):
    """Ours: stock clients throw where a tool with an output schema gives none."""
    async with before(era, samples()) as (wire, _):
        plain = await wire.call("as-text")
    async with before(era, samples(put(tmp_path, as_text=ITEMS))) as (wire, _):
        answer = await wire.call("as-text")
    assert "structuredContent" not in plain
    assert answer == {**plain, "structuredContent": text_of(plain)}


@every_era
async def test_projections_derive_from_it(era, tmp_path):
    """GATEWAY.md: the file makes it declared: the receipt tells no inferred schema, and unknown fields are refused."""
    async with before(era, samples(put(tmp_path, as_text=ITEMS))) as (wire, _):
        answer = await wire.call("as-text", projection=IDS)
        by_argument = await wire.call("as-text", {"output_fields": ["items.id"]})
        with pytest.raises(MCPError) as refused:
            await wire.call("as-text", projection={"mode": "include", "fields": ["itms"], "strict": True})
    receipt = answer["_meta"]["projection"]
    assert answer["structuredContent"] == text_of(answer) == {"items": [{"id": 0}, {"id": 1}, {"id": 2}]}
    assert by_argument["structuredContent"] == answer["structuredContent"]
    assert "schemaSource" not in receipt
    assert receipt["projectedSchema"]["properties"]["items"]["items"]["properties"] == {"id": {"type": "integer"}}
    assert refused.value.error.data["error"]["suggestions"] == {"itms": "items"}


@every_era
async def test_a_list_stands_in_an_object(era, tmp_path):
    """WIRE.md, eras: in 2025-11-25 structured content is an object; SDKs call its one member `result`."""
    schemas = put(tmp_path, numbers=NUMBERS, in_a_string=WRAPPED)
    async with before(era, samples(schemas)) as (wire, _):
        numbers, whole = await wire.call("numbers"), await wire.call("in-a-string")
        part = await wire.call("in-a-string", projection={"mode": "include", "fields": ["id"], "strict": True})
    assert numbers["structuredContent"] == {"result": [1, 2]}
    assert [item["id"] for item in whole["structuredContent"]["result"]] == [0, 1, 2]
    assert part["structuredContent"] == {"result": [{"id": 0}, {"id": 1}, {"id": 2}]}


async def test_a_file_may_say_that_there_is_just_a_text(tmp_path):
    """Ours: the file says what the structured content is; JSON in the one string is projected as ever."""
    async with before(NEW, samples(put(tmp_path, in_a_string=TEXTS))) as (wire, _):
        whole = await wire.call("in-a-string")
        part = await wire.call("in-a-string", projection={"mode": "include", "fields": ["id"]})
    assert isinstance(whole["structuredContent"]["content"], str)
    assert json.loads(part["structuredContent"]["content"]) == [{"id": 0}, {"id": 1}, {"id": 2}]


@pytest.mark.parametrize("listing", ["relaxed", "omit", "strict"])
@pytest.mark.parametrize(
    ("tool", "schema"),
    [("prose", ITEMS), ("numbers", ITEMS), ("as-text", {**ITEMS, "properties": {"total": {"type": "string"}}})],
)
@every_era
async def test_an_answer_that_does_not_fit_is_an_error(era, tmp_path, caplog, tool, schema, listing):
    """Ours: what else a client would throw at; no value of it is told."""
    schemas = put(tmp_path, **{tool: schema})
    async with before(era, samples(schemas), listing=listing) as (wire, _):
        for said in ({}, {"projection": IDS}):
            answer = await wire.call(tool, **said)
            assert answer["isError"] is True
            assert "structuredContent" not in answer
            assert answer["_meta"]["dev.louver/error"]["code"] == "OUTPUT_INVALID"
            assert CANARY not in json.dumps(answer)
    assert f"tool '{tool}': a file declares its output, and an answer " in caplog.text
    assert CANARY not in caplog.text


@pytest.mark.parametrize(("listing", "is_error"), [("relaxed", False), ("strict", True)])
async def test_an_answer_is_held_against_what_is_listed(tmp_path, listing, is_error):
    """Ours: a client that sees the schema without `required` takes an answer in which something is missing."""
    schema = {**ITEMS, "required": ["items", "total", "cursor"]}
    async with before(NEW, samples(put(tmp_path, as_text=schema)), listing=listing) as (wire, _):
        assert (await wire.call("as-text"))["isError"] is is_error


@every_era
async def test_errors_and_questions_stay_as_they_are(era, tmp_path):
    """GATEWAY.md, "Transparency first"."""
    async with before(era, samples()) as (wire, _):
        plain = await wire.call("fails")
    async with before(era, samples(put(tmp_path, fails=ITEMS, refuses=ITEMS))) as (wire, _):
        assert await wire.call("fails") == plain
        with pytest.raises(MCPError):
            await wire.call("refuses")


@pytest.mark.parametrize("mode", ["legacy", NEW])
async def test_a_stock_client_takes_every_answer(tmp_path, mode):
    """Ours: it validates what has an output schema, and throws."""
    schemas = put(tmp_path, as_text=ITEMS, numbers=NUMBERS, prose=ITEMS, fails=ITEMS)
    gateway = Gateway(Config((samples(schemas),)), single_client=False)
    try:
        async with Client(sdk_server(gateway.answer), mode=mode) as client:
            listed = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
            answers = {tool: await client.call_tool(tool, {}) for tool in ("as-text", "numbers", "prose", "fails")}
            part = await client.call_tool("as-text", {"output_fields": ["total"]})
    finally:
        await gateway.close()
    assert listed["as-text"] == relax(ITEMS)
    assert {tool: answer.is_error for tool, answer in answers.items()} == {
        "as-text": False,
        "numbers": False,
        "prose": True,
        "fails": True,
    }
    assert part.structured_content == {"total": 3}


@every_era
async def test_of_several_servers_a_file_is_of_its_own_server(era, tmp_path):
    """GATEWAY.md: `server__tool`; the file has the server's own name of the tool."""
    schemas = put(tmp_path, as_text=ITEMS)
    async with before(era, samples(schemas, "one"), samples(None, "two")) as (wire, _):
        listed = await wire.tools()
        one, two = await wire.call("one__as-text"), await wire.call("two__as-text")
    assert ("outputSchema" in listed["one__as-text"], "outputSchema" in listed["two__as-text"]) == (True, False)
    assert ("structuredContent" in one, "structuredContent" in two) == (True, False)


@every_era
async def test_what_the_server_declares_itself_counts(era, tmp_path):
    """Ours: it knows more than a file; the check says so."""
    (tmp_path / "find.output.schema.json").write_text(json.dumps(NUMBERS))
    (tmp_path / "gone.output.schema.json").write_text(json.dumps(NUMBERS))
    records = UpstreamConfig("records", "stdio", command=(PYTHON, str(FIXTURES / "records.py")))
    there = UpstreamConfig("records", "stdio", command=records.command, schemas=tmp_path)
    async with before(era, records) as (wire, _):
        plain = (await wire.tools())["find"], await wire.call("find"), await wire.call("find", projection=IDS)
    async with before(era, there) as (wire, gateway):
        assert (await wire.tools())["find"] == plain[0]
        assert (await wire.call("find"), await wire.call("find", projection=IDS)) == plain[1:]
        (state,) = await gateway.open()
        assert gateway.problems_of(state) == [
            "records: a file declares the output of a tool 'gone', which it does not have",
            "records: tool 'find' declares its output itself: that counts, and 'find.output.schema.json' is not used",
        ]


@every_era
async def test_a_call_before_any_list_is_answered_as_declared(era, tmp_path):
    """Ours: what the tool declares itself is looked up then."""
    async with before(era, samples(put(tmp_path, as_text=ITEMS))) as (wire, _):
        assert (await wire.call("as-text"))["structuredContent"]["total"] == 3


@every_era
async def test_a_changed_file_counts_from_the_next_call_on(era, tmp_path, caplog):
    """Ours, as with views: one that is wrong is told, and the last good ones stay."""
    folder = put(tmp_path, as_text=ITEMS)
    strict = {"mode": "include", "fields": ["sum"], "strict": True}
    async with before(era, samples(folder)) as (wire, _):
        await wire.tools()
        put(folder, 2, as_text={**ITEMS, "properties": {**ITEMS["properties"], "sum": {"type": "integer"}}})
        assert (await wire.call("as-text", projection=strict))["structuredContent"] == {}
        put(folder, 3, as_text='{"type": "object",\n"properties": 5}')
        assert (await wire.call("as-text", projection=strict))["structuredContent"] == {}
        assert "output schemas stay as they were" in caplog.text
        assert "as-text.output.schema.json:2: not a JSON Schema: what stands at 'properties' is not" in caplog.text
        (folder / file_name("as-text")).unlink()
        assert "structuredContent" not in await wire.call("as-text")
        assert "outputSchema" not in (await wire.tools())["as-text"]


async def test_views_are_held_against_it(tmp_path):
    """Ours: a view of a field that the file does not know is told, as of any that is declared."""
    views = {"tool": "as-text", "views": {"brief": ["items.id"], "odd": ["items.nmae"]}}
    closed = {**ITEMS, "properties": {"items": {"type": "array", "items": {**ITEM, "additionalProperties": False}}}}
    (tmp_path / "as-text.views.json").write_text(json.dumps(views))
    async with before(NEW, samples(put(tmp_path, as_text=closed), views=tmp_path)) as (_, gateway):
        (state,) = await gateway.open()
        (problem,) = gateway.problems_of(state)
    assert "view 'odd' names 'items.nmae', which the output cannot have" in problem


@every_era
async def test_a_default_view_derives_from_it(era, tmp_path):
    """Ours: what is declared by a file is so in every way of asking."""
    content = {"tool": "as-text", "default": "brief", "views": {"brief": ["items.id"]}}
    (tmp_path / "as-text.views.json").write_text(json.dumps(content))
    upstream = samples(put(tmp_path, as_text=ITEMS), views=tmp_path)
    async with before(era, upstream) as (wire, _):
        answer = await wire.call("as-text")
    assert answer["structuredContent"] == {"items": [{"id": 0}, {"id": 1}, {"id": 2}]}
    assert "schemaSource" not in answer["_meta"]["projection"]


# The files


WRONG = {
    "no JSON": ('{"type": "object",\n}', 2, "not JSON"),
    "no object": ("[]", 1, "expected the schema of an object"),
    "the schema of a list": ('{\n"type": "array"}', 2, "that of a list is {"),
    "no root": ('{"properties": {}}', 1, 'with "type": "object"'),
    "no schema": ('{"type": "object", "properties": {\n"a": {\n"type": "text"}}}', 3, "stands at 'properties/a/type'"),
    "a part that is none": ('{"type": "object", "properties": {\n"a": 5}}', 2, "what stands at 'properties/a' is not"),
    "another dialect": ('{\n"$schema": "http://json-schema.org/draft-04/schema#", "type": "object"}', 2, "2020-12"),
    "a key twice": ('{"type": "object",\n"type": "object"}', 2, "a key stands twice"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_file_that_is_no_schema_is_told_by_its_line(tmp_path, case):
    """STYLE.md: what, where, and what would have been right."""
    content, line, said = WRONG[case]
    path = tmp_path / "t.output.schema.json"
    path.write_text(content)
    with pytest.raises(InvalidSchema) as found:
        SchemaFile.read(path)
    assert (found.value.fields["file"], found.value.fields["line"]) == (str(path), line)
    assert said in found.value.message


@pytest.mark.parametrize(
    "dialect", ["https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"]
)
async def test_a_schema_may_be_of_a_dialect_that_is_known(tmp_path, dialect):
    """Ours: what is listed is of draft 2020-12."""
    schema = {"$schema": dialect, "definitions": {"i": {"type": "integer"}}, "type": "object"}
    schema["properties"] = {"total": {"$ref": "#/definitions/i"}}
    async with before(NEW, samples(put(tmp_path, as_text=schema))) as (wire, _):
        assert (await wire.tools())["as-text"]["outputSchema"]["properties"] == {"total": {"type": "integer"}}
        assert (await wire.call("as-text"))["structuredContent"]["total"] == 3


@pytest.mark.parametrize("tool", ["get_issue", "a.b-c", "a b", "a_b", "a/b", "../../escape", "%2F", "é", "x.output"])
def test_each_name_of_a_tool_is_that_of_one_file(tmp_path, tool):
    """Ours: no two tools share a file, and none leads out of the folder."""
    path = tmp_path / file_name(tool)
    path.write_text(json.dumps(ITEMS))
    assert path.parent == tmp_path
    files = SchemaFiles({"s__": tmp_path})
    assert files.tools() == [f"s__{tool}"]
    assert files.find(f"s__{tool}").schema == ITEMS
    assert files.find(tool) is None
