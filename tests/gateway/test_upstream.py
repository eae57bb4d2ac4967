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


class Silent:
    """A link to a server that does not answer."""

    async def open(self):
        await asyncio.Event().wait()

    async def close(self):
        pass


def upstream(link):
    """An upstream with a session for each client."""

    async def told(method, params):
        pass

    return Upstream("it", lambda listener: link(), timeout_s=5, isolated=True, per_era=False, hello=GATEWAY, told=told)


async def test_an_opening_that_never_began_does_not_count(monkeypatch):
    """Ours: its client has gone before its first step."""
    monkeypatch.setattr(module, "MAX_SESSIONS", 1)
    made = upstream(Silent)
    gone = Client(HANDSHAKE, GATEWAY)
    asking = asyncio.create_task(made.session(gone))
    await asyncio.sleep(0)
    await made.leave(gone)
    with pytest.raises(UpstreamUnavailable, match="has been closed"):
        await asking
    another = asyncio.create_task(made.session(Client(HANDSHAKE, GATEWAY)))
    await asyncio.wait([another], timeout=0)
    assert not another.done()
    await made.close()
    with pytest.raises(UpstreamUnavailable):
        await another


async def test_sessions_that_are_opening_count_among_those_that_there_are(monkeypatch):
    """GATEWAY.md: capped, also where all clients come at once."""
    monkeypatch.setattr(module, "MAX_SESSIONS", 2)
    opened, all_asked = [], asyncio.Event()

    class Asked(Silent):
        async def open(self):
            opened.append(self)
            await all_asked.wait()
            raise UpstreamUnavailable("it is silent")

    made = upstream(Asked)
    asking = [asyncio.create_task(made.session(Client(HANDSHAKE, GATEWAY))) for _ in range(5)]
    refused = await asyncio.gather(*asking[2:], return_exceptions=True)
    assert [str(error) for error in refused] == ["upstream 'it' has 2 sessions already"] * 3
    all_asked.set()
    await asyncio.gather(*asking, return_exceptions=True)
    assert len(opened) == 2
