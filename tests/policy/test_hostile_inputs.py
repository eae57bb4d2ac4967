"""PRIVACY.md, "Hostile inputs; the answer is exact": each line of the list, before a gateway whose servers are policed.

What is answered stands in `hostile_answers.json`, word for word. The event loop of the gateway is this one, so that it
can be seen never to stall, but for what is asked over HTTP: there another client is answered meanwhile. Hostile
configurations are in `tests/gateway/test_config_errors.py`, hostile `tool_descriptions` in
`tests/steps/test_disclosure.py`.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from mcp import MCPError

from fixtures.failsafe import FAILSAFE_S
from fixtures.faulty import BODIES
from fixtures.tattled import HOSTILE as SCHEMAS
from fixtures.tattled import SECRET
from gateway.raw import HANDSHAKE, STATELESS, raw
from gateway.served import at, at_a_url, config, fixture, serving
from louver.gateway.config.read import read_config
from louver.gateway.gateway import Gateway
from louver.gateway.in_process import sdk_server
from louver.limits import MAX_PATH_CHARACTERS, MAX_PATHS, MAX_QUERY_CHARACTERS, MAX_SEGMENTS
from policy.behind import POLICY, client_of, policy, written
from steps.test_refusals import HOSTILE as PROJECTIONS
from steps.test_refusals import include
from steps.wire import NEW, connect

pytestmark = pytest.mark.anyio

ANSWERS = json.loads((Path(__file__).parent / "hostile_answers.json").read_text(encoding="utf-8"))
LONG = 17 * 2**20
RANDOM = re.compile(r'(?<="correlation_id": ")[0-9a-f]{16}')


@pytest.fixture(scope="module", autouse=True)
async def _one_loop():
    """One event loop for all, so that it is there when the last of a process is heard."""
    # A loop lasts as long as a fixture that waits in it.
    yield  # noqa: PT022


def said(answer):
    """What is exact of an answer: its error, or what it holds."""
    told = (answer.get("_meta") or {}).get("dev.louver/error")
    if told is not None:
        assert answer["isError"] is True
        assert json.loads(answer["content"][0]["text"])["error"] == told
        assert "structuredContent" not in answer
        return {"error": json.loads(RANDOM.sub("an id", json.dumps(told)))}
    return {key: answer[key] for key in ("structuredContent", "content", "tools", "value") if key in answer}


class World:
    """A gateway in this process before one server, and a connection to it."""

    def __init__(self, folder):
        self.folder = folder

    @asynccontextmanager
    async def behind(self, entry, **louver):
        (self.folder / "it.policy.json").write_text(json.dumps(POLICY))
        entry = {**entry, "louver": {"policy": "it.policy.json", **louver.pop("of", {})}}
        options = config(self.folder, {"it": entry}, **louver)
        gateway = Gateway(read_config(Path(options[1])), single_client=False)
        try:
            async with connect(sdk_server(gateway.answer), NEW) as wire:
                yield wire
        finally:
            await gateway.close()

    async def answers(self, lines, entry, **louver):
        """What is answered to one request a line, one after the other."""
        async with self.behind(entry, **louver) as wire:
            return {line: await exactly(wire, *request) for line, request in lines.items()}


async def exactly(wire, method, params):
    try:
        async with asyncio.timeout(FAILSAFE_S):
            return said(await wire.request(method, params))
    except MCPError as refused:
        error = refused.error
        text = RANDOM.sub("an id", json.dumps(error.data))
        return {"code": error.code, "message": error.message, "data": json.loads(text)}


def call(name, arguments=None, **meta):
    return "tools/call", {"name": name, "arguments": arguments or {}, **({"_meta": meta} if meta else {})}


def query(**params):
    return "tools/list", params


def projection(asked):
    return call("get_person", projection=asked)


REFUSED_PROJECTIONS = {
    **{f"projection: {name}": projection(asked) for name, (asked, _) in PROJECTIONS.items() if name != "view unknown"},
    "projection: 257 paths": projection(include(*(f"f{n}" for n in range(MAX_PATHS + 1)))),
    "projection: a 513-character path": projection(include("x" * (MAX_PATH_CHARACTERS + 1))),
    "projection: 33 segments": projection(include(".".join("x" * (MAX_SEGMENTS + 1)))),
    "projection: an unknown view": projection({"mode": "view", "view": "all"}),
    "projection: both keys different": call(
        "get_person", **{"projection": include("id"), "dev.louver/projection": include("name")}
    ),
}
QUERIES = {
    "search: a number": query(query=7),
    "search: a list": query(query=["person"]),
    "search: 4,097 characters": query(query="x" * (MAX_QUERY_CHARACTERS + 1)),
    "search: control characters": query(query="a\0b"),
    "search: SQL": query(query="'; DROP TABLE tools; --"),
    "search: regex": query(query="(a+)+$"),
    "search: a forged cursor": query(query="person", cursor="search:20:0123456789abcdef"),
    "search: a foreign cursor": query(query="person", cursor="20"),
}
BAD_ANSWERS = {
    "upstream: a garbage line": call("garbage"),
    **{f"upstream: {name}": call(name) for name in BODIES},
    "upstream: a 5000-digit integer": call("digits"),
}
BREACHES = {
    "upstream: an answer that breaks its schema": call("break_schema"),
    "upstream: duplicate keys": call("duplicate"),
    "upstream: an unasked sampling request": call("sample"),
    "upstream: an error": call("refuse"),
}
FAULTS_OVER_HTTP = {
    "upstream: a gzip bomb": call("bomb", {"size": LONG}),
    "upstream: a wrong id": call("wrong_id"),
    "upstream: a redirect to another host": call("redirect", {"status": 307}),
}
NAMES_OF_SCHEMAS = {"scalar_root": "upstream: a scalar root", "list_root": "upstream: a list at the root"} | {
    name: f"upstream: a schema with {name}" for name in SCHEMAS if not name.endswith("root")
}
IMPATIENT = {"of": {"timeoutSeconds": 1}}


def asked(lines, *server, **louver):
    """One conversation with a server, over stdio."""

    async def answers(world):
        return await world.answers(lines, fixture(*server), **louver)

    return answers


def asked_over_http(lines, **louver):
    async def answers(world):
        with at_a_url("unruly", "--http") as url:
            return await world.answers(lines, at(url), **louver)

    return answers


async def unknown_tool(world):
    lines = {"one": call("nobody", projection=include("id")), "other": call("nobody")}
    answers = await world.answers(lines, fixture("tattling"))
    assert answers["one"] == answers["other"]
    return {"projection: an unknown tool": answers["one"]}


async def stale_cursor(world):
    async with world.behind(fixture("unruly", "many"), exposure="minimal") as wire:
        cursor = (await wire.request("tools/list", {"query": "tool"})).get("nextCursor") or "search:20:0123456789abcdef"
        return {"search: a stale cursor": await exactly(wire, *query(query="other", cursor=cursor))}


async def stopped(world):
    """SIGSTOP: the call runs into its deadline."""
    async with world.behind(fixture("unruly"), **IMPATIENT) as wire:
        try:
            return {"upstream: SIGSTOP": await exactly(wire, *call("stop"))}
        finally:
            for process in _stopped():
                os.kill(process, signal.SIGCONT)


def _stopped():
    """The children of this process that are stopped."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(words[1]) == os.getpid() and words[0] == "T":
            yield int(path.name)


async def storm(world):
    """The call is answered, and so is the next."""
    async with world.behind(fixture("unruly")) as wire:
        await exactly(wire, *call("storm", {"times": 20_000}))
        return {"upstream: 20,000 list_changed": {"tools": len((await wire.request("tools/list"))["tools"]) > 30}}


async def many_tools(world):
    async with world.behind(fixture("unruly", "many")) as wire:
        count, cursor = 0, {}
        while cursor is not None:
            page = await wire.request("tools/list", cursor)
            count += len(page["tools"])
            cursor = {"cursor": page["nextCursor"]} if page.get("nextCursor") else None
        return {"upstream: 10,000 tools": {"tools": count}}


async def many_schemas(world):
    async with world.behind(fixture("unruly", "schemas")) as wire:
        return {"upstream: 1,500 tools with schemas": {"tools": len(await wire.tools())}}


async def vast_tool(world):
    """Too large to be looked at: it is left out, the others are there."""
    async with world.behind(fixture("unruly", "vast")) as wire:
        tools = await wire.tools()
        return {"upstream: a vast tool": {"vast": "vast" in tools, "others": len(tools) > 30}}


async def doubled_names(world):
    async with world.behind(fixture("unruly", "doubled")) as wire:
        return {"upstream: doubled tool names": {"tools": sorted(await wire.tools())}}


async def schemas(world):
    async with world.behind(fixture("tattling", "hostile")) as wire:
        tools = await wire.tools()
        assert [name for name in NAMES_OF_SCHEMAS if "ssn" in json.dumps(tools[name].get("outputSchema"))] == []
        return {line: await exactly(wire, *call(name)) for name, line in NAMES_OF_SCHEMAS.items()}


CONVERSATIONS = {
    "projections": asked(REFUSED_PROJECTIONS, "tattling"),
    "a projection of an unknown tool": unknown_tool,
    "queries": asked(QUERIES, "tattling", exposure="minimal"),
    "a stale cursor": stale_cursor,
    "bad answers": asked(BAD_ANSWERS, "unruly"),
    "an endless line": asked({"upstream: an endless line": call("endless")}, "unruly"),
    "too large": asked({"upstream: too large": call("large", {"size": LONG})}, "unruly"),
    "faults over HTTP": asked_over_http(FAULTS_OVER_HTTP),
    "a hang": asked({"upstream: a hang": call("silent")}, "unruly", **IMPATIENT),
    "a hang over HTTP": asked_over_http({"upstream: a hang over HTTP": call("silent")}, **IMPATIENT),
    "SIGSTOP": stopped,
    "death mid-call": asked({"upstream: death mid-call": call("die")}, "unruly"),
    "breaches": asked(BREACHES, "tattling"),
    "schemas": schemas,
    "doubled tool names": doubled_names,
    "10,000 tools": many_tools,
    "1,500 tools with schemas": many_schemas,
    "a vast tool": vast_tool,
    "20,000 list_changed": storm,
}
"""One with each server that the lines of the list need -> what is done; it returns the answer to each line."""


LARGE = ("10,000 tools", "1,500 tools with schemas")


@pytest.mark.whole
@pytest.mark.parametrize(
    "conversation", [pytest.param(each, marks=pytest.mark.deep if each in LARGE else ()) for each in CONVERSATIONS]
)
async def test_the_answer_to_a_hostile_input_is_exact(tmp_path, conversation):
    """PRIVACY.md, "Hostile inputs; the answer is exact": code, message and data; and the event loop never stalls."""
    answers = await CONVERSATIONS[conversation](World(tmp_path))
    assert SECRET not in json.dumps(answers)
    assert answers == {line: ANSWERS[line] for line in answers}


# What a client does over HTTP

LISTED = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


def nested(depth):
    return b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"it","arguments":' + (
        b'{"a":' * depth + b"1" + b"}" * depth + b"}}"
    )


def called(arguments):
    params = {"name": "it", "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()


IN_2026 = {"mcp-protocol-version": STATELESS, "mcp-method": "tools/call", "mcp-name": "it"}
BODIES_OF_CLIENTS = {
    "client: a body over 4 MiB": (b'{"a":"' + b"x" * 4 * 2**20 + b'"}', {}),
    "client: depth 500": (nested(500), {}),
    "client: depth 900": (nested(900), {}),
    "client: depth 900 in 2026-07-28": (nested(900), IN_2026),
    "client: 700,000 arrays": (called({"x": [[]] * 700_000}), {}),
    "client: 700,000 arrays in 2026-07-28": (called({"x": [[]] * 700_000}), IN_2026),
    "client: 15,000 times 90 levels": (called({"x": [json.loads("[" * 90 + "]" * 90)] * 15_000}), IN_2026),
    "client: 102,000 arrays and objects": (called({"x": [[[{}]]] * 34_000}), {}),
    "client: 300,000 arrays in UTF-16": (called({"x": [[]] * 300_000}).decode().encode("utf-16"), IN_2026),
    "client: a bad host": (json.dumps(LISTED).encode(), {"host": "evil.example"}),
    "client: a bad origin": (json.dumps(LISTED).encode(), {"origin": "http://evil.example"}),
    "client: no JSON": (b"{", {}),
}


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    with serving(*written(tmp_path_factory.mktemp("served"), servers=["old"])) as served:
        yield served.url
        assert "Traceback" not in "".join(served.said)


@asynccontextmanager
async def answered_meanwhile(url):
    """Another client is answered all the while."""

    async def ask(client):
        while True:
            await client.result("tools/list")

    async with client_of(url, HANDSHAKE) as client:
        asking = asyncio.create_task(ask(client))
        try:
            yield
        finally:
            asking.cancel()
            (ended,) = await asyncio.gather(asking, return_exceptions=True)
            assert isinstance(ended, asyncio.CancelledError), ended
            await client.result("tools/list")


@pytest.mark.whole
@pytest.mark.parametrize("line", BODIES_OF_CLIENTS)
async def test_a_hostile_body_is_refused_and_holds_up_nobody(url, line):
    """PRIVACY.md, "Hostile inputs", "Client": the status, and the body as far as it is JSON."""
    body, headers = BODIES_OF_CLIENTS[line]
    async with answered_meanwhile(url), httpx2.AsyncClient(trust_env=False) as http:
        response = await http.post(url, content=body, headers={**ACCEPT, **headers})
    try:
        text = response.json()
    except ValueError:
        text = response.text
    assert {"status": response.status_code, "body": text} == ANSWERS[line]


@pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])
async def test_a_client_that_cancels_or_goes_mid_call_holds_up_nobody(tmp_path, era):
    """PRIVACY.md, "Hostile inputs", "Client": disconnect and cancel mid-call; the upstream is told."""
    # Progress is let, so that it can be seen that the call has reached the upstream.
    (tmp_path / "it.policy.json").write_text(json.dumps(policy(let=["progress"])))
    options = config(tmp_path, {"it": fixture("unruly", policy="it.policy.json", isolation="shared")})
    with serving(*options) as served:
        async with raw(served.url, STATELESS) as other:
            async with raw(served.url, era) as client:
                client.begin(client.call("hold_and_say", _meta={"progressToken": "p"}))
                await client.hears("notifications/progress")
                if era == HANDSHAKE:
                    await client.notify("notifications/cancelled", requestId=2)
                    await other.call("wait_for", seen="notifications/cancelled")
            await other.call("wait_for", seen="notifications/cancelled")
            assert "content" in await other.call("progress", steps=0)
