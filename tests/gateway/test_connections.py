"""Connections to one upstream that are kept: what is not ready for another request is not used for it."""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import asynccontextmanager

import pytest

from gateway.links import SOON_S
from louver.errors import UpstreamUnavailable
from louver.gateway.connections import Connections
from louver.gateway.resolving import _text


class Hasty(asyncio.Protocol):
    """An upstream that answers as soon as anything has come, and of a large request reads no more."""

    def __init__(self, transports):
        self._transports = transports

    def connection_made(self, transport):
        self._transport = transport
        self._transports.append(transport)

    def data_received(self, data):
        if len(data) > 1000:
            self._transport.pause_reading()
        self._transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nno")


@asynccontextmanager
async def hasty(host):
    """Connections to one by that name of its host, and those that it has taken."""
    transports = []
    server = await asyncio.get_running_loop().create_server(lambda: Hasty(transports), "127.0.0.1", 0)
    connections = Connections(f"http://{host}:{server.sockets[0].getsockname()[1]}/mcp")
    try:
        async with asyncio.timeout(SOON_S):
            yield connections, transports
    finally:
        await connections.close()
        for transport in transports:
            transport.abort()
        server.close()
        await server.wait_closed()


@pytest.mark.anyio
@pytest.mark.parametrize(("size", "connected"), [(0, 1), (8_000_000, 2)])
async def test_what_has_more_to_send_takes_no_other_request(size, connected):
    """Ours: an upstream may answer before it has read all, and then read no more."""
    async with hasty("127.0.0.1") as (connections, transports):
        for body in (b"x" * size, b""):
            reply = await connections.request("POST", {}, body)
            assert await reply.piece() == b"no"
            assert await reply.piece() is None
        assert len(transports) == connected


class Resolver:
    """One that has these addresses of every host; without any, it takes its time to say so."""

    def __init__(self, *found):
        self.count = 0
        self.asked, self.may_say = threading.Event(), threading.Event()
        self._found = found

    def __call__(self, host, port, *args, **kwargs):
        self.count += 1
        if not self._found:  # as for a name that no server answers for
            self.asked.set()
            assert self.may_say.wait(SOON_S)
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in self._found]


def test_a_resolver_that_takes_long_is_not_waited_for_at_the_end(monkeypatch):
    """GATEWAY.md: the process ends within 10 s, and a resolver may take half a minute."""
    resolver = Resolver()
    monkeypatch.setattr(socket, "getaddrinfo", resolver)

    async def given_up():
        asking = asyncio.create_task(Connections("http://mcp.invalid/mcp").request("POST", {}))
        assert await asyncio.to_thread(resolver.asked.wait, SOON_S)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    ending = threading.Thread(target=asyncio.run, args=(given_up(),))
    ending.start()
    try:
        ending.join(SOON_S / 2)
        assert not ending.is_alive()
    finally:
        resolver.may_say.set()
        ending.join()


@pytest.mark.anyio
async def test_a_host_is_looked_up_once_for_all_who_wait(monkeypatch):
    """Ours: a resolver that hangs is asked by one thread at a time, whoever has given up meanwhile."""
    resolver = Resolver()
    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    connections = Connections("http://mcp.invalid/mcp")
    first, second = (asyncio.create_task(connections.request("POST", {})) for _ in range(2))
    try:
        assert await asyncio.to_thread(resolver.asked.wait, SOON_S)
        first.cancel()
        await asyncio.wait([first])
        third = asyncio.create_task(connections.request("POST", {}))
        await asyncio.sleep(0)
    finally:
        resolver.may_say.set()
    for waiting in (second, third):
        with pytest.raises(UpstreamUnavailable, match="cannot be reached"):
            await waiting
    assert (first.cancelled(), resolver.count) == (True, 1)


@pytest.mark.parametrize(
    ("address", "text"),
    [
        (("192.0.2.1", 80), "192.0.2.1"),
        (("2001:db8::1", 80, 0, 0), "2001:db8::1"),
        (("fe80::1", 80, 0, 1), "fe80::1%1"),
    ],
)
def test_an_address_of_a_link_keeps_its_scope(address, text):
    """RFC 4007: without it nobody knows which link is meant."""
    assert _text(address) == text


@pytest.mark.anyio
async def test_each_address_of_a_host_is_tried(monkeypatch):
    """As asyncio itself does."""
    async with hasty("mcp.example") as (connections, _):
        monkeypatch.setattr(socket, "getaddrinfo", Resolver("127.0.0.2", "127.0.0.1"))
        assert await (await connections.request("POST", {})).piece() == b"no"


@pytest.mark.anyio
@pytest.mark.parametrize("host", ["nothing.invalid", f"{'a' * 64}.invalid"])
async def test_a_host_without_an_address_cannot_be_reached(host):
    """RFC 6761 has no such names; and labels have at most 63 bytes."""
    with pytest.raises(UpstreamUnavailable, match="cannot be reached"):
        await Connections(f"http://{host}/mcp").request("POST", {})
