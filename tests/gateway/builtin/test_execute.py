"""The tool `execute`, before real servers, for stock clients."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager

import anyio
import httpx2
import pytest
from jsonschema import Draft202012Validator
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from fixtures.failsafe import FAILSAFE_S
from fixtures.forking import PYTHON
from fixtures.process import http_process
from gateway.builtin.test_service import SERVERS
from gateway.builtin.test_tools import error_of, text_of
from gateway.gateways import LOUVER
from gateway.served import FIXTURES, at, config, serving, stateless
from gateway.test_exposure import arguments_of, described
from louver.core.json import compact
from louver.gateway.config.model import Config, UpstreamConfig
from louver.gateway.gateway import Gateway
from louver.gateway.in_process import sdk_server
from louver.shipped import folder

pytestmark = pytest.mark.anyio

DISCOVERY = ["--exposure", "discovery"]
MODES = pytest.mark.parametrize("mode", ["legacy", "auto"])
BIG = {"null": None, "empty": [], "nothing": {}, "big": 2**53 + 1, "bigger": 2**70, "half": 0.5, "one": 1.0}
ANYTHING = {**BIG, "ключ": "значение", "end": {"while": [[1, [2, None]], []]}}
"""What the tool `anything` of `fixtures/discovered.py` answers."""


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    with serving(*config(tmp_path_factory.mktemp("served"), SERVERS), *DISCOVERY) as served:
        yield served.url


@asynccontextmanager
async def over(transport, options, mode):
    """A stock client of a gateway."""
    if transport == "stdio":
        server = StdioServerParameters(command=LOUVER[0], args=[*LOUVER[1:], *options])
        async with Client(stdio_client(server), mode=mode) as client:
            yield client
    else:
        with serving(*options) as served:
            async with Client(served.url, mode=mode) as client:
                yield client


async def run(client, script, **options):
    return await client.call_tool("execute", {"script": script}, **options)


async def test_calls_that_begin_together_all_find_their_tool(tmp_path):
    """Ours: the first calls of a server that says of no list how long it stays, so that it is asked for one."""
    shop = {"command": LOUVER[0], "args": [*LOUVER[1:], "--example"]}
    async with over("http", [*config(tmp_path, {"shop": shop}), *DISCOVERY], "auto") as client:
        both = ", ".join(f"shop.get_user_profile({{user_id = {n}}}, {{fields = {{'id'}}}})" for n in (1, 2, 3))
        answer = await run(client, f"result(await_all{{{both}}})")
        assert json.loads(text_of(answer)) == [{"id": 1}, {"id": 2}, {"id": 3}]


@pytest.mark.parametrize("transport", ["stdio", "http"])
@MODES
async def test_the_example_session(tmp_path, transport, mode):
    """003 section "Example Discovery Session", and those of each tool, against real servers."""
    async with over(transport, [*config(tmp_path, SERVERS), *DISCOVERY], mode) as client:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == [
            "list-servers",
            "list-server-tools",
            "search-tools",
            "tool-details",
            "inspect-tool-response",
            "execute",
        ]
        servers = await client.call_tool("list-servers", {})
        assert {"calculator", "data-server"} <= {each["name"] for each in servers.structured_content["servers"]}
        listed = await client.call_tool("list-server-tools", {"luaServerName": "calculator"})
        assert [each["luaName"] for each in listed.structured_content["tools"]] == ["add", "multiply", "divide"]
        found = await client.call_tool("search-tools", {"needs": ["add two numbers", "multiply them"]})
        assert [need["tools"][0]["luaName"] for need in found.structured_content["needs"]] == ["add", "multiply"]
        assert "For add two numbers:\n- calculator.add: " in text_of(found)
        for needs in (["add two numbers"] * 2, ["add two numbers; multiply them"], ["???", "add two numbers"]):
            found = await client.call_tool("search-tools", {"needs": needs})
            assert found.structured_content["needs"][0]["need"] == needs[-1]
            assert "add" in [each["luaName"] for each in found.structured_content["needs"][0]["tools"]]
        # Word vectors, which are installed here, rank clauses with the whole: it is the one need.
        found = await client.call_tool("search-tools", {"needs": ["add two numbers; multiply two numbers"]})
        assert len(found.structured_content["needs"]) == 1
        there = {"luaServerName": "calculator", "luaToolName": "add"}
        details = await client.call_tool("tool-details", there)
        assert text_of(details).endswith(
            "### Example Usage\n\nlocal result = calculator.add({\n  a = ...,\n  b = ...\n}):await()"
        )
        seen = await client.call_tool("inspect-tool-response", {**there, "sampleArgs": {"a": 1, "b": 2}})
        assert seen.structured_content["fields"] == [
            {"path": "result", "types": ["number"], "bytes": 12, "share": 0.86}
        ]
        answer = await run(client, "result(calculator.add({a=5,b=3}):await())")
        assert answer.structured_content == {"result": 8}
        assert json.loads(text_of(answer)) == {"result": 8}
        both = await run(
            client,
            "local sum = calculator.add({ a = 10, b = 20 }):await()\n"
            "local product = calculator.multiply({ a = sum.result, b = 2 }):await()\n"
            "result({ sum = sum, product = product })",
        )
        assert both.structured_content == {"sum": {"result": 30}, "product": {"result": 60}}
        schema = json.loads((folder("schemas") / "discovery.schema.json").read_text("utf-8"))
        for name, said in (
            ("servers", servers),
            ("tools", listed),
            ("found", found),
            ("details", details),
            ("shape", seen),
        ):
            one = Draft202012Validator({**schema, "anyOf": [{"$ref": f"#/$defs/{name}"}]})
            assert list(one.iter_errors(said.structured_content)) == []


async def test_what_a_client_has_to_read_is_little(url):
    """GATEWAY.md: at most 4,000 bytes of `tools/list`."""
    with httpx2.Client(trust_env=False) as http:
        tools = http.post(url, **stateless("tools/list")).json()["result"]["tools"]
    assert len(compact(tools).encode()) <= 4_000
    assert len(tools) == 6


@MODES
@pytest.mark.parametrize(
    ("script", "text", "structured"),
    [
        ("result({a = 1})", '{"a":1}', {"a": 1}),
        ("result('plain')", "plain", None),
        ("result(null)", "null", None),
        ("result(2.0)", "2.0", None),
        ("result(json.array{})", "[]", {"result": []}),
    ],
)
async def test_what_a_script_gives_is_text_and_where_it_can_be_structured(url, mode, script, text, structured):
    """003 section "5. `execute`"; GATEWAY.md: an array as it is on 2026-07-28, before that wrapped."""
    async with Client(url, mode=mode) as client:
        answer = await run(client, script)
        if isinstance(structured, dict) and mode == "auto":
            structured = structured.get("result", structured)
    assert not answer.is_error
    assert (text_of(answer), answer.structured_content) == (text, structured)


@pytest.fixture
async def client(url):
    async with Client(url) as client:
        yield client


@MODES
async def test_values_come_through_as_they_are(url, mode):
    """Null members, empty arrays, integers over 2^53 and 2^63, floats, unicode and Lua words as keys, nested lists."""
    async with Client(url, mode=mode) as client:
        answer = await run(client, "result(odd.anything():await())")
        assert json.loads(text_of(answer)) == ANYTHING
        assert compact(answer.structured_content) == compact(json.loads(text_of(answer)))
        echoed = await run(client, "result(odd.echo(odd.anything():await()):await().said)")
        assert json.loads(text_of(echoed)) == ANYTHING


async def test_a_call_asks_for_fields_and_gets_no_more(client):
    """SANDBOX.md: `fields` as an option of a call."""
    answer = await run(client, "result(data_server.list_people({limit = 2}, {fields = {'people.name'}}):await())")
    assert answer.structured_content == {"people": [{"name": "n0"}, {"name": "n1"}]}
    prose = error_of(await run(client, "result(odd.prose({}, {fields = {'a'}}):await())"))
    assert "PROJECTION_REQUIRED" in prose["message"]


async def test_a_result_can_be_projected_too(client):
    """GATEWAY.md: projectable like any tool."""
    meta = {"projection": {"mode": "include", "fields": ["people.id"]}}
    answer = await run(client, "result(data_server.list_people({limit = 2}):await())", meta=meta)
    assert answer.structured_content == {"people": [{"id": 0}, {"id": 1}]}
    assert answer.meta["projection"]["applied"] is True


async def test_text_that_is_no_json_is_text(client):
    """Ours: of several blocks the blocks."""
    assert text_of(await run(client, "result(odd.prose():await())")) == "called prose"


async def test_the_error_of_a_tool_ends_a_script_that_does_not_catch_it(client):
    """SANDBOX.md: with its line; what the tool says stands beside it, as the tool said it."""
    answer = await run(client, "local x = 1\nresult(calculator.divide({a = x, b = 0}):await())")
    error = error_of(answer)
    assert (error["code"], error["line"]) == ("SANDBOX_RUNTIME", 2)
    assert "calculator.divide" in error["message"]
    assert "zero" not in text_of(answer)
    assert "cannot divide by zero" in answer.content[1].text
    caught = await run(
        client, "local ok, e = pcall(function() return calculator.divide({a=1,b=0}):await() end) result(e.code)"
    )
    assert text_of(caught) == "TOOL_ERROR"


async def test_unknown_names_are_answered_with_the_nearest(client):
    """SANDBOX.md."""
    server = error_of(await run(client, "result(calculater.add({a=1,b=2}):await())"))
    tool = error_of(await run(client, "result(calculator.ad({a=1,b=2}):await())"))
    assert "calculator" in server["hint"]
    assert "'add'" in tool["message"] + tool.get("hint", "")


async def test_a_script_reaches_no_tool_that_its_client_does_not_see(client):
    """Ours: nor those of the gateway itself."""
    error = error_of(await run(client, "result(calculator.execute({script = 'result(1)'}):await())"))
    assert "UNKNOWN_NAME" in error["message"]


async def test_tools_are_called_by_scripts_alone(client):
    """GATEWAY.md: by their names only where there are none."""
    with pytest.raises(Exception, match="Unknown tool"):
        await client.call_tool("calculator__add", {"a": 1, "b": 2})


@MODES
async def test_calls_are_told_as_progress(url, mode):
    """GATEWAY.md: an `execute` reports upstream calls."""
    told, all_told = [], anyio.Event()

    async def heard(progress, _total, message):
        told.append((progress, message))
        if len(told) == 3:
            all_told.set()

    async with Client(url, mode=mode) as client:
        script = "for n = 1, 3 do calculator.add({a = n, b = n}):await() end result({})"
        await client.call_tool("execute", {"script": script}, progress_callback=heard)
        with anyio.fail_after(FAILSAFE_S):
            await all_told.wait()
    assert told == [(1, "calculator.add"), (2, "calculator.add"), (3, "calculator.add")]


async def test_many_clients_run_scripts_at_once(url):
    """Ours: each gets its own."""

    async def one(number):
        async with Client(url, mode="legacy") as client:
            answer = await run(client, f"result(calculator.add({{a = {number}, b = 0}}):await())")
            return answer.structured_content["result"]

    assert await asyncio.gather(*map(one, range(6))) == [*range(6)]


async def test_scripts_beside_listed_tools(tmp_path):
    """GATEWAY.md: elsewhere off unless `--execute` or the configuration says so."""
    records = {"command": SERVERS["odd"]["command"], "args": [str(FIXTURES / "records.py")]}
    servers = {"records": records, "calculator": SERVERS["calculator"]}
    with serving(*config(tmp_path, servers, execute="strict")) as served:
        async with Client(served.url) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert names[0] == "execute"
            assert {"records__find", "calculator__add"} <= set(names)
            answer = await run(client, "result(records.find({limit = 1}, {fields = {'rows.id'}}):await())")
            assert answer.structured_content == {"rows": [{"id": 0}]}
            assert (await client.call_tool("calculator__add", {"a": 1, "b": 2})).structured_content == {"result": 3}
            assert "Keeps records." in client.instructions
    with serving(*config(tmp_path, servers)) as served:
        async with Client(served.url) as client:
            assert "execute" not in [tool.name for tool in (await client.list_tools()).tools]


READING = {
    "name": "read",
    "annotations": {"readOnlyHint": True},
    "inputSchema": {"type": "object"},
    "outputSchema": {"type": "object", "properties": {"content": {"type": "string"}}, "required": ["content"]},
}
PERSON = '{"name": "Ann", "age": 36}'


@pytest.mark.parametrize(
    ("content", "call", "gives"),
    [
        ("plain words", "one.read()", {"content": "plain words"}),
        (PERSON, "one.read()", {"content": PERSON}),
        ("plain words", "one.read({}, {fields = {'content'}})", {"content": "plain words"}),
        (PERSON, "one.read({}, {fields = {'name'}})", {"name": "Ann"}),
        (PERSON, "one.read({}, {fields = {'content.name'}})", {"name": "Ann"}),
        (PERSON, "one.read({}, {fields = {'content'}})", json.loads(PERSON)),
    ],
)
async def test_a_lone_text_that_is_json_is_read_for_a_script_that_asks_for_fields_alone(content, call, gives):
    """Ours: what a script gets of a file does not hang on what is in it, unless it asks for what is in it."""
    async with behind_one("saying", reading(content), exposure="discovery") as server, Client(server) as client:
        answer = await run(client, f"result({call}:await())")
    assert answer.structured_content == gives


async def test_a_look_tells_that_an_answer_is_json_in_a_string():
    """Ours: its fields can be asked for, and are not there for who asks for none."""
    async with behind_one("saying", reading(PERSON), exposure="discovery") as server, Client(server) as client:
        seen = await client.call_tool("inspect-tool-response", {"luaServerName": "one", "luaToolName": "read"})
    assert seen.structured_content["seat"] == "wrapped text"
    assert "as JSON in a string, which a script is given if it asks for no fields" in text_of(seen)


def reading(content):
    """What a server says whose one tool reads this."""
    called = {"content": [{"type": "text", "text": content}], "structuredContent": {"content": content}}
    return {"tools/list": {"tools": [READING]}, "tools/call": called}


@asynccontextmanager
async def behind_one(fixture, said, **options):
    """A gateway with scripts before a server that says what it is told to."""
    upstream = UpstreamConfig("one", "stdio", command=(PYTHON, str(FIXTURES / f"{fixture}.py"), json.dumps(said)))
    gateway = Gateway(Config((upstream,), execute="strict", **options), single_client=False)
    try:
        yield sdk_server(gateway.answer)
    finally:
        await gateway.close()


@pytest.mark.parametrize("exposure", ["full", "minimal"])
@MODES
async def test_a_server_keeps_the_tool_that_is_named_like_ours(caplog, exposure, mode):
    """GATEWAY.md: no collision is silent. Ours: as with the tool that describes tools, the server keeps its own."""
    async with (
        behind_one("named", ["execute", "other"], exposure=exposure) as server,
        Client(server, mode=mode) as client,
    ):
        tools = [tool.name for tool in (await client.list_tools()).tools]
        assert [name for name in tools if name != "get_tool_descriptions"] == ["execute", "other"]
        arguments = {}
        if exposure == "minimal":
            description = (await described(client, "execute"))["execute"]
            arguments = arguments_of(description) if mode == "auto" else {}
        assert text_of(await client.call_tool("execute", arguments)) == "this is execute"
    said = [record.getMessage() for record in caplog.records if record.name.startswith("louver")]
    assert said.count("the server has a tool 'execute' itself: scripts cannot be run") == 1


async def test_where_descriptions_are_read_first_scripts_wait_for_that_too(tmp_path):
    """000: a tool whose description was not read is not called, by whatever way."""
    with serving(*config(tmp_path, SERVERS), "--exposure", "minimal", "--execute") as served:
        async with Client(served.url, mode="legacy") as client:
            script = "result(calculator.add({a = 1, b = 2}):await())"
            assert "TOOL_DESCRIPTION_REQUIRED" in error_of(await run(client, script))["message"]
            await client.call_tool("get_tool_descriptions", {"tools": ["calculator__add"]})
            assert (await run(client, script)).structured_content == {"result": 3}


async def test_one_server_is_discovered_as_several_are(tmp_path):
    """Ours: its tools keep their names."""
    with serving(*config(tmp_path, {"my-calc": SERVERS["calculator"]}), *DISCOVERY) as served:
        async with Client(served.url) as client:
            answer = await run(client, "result(my_calc.add({a = 1, b = 2}):await())")
    assert answer.structured_content == {"result": 3}


async def test_servers_over_http_are_discovered_too(tmp_path):
    """Ours."""
    with (
        http_process(FIXTURES / "discovered.py", "calculator") as (behind, _),
        serving(*config(tmp_path, {"calc": at(behind)}), *DISCOVERY) as served,
    ):
        async with Client(served.url) as client:
            answer = await run(client, "result(calc.add({a = 1, b = 2}):await())")
    assert answer.structured_content == {"result": 3}
