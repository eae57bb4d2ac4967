"""What a client can be asked, and when."""

from __future__ import annotations

import asyncio

import pytest
from mcp_types import INVALID_PARAMS, METHOD_NOT_FOUND

from fixtures.failsafe import FAILSAFE_S
from fixtures.forking import PYTHON
from gateway.gateways import LOUVER
from gateway.links import turns
from gateway.raw import HANDSHAKE, Stdio
from louver.gateway.clients.client import ClientRequest, GatewayCaller, GatewayClient
from louver.gateway.clients.input_required import resolve_input_required
from louver.gateway.clients.revisions import ClientIdentity
from louver.steps.request import Request
from louver.wire.jsonrpc.errors import JsonRpcError

URL = {"mode": "url", "url": "https://127.0.0.1/", "elicitationId": "1", "message": "Go there."}
FORM = {"message": "Who?", "requestedSchema": {"type": "object"}}
TOOLS = {"messages": [], "maxTokens": 1, "tools": []}
ELICIT, SAMPLE, ROOTS = "elicitation/create", "sampling/createMessage", "roots/list"


def client(**capabilities):
    return GatewayClient(HANDSHAKE, ClientIdentity(HANDSHAKE, {}, capabilities))


@pytest.mark.parametrize(
    ("capabilities", "method", "params", "code", "missing"),
    [
        ({}, ELICIT, FORM, METHOD_NOT_FOUND, "elicitation"),
        ({"elicitation": {}}, ELICIT, URL, INVALID_PARAMS, "elicitation.url"),
        ({"elicitation": {"form": {}}}, ELICIT, URL, INVALID_PARAMS, "elicitation.url"),
        ({"elicitation": {"url": {}}}, ELICIT, FORM, INVALID_PARAMS, "elicitation.form"),
        ({"elicitation": {"url": {}}}, ELICIT, {**FORM, "mode": "form"}, INVALID_PARAMS, "elicitation.form"),
        ({"elicitation": {}}, SAMPLE, TOOLS, METHOD_NOT_FOUND, "sampling"),
        ({"sampling": {}}, SAMPLE, TOOLS, INVALID_PARAMS, "sampling.tools"),
        ({"sampling": {}}, SAMPLE, {"messages": [], "toolChoice": {}}, INVALID_PARAMS, "sampling.tools"),
        ({}, ROOTS, None, METHOD_NOT_FOUND, "roots"),
    ],
)
def test_a_client_is_asked_only_what_it_says_that_it_can_be(capabilities, method, params, code, missing):
    """MCP 2025-11-25: a mode that was not declared must not be used; a server that several share knows none of them."""
    with pytest.raises(JsonRpcError) as refused:
        client(**capabilities).check_capability(method, params)
    assert (refused.value.code, refused.value.message) == (code, f"the client has no capability '{missing}'")


@pytest.mark.parametrize(
    ("capabilities", "method", "params"),
    [
        ({"elicitation": {}}, ELICIT, FORM),
        ({"elicitation": {"form": {}, "url": {}}}, ELICIT, URL),
        ({"elicitation": {"form": {}, "url": {}}}, ELICIT, FORM),
        ({"sampling": {}}, SAMPLE, {"messages": []}),
        ({"sampling": {"tools": {}}}, SAMPLE, TOOLS),
        ({"roots": {}}, ROOTS, None),
        ({}, "x.y/unknown", {"mode": "url"}),
    ],
)
def test_what_a_client_says_that_it_can_be_asked_it_is(capabilities, method, params):
    """Likewise; that it can be asked with forms need not be said."""
    client(**capabilities).check_capability(method, params)


class Refusing(GatewayCaller):
    """A request of a client that refuses roots, and takes its time for all else."""

    def __init__(self):
        super().__init__(client())
        object.__setattr__(self, "taken_back", [])

    async def ask(self, method, params):
        if method == ROOTS:
            raise JsonRpcError(METHOD_NOT_FOUND, "no")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.taken_back.append(method)
            raise


class Unread:
    """A connection of a client that reads nothing until it is set."""

    def __init__(self):
        self.reads = asyncio.Event()

    async def notify(self, method, params, request_id=None):
        await self.reads.wait()


@pytest.mark.anyio
async def test_an_answer_waits_for_the_notifications_of_its_own_request_alone():
    """TRUST.md: an upstream that floods a client holds up no answer of another upstream."""
    connection = Unread()
    flooded = GatewayClient(HANDSHAKE, ClientIdentity(HANDSHAKE, {}, {}), connection)
    flooded.notify("notifications/message", {"level": "error", "data": "of another upstream"})
    request = Request("tools/call", {}, 1, HANDSHAKE, connection)
    async with asyncio.timeout(FAILSAFE_S), ClientRequest(flooded, request):
        pass
    async with asyncio.timeout(FAILSAFE_S), ClientRequest(flooded, request) as caller:
        await caller.notify("notifications/progress", {"progressToken": 1, "progress": 1})
        asyncio.get_running_loop().call_soon(connection.reads.set)
    assert connection.reads.is_set()


@pytest.mark.anyio
async def test_where_one_of_several_questions_is_refused_the_others_are_taken_back():
    """Ours: their answers would be for nobody, and a person may be at one."""

    async def call(params):
        return {
            "resultType": "input_required",
            "inputRequests": {"who": {"method": ELICIT, "params": FORM}, "where": {"method": ROOTS}},
        }

    turn = Refusing()
    with pytest.raises(JsonRpcError, match="no"):
        await resolve_input_required(turn, {}, call)
    await turns()
    assert turn.taken_back == [ELICIT]


EAGER = """
import json, sys
def say(**said):
    print(json.dumps({"jsonrpc": "2.0", **said}), flush=True)
for line in sys.stdin:
    said = json.loads(line)
    if said.get("method") == "initialize":
        opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "eager", "version": "1"}}
        say(id=said["id"], result=opening)
    elif said.get("method") == "notifications/initialized":
        say(id="roots", method="roots/list")
        say(method="notifications/message", params={"level": "info", "data": "asked"})
    elif "result" in said:
        say(method="notifications/message", params={"level": "info", "data": "answered"})
    elif "id" in said:
        say(id=said["id"], result={})
"""


@pytest.mark.anyio
async def test_a_client_is_asked_nothing_before_it_is_ready():
    """MCP, lifecycle: not before `notifications/initialized`, though the server behind was told that already."""

    async def roots(message):
        return {"roots": []}

    options = {"capabilities": {"roots": {}}, "answers": {ROOTS: roots}}
    host = Stdio([*LOUVER, "--", PYTHON, "-c", EAGER], HANDSHAKE, **options)
    try:
        await host.start()
        opening = {
            "protocolVersion": HANDSHAKE,
            "capabilities": {"roots": {}},
            "clientInfo": {"name": "h", "version": "1"},
        }
        async with asyncio.timeout(FAILSAFE_S):
            await host.result("initialize", **opening)
            await host.hears("notifications/message")
            # The server has asked. No request is open that its question could belong to.
            await host.result("ping")
            await host.result("x.y/unknown")
            assert host.questions == []
            await host.notify("notifications/initialized")
            await host.hears("notifications/message", 2)
        assert [each["method"] for each in host.questions] == [ROOTS]
    finally:
        await host.close()
