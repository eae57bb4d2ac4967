"""The memory of a gateway under a policy, with audit: nothing of a call stays that is not in a bounded cache."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc

import httpx2
import pytest

from gateway.raw import HANDSHAKE, STATELESS, Http
from louver.gateway import create_app
from policy.test_full_disk import options

pytestmark = pytest.mark.anyio

MOST = 16
"""Bytes that a call may leave: less than any object."""
AT_ONCE = 10
WARM = 65_536
"""Bytes that some hundred calls may add once, to caches that are not full yet: 20 a call over 20,000, with `MOST`."""


async def traced(client, calls):
    """The bytes in use after so many calls."""
    for number in range(0, calls, AT_ONCE):
        for result in await asyncio.gather(*(client.call("act", n=number + each) for each in range(AT_ONCE))):
            assert result["structuredContent"].keys() == {"id"}
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


@pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])
@pytest.mark.parametrize("calls", [500, pytest.param(4_000, marks=pytest.mark.deep)])
async def test_calls_leave_nothing(era, calls, tmp_path, monkeypatch):
    """TRUST.md, row 23: 0.4 kB a call were the events of 2025-11-25, kept for clients that resume a stream."""
    monkeypatch.setattr("louver.gateway.front.event_store.MAX_EVENTS", 20)
    _, config = options(tmp_path, file="audit.db")
    app = create_app(config, require_auth=False)
    async with app.lifespan(app):
        client = Http("http://127.0.0.1/mcp", era)
        client.client = httpx2.AsyncClient(transport=httpx2.ASGITransport(app))
        client.listen = lambda: None
        try:
            await client.open()
            # Only now: what opens imports, which takes long where it is traced.
            tracemalloc.start()
            before = await traced(client, 200)
            assert await traced(client, calls) - before < MOST * calls + WARM
        finally:
            tracemalloc.stop()
            await client.close()
