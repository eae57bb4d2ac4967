"""Over real transports, through the gateway, with what servers ask meanwhile."""

import json
import shlex
import threading
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import mcp_types as types
import pytest
from mcp import MCPError, StdioServerParameters

import louver
from client.servers import CANARY, lowlevel, structured, tool
from fixtures.forking import PYTHON
from fixtures.process import http_process
from gateway.gateways import EVERYTHING, LOUVER, everything, gateway
from louver.client import wire

pytestmark = pytest.mark.anyio

USER = ("get_user_profile", {"user_id": 42})
EXAMPLE = [*LOUVER, "--example"]
PLAIN = [PYTHON, "-c", "from louver.example import build_server; build_server().run()"]
NAME = {"name": "Ruben Keller"}


@pytest.fixture(scope="module")
def url():
    """A server that speaks the protocol's every word."""
    with everything() as url:
        yield url


@pytest.fixture(scope="module")
def vectors():
    """The vectors' server over Streamable HTTP."""
    with http_process(Path(__file__).parents[1] / "fixtures" / "vector_server.py") as (url, _):
        yield url


@pytest.mark.parametrize(
    "target",
    [EXAMPLE, shlex.join(EXAMPLE), StdioServerParameters(command=EXAMPLE[0], args=EXAMPLE[1:])],
    ids=["list", "text", "parameters"],
)
async def test_a_command_is_started(mode, target):
    """Ours: as words, as one text, as the SDK has it."""
    async with louver.Client(target, mode=mode) as client:
        assert (await client.call_tool(*USER, include=["name"])).data == NAME


@pytest.mark.parametrize(
    ("target", "said"), [("", "expected a URL"), ([], "expected a URL"), ("run 'this", "No closing quotation")]
)
def test_what_is_no_command_is_refused(target, said):
    """Ours."""
    with pytest.raises(louver.LouverError, match=said):
        louver.Client(target)


@pytest.mark.parametrize(
    "target",
    [
        "ftp://127.0.0.1/s3cret",
        " http://127.0.0.1/s3cret",
        "http://127.0.0.1:99999/s3cret",
        "https://",
        "http://[::1/s3cret",
    ],
)
def test_what_is_no_url_is_refused_without_being_repeated(target):
    """Ours: nor is it tried as a command. A URL may hold a secret."""
    with pytest.raises(louver.LouverError, match="expected a URL with a host, and a port") as refused:
        louver.Client(target)
    assert refused.value.code == "INVALID_INPUT"
    assert "s3cret" not in refused.value.message


async def test_a_url_is_opened(vectors, mode):
    """Ours."""
    async with louver.Client(vectors, mode=mode) as client:
        result = await client.call_tool("receipt-include", include=["id"])
    async with louver.Client(vectors.replace("http:", "HTTP:"), mode=mode) as client:
        assert (await client.call_tool("receipt-include", include=["id"])).applied
    assert result.applied
    assert result.data == {"id": 1}


class Garbled(BaseHTTPRequestHandler):
    """Opens a connection, and answers everything else with half a message."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        info = {"serverInfo": {"name": "garbled", "version": "1"}, "capabilities": {"tools": {}}}
        opened = {"jsonrpc": "2.0", "id": asked.get("id"), "result": {"protocolVersion": "2025-11-25", **info}}
        told = json.dumps(opened) if asked["method"] == "initialize" else f'{{"id": {asked.get("id")}, "{CANARY}'
        self.send_response(200 if "id" in asked else 202)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(told.encode() if "id" in asked else b"")

    def log_message(self, *_):
        """It is no use to the test."""


async def test_what_is_no_json_over_http_is_told_without_its_values():
    """Ours: the SDK's error would quote it."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Garbled) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        async with louver.Client(f"http://127.0.0.1:{server.server_port}/mcp", mode="legacy") as client:
            with pytest.raises(louver.errors.InvalidAnswer, match="no result that the protocol has") as told:
                await client.call_tool("get_profile")
        server.shutdown()
    assert CANARY not in "".join(traceback.format_exception(told.value))


@pytest.mark.parametrize("upstream", [PLAIN, EXAMPLE])
async def test_a_gateway_projects_for_any_server(mode, upstream):
    """Ours: also for one that projects itself."""
    async with louver.Client([*LOUVER, "--", *upstream], mode=mode) as client:
        result = await client.call_tool(*USER, include=["name"], required=True)
        users = await client.call_tool("list_users", include=["result.name"])
        text = await client.call_tool("export_stats", include=["users.total"])
    assert result.data == NAME
    assert result.applied
    assert users.data[0] == {"name": "Edith Moreau"}
    assert text.data == {"users": {"total": 200}}


async def test_a_gateway_over_http(url, mode):
    """Ours."""
    with gateway("--url", url) as front:
        async with louver.Client(front, mode=mode) as client:
            result = await client.call_tool("test_simple_text", include=["name"])
    assert not result.applied
    assert result.raw["content"][0]["text"] == "This is a simple text response for testing."


async def test_arguments_are_sent_as_headers_too_where_the_tool_says_so(url, mode):
    """MCP 2026-07-28: a server may refuse a call without them."""
    async with louver.Client(url, mode=mode) as client:
        result = await client.call_tool("test_x_mcp_header", {"region": "here"})
    assert result.raw["content"][0]["text"] == "region=here"


async def test_a_call_is_sent_again_once_where_its_headers_do_not_fit():
    """MCP 2026-07-28: -32020; the tools are listed anew in between."""
    refusals = [types.HEADER_MISMATCH]

    def answer(_arguments):
        if refusals:
            raise MCPError(code=refusals.pop(), message="the headers are not those of the arguments")
        return structured({"id": 7})

    made = lowlevel(get=tool(result=answer))
    async with louver.Client(made.server) as client:
        assert (await client.call_tool("get")).data == {"id": 7}
        assert made.listings == 2
        refusals += [types.HEADER_MISMATCH] * 2
        with pytest.raises(MCPError, match="the headers"):
            await client.call_tool("get")


async def test_a_url_where_nobody_answers_is_told():
    """Ours: by what is wrong, not by a group of it."""
    with pytest.raises(Exception, match="connect") as wrong:
        async with louver.Client("http://127.0.0.1:9/mcp"):
            pass
    assert not isinstance(wrong.value, ExceptionGroup)


@pytest.mark.parametrize("target", [EVERYTHING, None])
async def test_questions_of_the_server_are_answered(url, mode, target):
    """MCP 2026-07-28: by an answer that asks, after which the call is sent again; 2025-11-25: meanwhile."""

    async def elicit(_context, _params):
        return types.ElicitResult(action="accept", content={"name": "Ann"})

    async with louver.Client(target or url, mode=mode, elicitation_callback=elicit) as client:
        result = await client.call_tool("test_input_required_result_elicitation")
    assert result.raw["content"][0]["text"] == "Hello, Ann!"


async def test_a_question_that_is_refused_ends_the_call(mode):
    """MCP: a client that has not said that it answers is not asked, or refuses."""

    async def elicit(_context, _params):
        return types.ErrorData(code=types.INVALID_REQUEST, message="not now")

    async with louver.Client(EVERYTHING, mode=mode, elicitation_callback=elicit) as client:
        with pytest.raises(MCPError, match="not now"):
            await client.call_tool("test_input_required_result_elicitation")


async def test_a_server_that_does_not_stop_to_ask_is_told(monkeypatch):
    """Ours: ten rounds."""
    monkeypatch.setattr(wire, "_WAIT_S", 0)
    again = {"resultType": "input_required", "inputRequests": None, "requestState": "again"}
    made = lowlevel(ask=tool(result=lambda _arguments: {**again, "inputRequests": {}}))
    async with louver.Client(made.server) as client:
        with pytest.raises(louver.errors.InvalidAnswer, match="still asks after 10 rounds"):
            await client.call_tool("ask")
    assert len(made.calls) == 10
