"""Arguments that stand in headers as well: what a tool wants is known from the lists, and asked for when it is not."""

from __future__ import annotations

import asyncio

import pytest

from gateway.gateways import LOUVER
from gateway.raw import HANDSHAKE, STATELESS, raw
from gateway.served import at_a_url
from louver.concurrency import offload
from louver.gateway.back.fan_out.subscribers import Subscribers
from louver.gateway.back.lists.tool_pins import ToolPins
from louver.gateway.back.session import Session, SessionSettings
from louver.gateway.clients.client import GatewayCaller, GatewayClient
from louver.gateway.clients.revisions import GATEWAY_IDENTITY

pytestmark = pytest.mark.anyio

every_era = pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])


@pytest.fixture
async def client(era):
    """A client before an upstream that says of its lists neither how long they stay nor when they change."""
    with at_a_url("unruly", "--http", "modern") as url:
        async with raw([*LOUVER, "--url", url], era) as client:
            yield client


async def kinds(client):
    """What the upstream has got, and done, by now."""
    return (await client.call("wait_for", seen="server/discover"))["kinds"]


@every_era
async def test_many_calls_need_one_list(client):
    """SEP-2243: the header is that of the schema; ours: the tools are listed once, whatever is called."""
    await asyncio.gather(*(client.call("regional", region=f"r{number}") for number in range(10)))
    for _ in range(10):
        await client.call("regional", region="here")
    seen = await kinds(client)
    assert (seen.count("regional"), seen.count("refused")) == (20, 0)
    # The gateway itself lists them when it starts, to tell of them.
    assert seen.count("tools/list") <= 2


@every_era
async def test_a_tool_that_has_changed_is_listed_again_and_its_call_sent_again_once(client):
    """Ours: the upstream has refused the call before anything ran."""
    await client.call("regional", region="here")
    before = (await kinds(client)).count("tools/list")
    await client.call("configure", header="Zone")
    for _ in range(3):
        await client.call("regional", region="there")
    seen = await kinds(client)
    assert (seen.count("regional"), seen.count("refused")) == (4, 1)
    # The gateway itself lists them when it starts, perhaps only now.
    assert before < seen.count("tools/list") <= before + 2


@every_era
async def test_what_stays_refused_is_refused(client):
    """Ours: twice is enough; the error is the upstream's own."""
    await client.call("regional", region="here")
    error = await client.error("tools/call", name="regional", arguments={"region": "a\nb", "Region": 1})
    assert error["code"] == -32020
    seen = await kinds(client)
    assert (seen.count("regional"), seen.count("refused")) == (1, 2)


async def test_a_list_during_which_something_changes_is_learnt_all_the_same(monkeypatch):
    """Ours: looking at a list has breaks; what is old by then is refused by its upstream, and then listed again."""
    monkeypatch.setattr(offload, "MAX_TURN_S", 0)

    class Changing:
        """A link whose upstream says that its resources have changed as soon as its tools are listed."""

        wants_headers = True

        def __init__(self, listener):
            self.listener = listener
            self.methods = []

        async def open(self):
            pass

        def set_version(self, version):
            pass

        async def call(self, call):
            self.methods.append(call.method)
            if call.method == "server/discover":
                return {"supportedVersions": [STATELESS], "capabilities": {"tools": {}}}
            if call.method == "tools/call":
                return {"content": [], "headers": dict(call.headers)}
            self.saying = asyncio.create_task(
                self.listener.on_notification("notifications/resources/list_changed", None)
            )
            region = {"type": "string", "x-mcp-header": "Region"}
            schema = {"type": "object", "properties": {"region": region}}
            return {"tools": [{"name": name, "inputSchema": schema} for name in ("first", "second")]}

        async def close(self):
            pass

    links = []

    def link(listener):
        links.append(Changing(listener))
        return links[-1]

    async def told(method, params):
        pass

    settings = SessionSettings("one", link, 5, ToolPins("one", "warn"), lambda *end: None, lambda change: None)
    session = Session(settings, GATEWAY_IDENTITY, Subscribers(), told)
    await session.open()
    try:
        turn = GatewayCaller(GatewayClient(STATELESS, GATEWAY_IDENTITY))
        for _ in range(2):
            said = await session.call(turn, "tools/call", {"name": "first", "arguments": {"region": "here"}})
            assert said["headers"] == {"Mcp-Param-Region": "here"}
        assert links[0].methods == ["server/discover", "tools/list", "tools/call", "tools/call"]
        await links[0].saying
    finally:
        await session.close()
