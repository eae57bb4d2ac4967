"""The eight criteria of 000 section 9, by real processes: over stdio and Streamable HTTP, in both eras.

And what hangs on processes alone: sessions over HTTP with and without `Mcp-Session-Id`, principals, two workers.
"""

import json
from contextlib import ExitStack, asynccontextmanager
from itertools import product
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp_types as types
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from pydantic import TypeAdapter

from fixtures.failsafe import FAILSAFE_S
from fixtures.forking import PYTHON
from fixtures.process import http_process
from steps.reading import URI, grants_in

SERVER = Path(__file__).parent / "fixtures" / "disclosing.py"
MODES = {"2025-11-25": "legacy", "2026-07-28": "auto"}
OLD, NEW = MODES
OPEN = {"type": "object", "properties": {}}

EVERYDAY = (("stdio", OLD), ("http", NEW))
DOORS = [
    pytest.param(door, id="-".join(door), marks=() if door in EVERYDAY else pytest.mark.deep)
    for door in product(("stdio", "http"), MODES)
]
"""Each transport in each era, everyday in one."""

pytestmark = pytest.mark.anyio


# Servers, and who talks to them.


def process(*options):
    """The URL of a server process, which ends when its standard input does; and what it said on standard error."""
    return http_process(SERVER, *options)


@pytest.fixture(scope="module")
def http():
    """The URL of a server, by the options it was started with; each is started once."""
    started = {}
    with ExitStack() as stack:

        def find(*options):
            if options not in started:
                started[options] = stack.enter_context(process(*options))[0]
            return started[options]

        yield find


class Talk:
    """One client: requests as they stand on the wire, for typed clients drop what they do not know."""

    def __init__(self, client):
        self.client = client

    async def send(self, method, **params):
        request = types.Request[dict[str, Any], str](method=method, params=params)
        return await self.client.session.send_request(request, TypeAdapter(dict[str, Any]))

    async def read(self, query):
        result = await self.send("resources/read", uri=URI + query)
        (content,) = result["contents"]
        return json.loads(content["text"])

    async def call(self, name, arguments=None):
        return await self.send("tools/call", name=name, arguments=arguments or {})

    async def learn(self, *names):
        """What descriptions ask to copy, by tool."""
        return {name: grants_in(found) for name, found in (await self.read(f"?tools={','.join(names)}")).items()}

    async def runs(self):
        told = (await self.learn("runs"))["runs"]
        return (await self.call("runs", told))["structuredContent"]


@asynccontextmanager
async def talking(target, era, *, bearer=None):
    """A client of the era, over stdio or at a URL."""
    with anyio.fail_after(FAILSAFE_S):
        if target == "stdio":
            target = StdioServerParameters(command=PYTHON, args=[str(SERVER)])
        if bearer is None:
            async with Client(target, mode=MODES[era]) as client:
                assert client.protocol_version == era
                yield Talk(client)
            return
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {bearer}"}) as sends,
            Client(streamable_http_client(target, http_client=sends), mode=MODES[era]) as client,
        ):
            assert client.protocol_version == era
            yield Talk(client)


@pytest.fixture(params=DOORS)
def door(request, http):
    """What is talked to, and the era."""
    transport, era = request.param
    return "stdio" if transport == "stdio" else http(), era


@pytest.fixture
async def talk(door):
    """A client over each transport, in each era."""
    async with talking(*door) as client:
        yield client


def error_of(result):
    """The error that a result's one text holds."""
    assert result["isError"] is True
    (block,) = result["content"]
    return json.loads(block["text"])["error"]


# The criteria.


async def test_1_minimal_descriptions_are_listed(talk):
    """000 section 9, criterion 1."""
    listed = {tool["name"]: tool for tool in (await talk.send("tools/list"))["tools"]}
    assert listed.keys() == {"add", "greet", "weather", "runs", "get_tool_descriptions"}
    assert listed["add"]["description"] == "Add two whole numbers."
    assert listed["greet"]["title"] == "Greeting"
    for name in ("add", "greet", "runs"):
        assert listed[name]["inputSchema"] == OPEN
        assert "outputSchema" not in listed[name]


async def test_2_the_resource_is_listed(talk):
    """000 section 9, criterion 2."""
    (resource,) = (await talk.send("resources/list"))["resources"]
    assert resource["uri"] == URI
    assert resource["mimeType"] == "application/json"
    assert "Tool descriptions" in resource["name"]
    assert f"{URI}?tools=TOOL_NAME" in resource["description"]


async def test_3_the_resource_takes_tools_as_a_parameter(talk):
    """000 section 9, criterion 3."""
    assert list(await talk.read("?tools=add")) == ["add"]
    assert list(await talk.read("?tools=greet,add")) == ["greet", "add"]


async def test_4_full_descriptions_are_read(talk):
    """000 section 9, criterion 4."""
    described = (await talk.read("?tools=add"))["add"]
    assert described["name"] == "add"
    assert "They may be negative." in described["description"]
    assert described["inputSchema"]["properties"]["a"]["type"] == "integer"
    assert {"a", "b"} <= set(described["inputSchema"]["required"])
    assert described["outputSchema"]["required"] == ["total", "parts"]
    unknown = (await talk.read("?tools=sub"))["sub"]
    assert unknown == {"error": "Tool 'sub' not found", "available_tools": ["add", "greet", "weather", "runs"]}


async def test_5_a_read_without_tools_says_so(talk):
    """000 section 9, criterion 5."""
    expected = {
        "error": {
            "code": "MISSING_TOOL_SELECTION",
            "message": "You must specify one or more tool names in the 'tools' parameter.",
            "examples": [f"{URI}?tools=tool_name", f"{URI}?tools=tool1,tool2"],
        }
    }
    for query in ("", "?tools=", "?x=1"):
        assert await talk.read(query) == expected


async def test_6_who_has_read_may_call(talk):
    """000 section 9, criterion 6; and what was read is called with what it says, projected."""
    told = await talk.learn("add")
    answer = await talk.call("add", {"a": 2, "b": -3, **told["add"]})
    assert answer["structuredContent"] == {"total": -1, "parts": [2, -3]}
    answer = await talk.call("add", {"a": 2, "b": 3, "output_fields": ["total"], **told["add"]})
    assert answer["structuredContent"] == {"total": 5}


async def test_7_who_has_not_may_not(talk):
    """000 section 9, criterion 7; nothing has run."""
    before = await talk.runs()
    for arguments in ({"name": "Ann"}, {}, {"name": "Ann", "grant": "v1.none"}):
        assert error_of(await talk.call("greet", arguments)) == {
            "code": "TOOL_DESCRIPTION_REQUIRED",
            "message": "Tool 'greet' requires fetching its description before use.",
            "resource_uri": f"{URI}?tools=greet",
            "next": (
                'Call get_tool_descriptions with {"tools": ["greet"]}, then greet again, '
                "with the argument 'grant' if its description has one."
            ),
        }
    await talk.learn("add")
    assert error_of(await talk.call("greet", {"name": "Ann"}))["code"] == "TOOL_DESCRIPTION_REQUIRED"
    assert await talk.runs() == before


async def test_8_what_one_has_read_another_has_not(door):
    """000 section 9, criterion 8: two clients at once, then a third."""
    async with talking(*door) as one, talking(*door) as other:
        told = {"one": await one.learn("add"), "other": await other.learn("greet")}
        calls = {"add": {"a": 1, "b": 2}, "greet": {"name": "Ann"}}
        for who, client in (("one", one), ("other", other)):
            for name, arguments in calls.items():
                answer = await client.call(name, {**arguments, **told[who].get(name, {})})
                assert bool(answer.get("isError")) == (name not in told[who])
    async with talking(*door) as later:
        assert error_of(await later.call("add", calls["add"]))["code"] == "TOOL_DESCRIPTION_REQUIRED"


@pytest.mark.parametrize(
    "uri", [f"{URI}?tools=%zz", "file:///tool_descriptions?tools=add", f"{URI}?tools={'a' * 9000}"]
)
async def test_a_hostile_uri_is_refused(talk, uri):
    """PRIVACY, "Hostile inputs", through every transport."""
    with pytest.raises(MCPError) as refused:
        await talk.send("resources/read", uri=uri)
    assert refused.value.error.code == types.INVALID_PARAMS
    assert refused.value.error.data["error"]["code"] == "INVALID_URI"


async def test_the_tool_of_descriptions_will_do(talk):
    """DISCLOSURE: for models that cannot read resources."""
    answer = await talk.call("get_tool_descriptions", {"tools": ["greet"]})
    described = json.loads(answer["content"][0]["text"])["greet"]
    answer = await talk.call("greet", {"name": "Ann", **grants_in(described)})
    assert answer["content"][0]["text"] == "Hello, Ann."


async def test_a_parameter_that_is_sent_as_a_header_stays_one(http):
    """WIRE: stage 1 keeps it, so that a stock client sends the header that the server looks for."""
    async with talking(http(), NEW) as talk:
        listed = {tool.name: tool for tool in (await talk.client.list_tools()).tools}
        region = {"region": {"type": "string", "x-mcp-header": "Region"}}
        assert listed["weather"].input_schema == {**OPEN, "properties": region}
        told = (await talk.learn("weather"))["weather"]
        answer = await talk.client.call_tool("weather", {"region": "north", "days": 2, **told})
        assert answer.content[0].text == "2 days of rain in north"
        assert error_of(await talk.call("weather", {"days": 2}))["code"] == "TOOL_DESCRIPTION_REQUIRED"


# What a session is.


async def test_stateless_http_of_2025_goes_by_grants(http):
    """000 section 5.2; DISCLOSURE, third row: nothing is remembered between requests."""
    async with talking(http("--stateless"), OLD) as client:
        told = await client.learn("add")
        assert told["add"]
        assert error_of(await client.call("add", {"a": 1, "b": 2}))["code"] == "TOOL_DESCRIPTION_REQUIRED"
        assert (await client.call("add", {"a": 1, "b": 2, **told["add"]}))["structuredContent"]["total"] == 3


async def test_stateful_http_of_2025_needs_no_grants(http):
    """000 section 5.2; DISCLOSURE, second row."""
    async with talking(http(), OLD) as client:
        assert (await client.learn("add"))["add"] == {}
        assert not (await client.call("add", {"a": 1, "b": 2})).get("isError")


@pytest.mark.parametrize(("options", "era"), [((), OLD), (("--stateless",), OLD), ((), NEW)])
async def test_principals_over_http_are_kept_apart(http, options, era):
    """DISCLOSURE: bound to the authenticated principal."""
    url = http("--bearers", *options)
    async with talking(url, era, bearer="ann") as ann, talking(url, era, bearer="ben") as ben:
        told = (await ann.learn("greet"))["greet"]
        assert error_of(await ben.call("greet", {"name": "Ben", **told}))["code"] == "TOOL_DESCRIPTION_REQUIRED"
        assert not (await ann.call("greet", {"name": "Ann", **told})).get("isError")
        told = (await ben.learn("greet"))["greet"]
        assert not (await ben.call("greet", {"name": "Ben", **told})).get("isError")


# Two workers.


@pytest.mark.parametrize(("options", "era"), [((), NEW), (("--stateless",), OLD)])
async def test_workers_with_one_key_accept_each_others_grants(http, options, era):
    """DISCLOSURE: keys come from the configuration; the first seals, each opens."""
    one, other = http("--key", "k" * 40, *options), http("--key", "n" * 40, "--key", "k" * 40, *options)
    async with talking(one, era) as first, talking(other, era) as second:
        told = await first.learn("add", "greet")
        assert (await second.call("add", {"a": 1, "b": 2, **told["add"]}))["structuredContent"]["total"] == 3
        assert not (await second.call("greet", {"name": "Ann", **told["greet"]})).get("isError")


async def test_workers_without_a_key_do_not_and_the_client_recovers_by_reading_again():
    """DISCLOSURE: ephemeral by default, with a warning when several workers serve."""
    with process() as (one, _), process() as (other, said):
        async with talking(one, NEW) as first, talking(other, NEW) as second:
            told = (await first.learn("add"))["add"]
            for _ in range(2):
                refused = error_of(await second.call("add", {"a": 1, "b": 2, **told}))
                assert refused["code"] == "TOOL_DESCRIPTION_REQUIRED"
            (found,) = (await second.read(refused["resource_uri"].removeprefix(URI))).values()
            answer = await second.call("add", {"a": 1, "b": 2, **grants_in(found)})
            assert answer["structuredContent"]["total"] == 3
    said = " ".join("".join(said).split())
    assert said.count("a grant was sealed by another process") == 1
    assert told["grant"] not in said
