"""A connection that is opened again, or that cannot be opened: it is never more than one client."""

from __future__ import annotations

import asyncio

import pytest
from mcp import MCPError

from fixtures.failsafe import FAILSAFE_S, until
from fixtures.forking import PYTHON
from gateway.gateways import LOUVER
from gateway.raw import HANDSHAKE, INFO, raw
from gateway.served import FIXTURES, children, config, fixture, serving
from louver.gateway.config.model import Config, UpstreamConfig
from louver.gateway.gateway import Gateway
from louver.gateway.in_process import sdk_server
from steps.wire import connect

pytestmark = pytest.mark.anyio

OPENING = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": INFO}


async def test_who_opens_a_connection_again_is_told_of_a_change_once(tmp_path):
    """Ours: as whoever opens it once."""
    async with raw([*LOUVER, *config(tmp_path, {"one": fixture("unruly")})]) as client:
        for _ in range(3):
            assert (await client.result("initialize", **OPENING))["serverInfo"]["name"] == "unruly"
        await client.call("storm", times=1)
        await client.call("echo")
        assert len(client.heard("notifications/tools/list_changed")) == 1


async def test_who_opens_a_session_again_has_one_process(tmp_path):
    """GATEWAY.md: each client has its own; that of before ends."""
    one = fixture("unruly")
    with serving(*config(tmp_path, {"one": one})) as served:
        async with raw(served.url) as client:
            before = (await client.call("pid"))["pid"]
            for _ in range(3):
                await client.result("initialize", **OPENING)
            now = (await client.call("pid"))["pid"]
            assert now != before
            # The gateway itself has one too.
            await until(lambda: len(children(served.pid)) == 2 and now in children(served.pid))


async def test_what_was_asked_before_a_session_is_opened_again_opens_none(tmp_path):
    """Ours: a read is asked again where its server has ended, but nobody would leave what is opened for it then."""
    with serving(*config(tmp_path, {"one": fixture("unruly")})) as served:
        async with raw(served.url) as client, asyncio.timeout(FAILSAFE_S):
            reading = client.begin(client.error("resources/read", uri="test://silent"))
            await client.call("wait_for", seen="resources/read")
            await client.result("initialize", **OPENING)
            assert "connected again" in (await reading)["message"]
            await client.end()
            # The gateway itself has one too.
            await until(lambda: len(children(served.pid)) == 1)


async def test_who_cannot_open_a_connection_is_served_by_nobody(tmp_path):
    """Ours: it may try as often as it likes."""
    script = tmp_path / "server.py"
    script.symlink_to(FIXTURES / "unruly.py")
    gateway = Gateway(Config((UpstreamConfig("it", "stdio", command=(PYTHON, str(script))),)), single_client=False)
    try:
        async with connect(sdk_server(gateway.answer), HANDSHAKE) as wire:
            assert len(gateway.upstreams["it"].clients) == 1
            script.unlink()
            for _ in range(3):
                with pytest.raises(MCPError, match="is not there"):
                    await wire.request("initialize", OPENING)
                assert gateway.upstreams["it"].clients == set()
    finally:
        await gateway.close()
