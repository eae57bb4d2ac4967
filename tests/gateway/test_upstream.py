"""The sessions with one upstream."""

from __future__ import annotations

import asyncio

import pytest

from gateway.raw import HANDSHAKE
from louver.errors import UpstreamUnavailable
from louver.gateway import upstream as module
from louver.gateway.clients import Client
from louver.gateway.upstream import GATEWAY, Upstream

pytestmark = pytest.mark.anyio


async def test_sessions_that_are_opening_count_among_those_that_there_are(monkeypatch):
    """GATEWAY.md: capped, also where all clients come at once."""
    monkeypatch.setattr(module, "MAX_SESSIONS", 2)
    opened, all_asked = [], asyncio.Event()

    class Silent:
        """A link to a server that does not answer."""

        async def open(self):
            opened.append(self)
            await all_asked.wait()
            raise UpstreamUnavailable("it is silent")

        async def close(self):
            pass

    async def told(method, params):
        pass

    made = Upstream(
        "it", lambda listener: Silent(), timeout_s=5, isolated=True, per_era=False, hello=GATEWAY, told=told
    )
    asking = [asyncio.create_task(made.session(Client(HANDSHAKE, GATEWAY))) for _ in range(5)]
    refused = await asyncio.gather(*asking[2:], return_exceptions=True)
    assert [str(error) for error in refused] == ["upstream 'it' has 2 sessions already"] * 3
    all_asked.set()
    await asyncio.gather(*asking, return_exceptions=True)
    assert len(opened) == 2
