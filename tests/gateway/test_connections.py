"""Connections to one upstream that are kept: what is not ready for another request is not used for it."""

from __future__ import annotations

import asyncio

import pytest

from gateway.links import SOON_S
from louver.gateway.connections import Connections

pytestmark = pytest.mark.anyio


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


@pytest.mark.parametrize(("size", "connected"), [(0, 1), (8_000_000, 2)])
async def test_what_has_more_to_send_takes_no_other_request(size, connected):
    """Ours: an upstream may answer before it has read all, and then read no more."""
    transports = []
    server = await asyncio.get_running_loop().create_server(lambda: Hasty(transports), "127.0.0.1", 0)
    connections = Connections(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp")
    try:
        async with asyncio.timeout(SOON_S):
            for body in (b"x" * size, b""):
                reply = await connections.request("POST", {}, body)
                assert await reply.piece() == b"no"
                assert await reply.piece() is None
        assert len(transports) == connected
    finally:
        await connections.close()
        for transport in transports:
            transport.abort()
        server.close()
        await server.wait_closed()
