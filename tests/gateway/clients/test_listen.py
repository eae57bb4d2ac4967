"""Streams of `subscriptions/listen`: how many one client has, and when they end."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from fixtures.failsafe import FAILSAFE_S
from gateway.raw import HANDSHAKE, STATELESS
from louver.concurrency.backoff import Pace
from louver.gateway.clients import listen
from louver.gateway.clients.client import GatewayClient
from louver.gateway.clients.listen import ListenStreams
from louver.gateway.clients.revisions import ClientIdentity
from louver.gateway.front.connections import StatelessConnection
from louver.steps.request import ANONYMOUS, Identity, Request
from louver.wire.jsonrpc.errors import JsonRpcError
from louver.wire.mcp import TOOLS_CHANGED
from steps.kept import Clock

pytestmark = pytest.mark.anyio


def listens(streams, address="127.0.0.1", identity=ANONYMOUS):
    """A stream of a client, and what tells that it is open."""
    opened = asyncio.Event()

    async def send(_message, _request_id):
        opened.set()

    params = {"notifications": {"toolsListChanged": True}}
    connection = StatelessConnection(send)
    request = Request("subscriptions/listen", params, 1, STATELESS, connection, identity, address)
    return asyncio.create_task(streams.serve(request)), opened


async def test_one_client_has_so_many_streams(monkeypatch):
    """Ours: `MAX_PEER_LISTENERS`; nobody else is refused, and one that has ended makes room."""
    monkeypatch.setattr(listen, "MAX_PEER_LISTENERS", 2)
    streams = ListenStreams()
    open_streams = [listens(streams) for _ in range(2)]
    for _, opened in open_streams:
        await opened.wait()
    refused, _ = listens(streams)
    with pytest.raises(JsonRpcError, match="one client has at most 2 such streams"):
        await refused
    other, opened = listens(streams, "127.0.0.2")
    await opened.wait()
    first, _ = open_streams.pop()
    first.cancel()
    await asyncio.wait([first])
    again, opened = listens(streams)
    await opened.wait()
    streams.close()
    await asyncio.gather(again, other, *(task for task, _ in open_streams))
    assert len(streams._by_peer) == 0


async def test_a_changed_list_is_told_to_one_after_the_other():
    """Step 21, "Growth": in both revisions; changes that one has not heard of yet are told once."""
    streams, heard = ListenStreams(), asyncio.Queue()
    turns = []

    class Counted(Pace):
        async def turn(self):
            turns.append(heard.qsize())
            await super().turn()

    streams.list_pace = Counted(0.0)

    class Hearing(StatelessConnection):
        async def notify(self, method, params, request_id=None):
            heard.put_nowait(self)

    clients = [
        GatewayClient(HANDSHAKE, ClientIdentity(HANDSHAKE, {}, {}), Hearing(None), list_pace=streams.list_pace)
        for _ in range(5)
    ]
    params = {"notifications": {"toolsListChanged": True}}
    serving = [
        asyncio.create_task(streams.serve(Request("subscriptions/listen", params, 1, STATELESS, Hearing(None))))
        for _ in range(5)
    ]
    async with asyncio.timeout(FAILSAFE_S):
        acknowledged = [await heard.get() for _ in serving]
        for _ in range(1100):
            streams.publish(TOOLS_CHANGED, None)
            for client in clients:
                client.notify(TOOLS_CHANGED, None)
        told = [await heard.get() for _ in (*clients, *serving)]
    assert len(turns) == 10
    assert {*acknowledged} < {*told}
    assert len({*told}) == 10
    streams.close()
    await asyncio.gather(*serving)
    assert heard.qsize() <= 10


async def test_a_stream_ends_with_its_token():
    """Ours: what changes later needs a token that is valid then."""
    serving, _ = listens(ListenStreams(), identity=Identity(expires=1.0))
    async with asyncio.timeout(FAILSAFE_S):
        assert await serving == {"io.modelcontextprotocol/subscriptionId": 1}


async def test_a_stream_ends_with_its_token_though_the_clock_jumps(monkeypatch):
    """TRUST.md: likewise with logins; loops count no time in which a machine sleeps."""
    clock = Clock()
    monkeypatch.setattr(listen, "EXPIRY_LOOK_S", 0)
    monkeypatch.setattr(listen, "time", SimpleNamespace(time=clock))
    serving, opened = listens(ListenStreams(), identity=Identity(expires=clock.now + 3600))
    await opened.wait()
    clock.now += 366 * 86_400
    async with asyncio.timeout(FAILSAFE_S):
        await serving
