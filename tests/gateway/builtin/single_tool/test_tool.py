"""The one tool, before real servers, for stock clients."""

from __future__ import annotations

import json
import os
import re
import resource
from contextlib import asynccontextmanager

import httpx2
import pytest
from anyio import to_thread
from jsonschema import Draft202012Validator
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import Implementation

from fixtures.failsafe import OF_FORKS, wait_until
from fixtures.forking import PYTHON
from gateway.builtin.test_service import SERVERS
from gateway.builtin.test_tools import error_of, text_of
from gateway.gateways import LOUVER
from gateway.served import FIXTURES, config, fixture, serving, stateless
from louver.core.json import compact
from louver.errors import ToolFailed
from louver.gateway.builtin.single_tool.exports import FileExports
from louver.gateway.builtin.single_tool.tool import ACTION_PARAMETERS
from louver.gateway.config.model import Config, UpstreamConfig
from louver.gateway.gateway import Gateway
from louver.gateway.in_process import sdk_server
from louver.limits import QUERIES_PER_MINUTE
from louver.steps.results.results import ResultInfo

pytestmark = pytest.mark.anyio

ONE = ["--exposure", "gateway"]
MODES = pytest.mark.parametrize("mode", ["legacy", "auto"])
ALL = {**SERVERS, "records": fixture("records")}


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    with serving(*config(tmp_path_factory.mktemp("served"), ALL), *ONE) as served:
        wait_for_all(served.url)
        yield served.url


@pytest.fixture
async def client(url):
    async with Client(url) as client:
        yield client


def wait_for_all(url):
    """Wait until each server is there: what is asked for before is answered by those that are."""
    asked = stateless("tools/call", name="gateway", arguments={"action": "list"})
    with httpx2.Client(trust_env=False) as http:
        wait_until(lambda: all(f"{name}__" in http.post(url, **asked).text for name in ALL))


async def does(client, action, **arguments):
    """What an action answers, as text and structured the same."""
    answer = await client.call_tool("gateway", {"action": action, **arguments})
    assert not answer.is_error, text_of(answer)
    assert json.loads(text_of(answer)) == answer.structured_content
    return answer.structured_content


async def goes_the_way_of_a_model(client):
    assert [tool.name for tool in (await client.list_tools()).tools] == ["gateway"]
    found = await does(client, "search", query="add two numbers")
    assert found["tools"][0]["id"] == "calculator__add"
    told = await does(client, "get", id="calculator__add")
    assert [each["name"] for each in told["parameters"]] == ["a", "b"]
    assert await does(client, "call", id="calculator__add", arguments={"a": 1, "b": 2}) == {"data": {"result": 3}}


@MODES
async def test_over_http(url, mode):
    """001 pattern 1: one tool, the action says what is done."""
    async with Client(url, mode=mode) as client:
        await goes_the_way_of_a_model(client)


@MODES
async def test_over_stdio(tmp_path, mode):
    options = config(tmp_path, SERVERS, exposure="gateway")
    async with Client(
        stdio_client(StdioServerParameters(command=LOUVER[0], args=[*LOUVER[1:], *options])), mode=mode
    ) as c:
        await goes_the_way_of_a_model(c)


async def test_what_a_client_has_to_read_is_little(url):
    """001 pattern 1; GATEWAY.md: at most 1,200 bytes of `tools/list`."""
    with httpx2.Client(trust_env=False) as http:
        tools = http.post(url, **stateless("tools/list")).json()["result"]["tools"]
    assert len(compact(tools).encode()) <= 1_200
    assert "discover (manual)" in tools[0]["description"]


async def test_discover_answers_the_manual(client):
    """001 pattern 2: structured guidance, when it is asked for; its sections are those of the appendix."""
    said = await does(client, "discover")
    actions = set(said["ACTION_SELECTION"])
    schema = (await client.list_tools()).tools[0].input_schema
    assert actions == set(schema["properties"]["action"]["enum"])
    assert all(each.keys() == {"purpose", "use_when"} for each in said["ACTION_SELECTION"].values())
    assert said["CRITICAL_RULES"]
    assert said["COMMON_WORKFLOWS"]
    assert said["OUTPUT_MODES"].keys() == {"compact", "full"}
    assert said["PARAMETER_REFERENCE"].keys() == set(schema["properties"]) - {"action"}


async def test_the_manual_is_made_of_what_is_there(client):
    """001 pattern 2; GATEWAY.md: from the live catalogue."""
    said = await does(client, "discover")
    servers = {each["server"]: each for each in said["capabilities"]}
    assert said["filters"]["server"] == list(servers) == list(ALL)
    assert servers["calculator"] == {
        "server": "calculator",
        "state": "ready",
        "tools": 3,
        "description": "A simple calculator server",
    }


async def test_tools_are_listed_a_sentence_each(client):
    """001 appendix: a collection summary; `limit` is 50, and there are pages."""
    whole = await does(client, "list")
    assert whole["total"] == len(whole["tools"])
    of_one = await does(client, "list", server="calculator", limit=2)
    assert [each["id"] for each in of_one["tools"]] == ["calculator__add", "calculator__multiply"]
    assert "offset=2" in of_one["NOTE"]
    rest = await does(client, "list", server="calculator", offset=2)
    assert [each["id"] for each in rest["tools"]] == ["calculator__divide"]
    assert "NOTE" not in rest


async def test_a_search_is_cut_to_the_limit(client):
    """Ours."""
    assert len((await does(client, "search", query="numbers", limit=1))["tools"]) == 1


@asynccontextmanager
async def before_one(fixture, said):
    """A client of a gateway before a server that says what it is told to."""
    command = (PYTHON, str(FIXTURES / f"{fixture}.py"), json.dumps(said))
    config = Config((UpstreamConfig("one", "stdio", command=command),), exposure="gateway")
    gateway = Gateway(config, single_client=False)
    try:
        async with Client(sdk_server(gateway.answer)) as client:
            yield client
    finally:
        await gateway.close()


async def test_a_search_is_one_query_however_many_tools_it_gives():
    """Ours: 120 a minute; who asks too often reads for how long to wait."""
    async with before_one("named", [f"look_{number}" for number in range(70)]) as client:
        for _ in range(QUERIES_PER_MINUTE):
            found = await does(client, "search", query="look")
        assert (len(found["tools"]), found["NOTE"].partition(":")[0]) == (50, "There are more that fit")
        error = error_of(await client.call_tool("gateway", {"action": "search", "query": "look"}))
        assert (error["code"], error["limit"]) == ("RATE_LIMITED", QUERIES_PER_MINUTE)
        assert 0 < error["retryAfterSeconds"] <= 60


async def test_a_search_gives_all_that_fit_if_so_many_are_asked_for():
    """Ours: no bound of pages cuts it without a word."""
    async with before_one("named", [f"look_{number}" for number in range(2_100)]) as client:
        found = await does(client, "search", query="look", limit=2**70)
        assert (len(found["tools"]), "NOTE" in found) == (2_100, False)


async def test_a_search_without_a_list_of_tools_is_told():
    """Ours: for a model to read."""
    async with before_one("saying", {"tools/list": {"what is no JSON": float("inf")}}) as client:
        error = error_of(await client.call_tool("gateway", {"action": "search", "query": "look"}))
    assert error["code"] == "UPSTREAM_UNAVAILABLE"


async def test_a_call_asks_for_what_it_needs(client):
    """001 pattern 4: `fields` or a view; the answer's own schema is told."""
    arguments = {"action": "call", "id": "records__find", "arguments": {"limit": 1}, "fields": ["rows.id"]}
    answer = await client.call_tool("gateway", arguments)
    assert answer.structured_content == {"data": {"rows": [{"id": 0}]}}
    assert answer.meta["dev.louver/data"]["projectedSchema"]["type"] == "object"


async def test_text_that_is_json_is_data_and_prose_is_text(client):
    """Ours."""
    text = await does(client, "call", id="records__find_text")
    assert text["data"]["total"] == 3
    assert (await does(client, "call", id="records__find_prose"))["data"] == "three records"


async def test_prose_is_plain_text_for_models_of_known_hosts(url):
    """Step 22: JSON around it costs tokens, and tells nothing; what is data stays data."""
    async with Client(url, client_info=Implementation(name="codex-mcp-client", version="1")) as client:
        prose = await client.call_tool("gateway", {"action": "call", "id": "records__find_prose"})
        data = await client.call_tool("gateway", {"action": "call", "id": "records__find_text"})
    assert (prose.structured_content, text_of(prose)) == (None, "three records")
    assert data.structured_content["data"]["total"] == 3


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ({"action": "nothing"}, "INVALID_ARGUMENTS", "'action' is one of 'discover'"),
        ({"action": "call"}, "INVALID_ARGUMENTS", "'id' is missing: the action 'call' needs it"),
        ({"action": "get", "id": ""}, "INVALID_ARGUMENTS", "'id' is missing"),
        ({"action": "search"}, "INVALID_ARGUMENTS", "'query' is missing"),
        ({"action": "search", "query": " \n"}, "INVALID_ARGUMENTS", "'query' is white: expected plain words"),
        ({"action": "search", "query": "add\0it"}, "INVALID_QUERY", "there is a control character at offset 3"),
        ({"action": "search", "query": 4097 * "a"}, "INVALID_QUERY", "at most 4096 characters, not 4097"),
        ({"action": "search", "query": "a", "needs": ["a"]}, "INVALID_ARGUMENTS", "either 'query' or 'needs'"),
        ({"action": "search", "needs": []}, "INVALID_ARGUMENTS", "'query' is missing"),
        ({"action": "search", "needs": ["add", " "]}, "INVALID_ARGUMENTS", "'needs': expected 1 to 20 short lines"),
        ({"action": "search", "needs": ["add", 1]}, "INVALID_ARGUMENTS", "'needs': expected 1 to 20 short lines"),
        ({"action": "search", "needs": 21 * ["add"]}, "INVALID_ARGUMENTS", "'needs': expected 1 to 20 short lines"),
        ({"action": "list", "limit": 0}, "INVALID_ARGUMENTS", "'limit': expected a number of 1 or more"),
        ({"action": "list", "offset": -1}, "INVALID_ARGUMENTS", "'offset': expected a number of 0 or more"),
        ({"action": "search", "query": "add", "limit": 0}, "INVALID_ARGUMENTS", "expected a number of 1 or more"),
        ({"action": "list", "limit": True}, "INVALID_ARGUMENTS", "'limit': expected a whole number"),
        ({"action": "list", "server": "x"}, "UNKNOWN_NAME", "'x' is no server: there are 'calculator'"),
        ({"action": "call", "id": "calculator__ad"}, "UNKNOWN_NAME", "did you mean 'calculator__add'"),
        ({"action": "call", "id": "records__find", "fields": "rows"}, "INVALID_ARGUMENTS", "'fields': expected a list"),
        ({"action": "call", "id": "records__find", "fields": [1]}, "INVALID_ARGUMENTS", "expected a list of texts"),
        ({"action": "call", "id": "records__find", "fields": ["a"], "view": "b"}, "INVALID_ARGUMENTS", "not both"),
        ({"action": "call", "id": "records__find", "fields": ["a..b"]}, "TOOL_ERROR", "'a..b': expected a name"),
        ({"action": "call", "id": "records__find", "view": "brief"}, "TOOL_ERROR", "is not a view of this tool"),
    ],
)
async def test_what_is_wrong_is_told_with_what_would_be_right(client, arguments, code, said):
    """Ours: for a model to read."""
    error = error_of(await client.call_tool("gateway", arguments))
    assert error["code"] == code
    assert said in error["message"]


async def test_tools_are_found_by_what_is_to_be_done(client):
    """Issue 45: each need has its tools, and they take turns."""
    answer = await client.call_tool("gateway", {"action": "search", "needs": ["add numbers", "find records"]})
    tools = answer.structured_content["tools"]
    assert [(tool["id"], tool["need"]) for tool in tools[:2]] == [
        ("calculator__add", "add numbers"),
        ("records__find", "find records"),
    ]


SOME = {
    "id": "records__find",
    "query": "records",
    "needs": ["find records"],
    "server": "records",
    "arguments": {"limit": 1},
    "fields": ["rows.id"],
    "view": "brief",
    "compact": True,
    "limit": 1,
    "offset": 1,
}
"""A value for each parameter."""


@pytest.mark.parametrize("action", ACTION_PARAMETERS)
async def test_no_parameter_is_ignored(client, action):
    """Ours: what an action does not take is refused, with what it does take."""
    # Of two ways to say the same, one.
    takes = {name: SOME[name] for name in ACTION_PARAMETERS[action] if name not in ("view", "needs")}
    assert not (await client.call_tool("gateway", {"action": action, **takes})).is_error
    for name in SOME.keys() - set(ACTION_PARAMETERS[action]):
        error = error_of(await client.call_tool("gateway", {"action": action, **takes, name: SOME[name]}))
        assert (error["code"], error["argument"]) == ("INVALID_ARGUMENTS", name)
        known = ", ".join(map(repr, ACTION_PARAMETERS[action])) or "none"
        assert error["message"] == f"the action {action!r} takes {known}, but not {name!r}"


@pytest.mark.parametrize("what", [{"fields": ["rows.id"]}, {"view": "brief"}])
async def test_the_whole_answer_and_a_part_of_it_are_not_asked_for_at_once(client, what):
    """Ours: neither would be left out without a word."""
    arguments = {"action": "call", "id": "records__find", "compact": False, **what}
    error = error_of(await client.call_tool("gateway", arguments))
    assert error["message"] == (
        "'compact': false goes with neither 'fields' nor 'view', which say themselves what is kept"
    )


async def test_the_manual_says_which_actions_take_a_parameter(client):
    """001 appendix, "Parameter Reference"."""
    said = (await does(client, "discover"))["PARAMETER_REFERENCE"]
    for name, what in said.items():
        takers = [action for action in ACTION_PARAMETERS if name in ACTION_PARAMETERS[action]]
        before, _, last = ", ".join(takers).rpartition(", ")
        assert re.match(f"For {f'{before} and {last}' if before else last}[:,] ", what["notes"]), name


async def test_the_error_of_a_tool_is_passed_on(client):
    """Ours: what the tool says stands beside what we say."""
    arguments = {"action": "call", "id": "calculator__divide", "arguments": {"a": 1, "b": 0}}
    answer = await client.call_tool("gateway", arguments)
    assert error_of(answer)["code"] == "TOOL_ERROR"
    assert "zero" not in text_of(answer)
    assert "cannot divide by zero" in answer.content[1].text


async def test_tools_are_not_called_by_their_names(client):
    """Ours."""
    with pytest.raises(Exception, match="Unknown tool"):
        await client.call_tool("calculator__add", {"a": 1, "b": 2})


async def test_a_default_view_is_the_compact_answer(tmp_path):
    """001 pattern 4: compact by default; `compact: false` gives all."""
    views = tmp_path / "views"
    views.mkdir()
    content = {"tool": "find", "default": "brief", "views": {"brief": ["rows.id"]}}
    (views / "find.views.json").write_text(json.dumps(content))
    records = fixture("records", views="views")
    with serving(*config(tmp_path, {"records": records}), *ONE) as served:
        async with Client(served.url) as client:
            lean = await does(client, "call", id="find", arguments={"limit": 1})
            whole = await does(client, "call", id="find", arguments={"limit": 1}, compact=False)
    assert lean == {"data": {"rows": [{"id": 0}]}}
    assert whole["data"]["total"] == 3


async def test_a_whole_answer_is_exported_and_read_in_parts(client):
    """001 pattern 1: `export`; GATEWAY.md: kept as a resource, and the tool runs once."""
    arguments = {"action": "export", "id": "data-server__list_people", "arguments": {"limit": 50}}
    answer = await client.call_tool("gateway", arguments)
    said = answer.structured_content
    assert said["bytes"] > 25_000
    assert len(text_of(answer)) < 2_000
    assert "bbb" not in text_of(answer)
    part = await client.read_resource(f"{said['resource']}?fields=people.id")
    assert json.loads(part.contents[0].text) == {"people": [{"id": number} for number in range(50)]}
    prose = await client.call_tool("gateway", {"action": "export", "id": "records__find_prose"})
    assert "has run" in error_of(prose)["message"]
    assert prose.content[1].text == "three records"


def only_file(folder):
    """Name, mode and value of the one file in a folder."""
    (path,) = folder.iterdir()
    return str(path), path.stat().st_mode & 0o777, json.loads(path.read_text())


async def test_a_whole_answer_is_written_to_a_file(tmp_path):
    """001 pattern 5: a NOTE that the file is on somebody else's machine."""
    folder = tmp_path / "exports"
    folder.mkdir()
    with serving(*config(tmp_path, {"records": fixture("records")}, exports="exports"), *ONE) as served:
        async with Client(served.url) as client:
            said = await does(client, "export", id="find", arguments={"limit": 2})
    (name, mode, value) = await to_thread.run_sync(only_file, folder)
    assert (said["path"], mode, value["total"]) == (name, 0o600, 3)
    assert "machine of the gateway" in said["NOTE"]


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ("tracker__list_issues", "tracker__list_issues"),
        ("-rf", "rf"),
        ("../../etc/passwd", "etc_passwd"),
        (".hidden", "hidden"),
        ("r\u00e9sum\u00e9", "r_sum"),
        ("\u691c\u7d22", "export"),
        ("--", "export"),
        (300 * "x", 100 * "x"),
    ],
)
async def test_a_file_has_a_name_that_is_one(tmp_path, tool, name):
    """Ours: whatever its tool is called; it is neither hidden, nor an option, nor elsewhere."""
    said = await FileExports(tmp_path).put("{}", ResultInfo(tool), None)
    (path,) = tmp_path.iterdir()
    assert str(path) == said["path"]
    assert re.fullmatch(f"{name}-[0-9a-f]{{16}}\\.json", path.name)


async def test_a_file_that_cannot_be_written_whole_is_not_there(tmp_path):
    """Ours: a disk that is full; what was there before stays."""
    exports = FileExports(tmp_path)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, before[1]))
    try:
        await exports.put('"small"', ResultInfo("t"), None)
        with pytest.raises(ToolFailed, match="the file cannot be written: File too large"):
            await exports.put(300_000 * "x", ResultInfo("t"), None)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert only_file(tmp_path)[2] == "small"


async def test_what_its_server_has_kept_is_exported_whole(tmp_path):
    """GATEWAY.md: a Louver behind a Louver; the tool runs once."""
    large = fixture("large", "--keeps")
    with serving(*config(tmp_path, {"large": large}), *ONE) as served:
        async with Client(served.url) as client:
            said = await does(client, "export", id="rows", arguments={"number": 50})
            whole = json.loads((await client.read_resource(said["resource"])).contents[0].text)
            shown = await does(client, "call", id="rows", arguments={"number": 50})
            uri = re.search(r"louver://results/[\w-]+", shown["NOTE"])[0]
            part = json.loads((await client.read_resource(f"{uri}?fields=call")).contents[0].text)
    assert said["bytes"] > 100_000
    assert (whole["call"], len(whole["rows"])) == (1, 50)
    assert shown["data"] == part == {"call": 2}


async def test_what_its_server_does_not_give_whole_is_told(tmp_path):
    """Ours: why not, and where parts of it are read."""
    with serving(*config(tmp_path, {"keeping": fixture("keeping", "one")}), *ONE) as served:
        async with Client(served.url) as client:
            arguments = {"action": "export", "id": "look", "arguments": {"uri": "louver://results/gone"}}
            answer = await client.call_tool("gateway", arguments)
    assert error_of(answer)["message"] == (
        "look has run, and its server keeps the answer, but does not give it whole: nothing is exported, "
        "here is where parts of it are read"
    )
    assert answer.content[1].text == "It is kept: louver://results/gone?page=1"


FEW = {OF_FORKS.format("MANY_ITEMS"): "1", OF_FORKS.format("MANY_CHARACTERS"): "5"}
"""Elements and characters above which answers get warnings."""


async def test_a_warning_names_the_parameters_of_the_one_tool(tmp_path):
    """001 pattern 5; ours: what is advised is possible, and prose has no fields."""
    people = fixture("discovered", "data-server")
    options = config(tmp_path, {"people": people, "records": fixture("records")}, warnings=True)
    with serving(*options, *ONE, env={**os.environ, **FEW}) as served:
        async with Client(served.url) as client:
            many = await does(client, "call", id="people__list_people")
            prose = await does(client, "call", id="records__find_prose")
    assert many["WARNING"].endswith("Name the fields that you need by 'fields'; or narrow the arguments.")
    assert many["TOKEN_WARNING"].endswith("Name the fields that you need by 'fields'; or narrow the arguments.")
    assert prose["TOKEN_WARNING"].endswith("over 5 characters. Narrow the arguments.")


async def test_a_warning_names_a_view_where_there_is_one(tmp_path):
    """Likewise."""
    views = tmp_path / "views"
    views.mkdir()
    (views / "find.views.json").write_text(json.dumps({"tool": "find", "views": {"brief": ["rows.id"]}}))
    options = config(tmp_path, {"records": fixture("records", views="views")}, warnings=True)
    with serving(*options, *ONE, env={**os.environ, **FEW}) as served:
        async with Client(served.url) as client:
            said = await does(client, "call", id="find")
    assert (
        "Name the fields that you need, or a view, by 'fields' or 'view'; or narrow the arguments." in said["WARNING"]
    )


async def test_what_is_said_of_an_answer_stands_beside_the_data(tmp_path):
    """001 patterns 3 and 5: GUIDANCE and WARNING within the answer; neither where there is no reason."""
    rule = {
        "tool": "list_people",
        "when": {"path": "people.email"},
        "note": "Addresses are private.",
        "workflow": ["Ask."],
    }
    people = fixture("discovered", "data-server", guidance=[rule])
    with serving(*config(tmp_path, {"people": people}, warnings=True), *ONE) as served:
        async with Client(served.url) as client:
            few = await does(client, "call", id="list_people", arguments={"limit": 1}, fields=["people.id"])
            told = await does(client, "call", id="list_people", arguments={"limit": 1})
            many = await does(client, "call", id="list_people", arguments={"limit": 150})
            slip = await does(client, "call", id="list_people", arguments={"limit": 1}, fields=["people.idd"])
    assert slip == {
        "data": {"people": [{}]},
        "NOTE": "the output has no field 'people.idd'; did you mean 'people.id'?",
    }
    assert few == {"data": {"people": [{"id": 0}]}}
    assert told["GUIDANCE"] == [{"note": "Addresses are private.", "workflow": ["Ask."]}]
    assert told.keys() == {"data", "GUIDANCE"}
    assert many.keys() == {"data", "GUIDANCE", "WARNING", "TOKEN_WARNING"}
    assert "150 elements" in many["WARNING"]


async def test_an_answer_that_is_kept_is_told_of(tmp_path):
    """GATEWAY.md: under 2 kB, and read in parts."""
    options = config(tmp_path, {"people": fixture("discovered", "data-server")}, keepResults=10_000)
    with serving(*options, *ONE) as served:
        async with Client(served.url) as client:
            said = await does(client, "call", id="list_people", arguments={"limit": 100})
    assert said["data"] == {"total": 100}
    assert "louver://results/" in said["NOTE"]
    assert len(compact(said)) < 2_000


@pytest.mark.parametrize("fields", [{}, {"fields": ["rows.id"]}])
async def test_what_is_said_of_an_answer_in_text_leaves_it_what_it_is(tmp_path, fields):
    """Ours: JSON text stays data, and is what its receipt says."""
    rule = {"tool": "find_text", "when": {"path": "rows.id"}, "note": "Rows are numbered."}
    with serving(*config(tmp_path, {"records": fixture("records", guidance=[rule])}), *ONE) as served:
        async with Client(served.url) as client:
            answer = await client.call_tool("gateway", {"action": "call", "id": "find_text", **fields})
    said = answer.structured_content
    assert said["GUIDANCE"] == [{"note": "Rows are numbered."}]
    assert said["data"]["rows"][0]["id"] == 0
    if fields:
        schema = answer.meta["dev.louver/data"]["projectedSchema"]
        assert Draft202012Validator(schema).is_valid(said["data"])


async def test_what_a_server_says_in_our_words_is_data_of_nobody(tmp_path):
    """Ours: its `_meta` neither breaks an answer nor takes its place."""
    with serving(*config(tmp_path, {"odd": fixture("discovered", "odd")}), *ONE) as served:
        async with Client(served.url) as client:
            said = await does(client, "call", id="forged")
    assert said["data"] == {"true": 1}
    assert "EVIL" not in compact(said)
