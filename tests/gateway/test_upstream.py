"""The sessions with one upstream."""

from __future__ import annotations

import asyncio

import pytest

from gateway.raw import HANDSHAKE, SOON_S
from louver.errors import UpstreamUnavailable
from louver.gateway import upstream as module
from louver.gateway.clients import Client, Itself
from louver.gateway.negotiation import Hello
from louver.gateway.upstream import GATEWAY, Terms, Upstream

pytestmark = pytest.mark.anyio


class Silent:
    """A link to a server that does not answer."""

    async def open(self):
        await asyncio.Event().wait()

    async def close(self):
        pass


class Living:
    """A link to a server of 2025-11-25 that has nothing to say. What it is asked is kept."""

    wants_headers = False

    def __init__(self):
        self.asked = []
        self.held = asyncio.Event()
        self.held.set()

    async def open(self):
        pass

    def speak(self, version):
        pass

    async def call(self, call):
        self.asked.append((call.method, call.params))
        if call.method.startswith("resources/"):
            await self.held.wait()
        return {"protocolVersion": HANDSHAKE, "capabilities": {}, "serverInfo": {"name": "it", "version": "1"}}

    async def notify(self, method, params):
        pass

    async def listen(self):
        pass

    async def close(self):
        pass


def terms(link, *, isolated=True):
    return Terms(lambda listener: link(), timeout_s=5, isolated=isolated, per_era=False)


def upstream(link, hello=GATEWAY, **how):
    """An upstream, with a session for each client if nothing else is said."""

    async def told(method, params):
        pass

    return Upstream("it", terms(link, **how), hello=hello, told=told)


def client():
    return Client(HANDSHAKE, Hello(HANDSHAKE, {"name": "a client"}, {}))


async def turns():
    """Let all go on that can."""
    for _ in range(100):
        await asyncio.sleep(0)


async def test_an_opening_that_never_began_does_not_count(monkeypatch):
    """Ours: its client has gone before its first step."""
    monkeypatch.setattr(module, "MAX_SESSIONS", 1)
    made = upstream(Silent)
    gone = client()
    asking = asyncio.create_task(made.session(gone))
    await asyncio.sleep(0)
    await made.leave(gone)
    with pytest.raises(UpstreamUnavailable, match="has been closed"):
        await asking
    another = asyncio.create_task(made.session(client()))
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
    asking = [asyncio.create_task(made.session(client())) for _ in range(5)]
    refused = await asyncio.gather(*asking[2:], return_exceptions=True)
    assert [str(error) for error in refused] == ["upstream 'it' has 2 sessions already"] * 3
    all_asked.set()
    await asyncio.gather(*asking, return_exceptions=True)
    assert len(opened) == 2


async def test_what_opens_and_what_is_open_end_side_by_side():
    """Ours: one after the other would take longer than 10 s."""
    ended = asyncio.Event()

    class Lives(Living):
        async def close(self):
            ended.set()

    class Opens(Silent):
        async def close(self):
            await ended.wait()

    links = [Lives(), Opens()]
    made = upstream(lambda: links.pop(0))
    await made.session(client())
    asking = asyncio.create_task(made.session(client()))
    await turns()
    async with asyncio.timeout(SOON_S):
        await made.close()
    with pytest.raises(UpstreamUnavailable):
        await asking


async def test_who_waits_while_the_terms_change_is_served_by_the_new_ones():
    """Ours: whoever opens the gateway, or begins to listen, at that moment too."""
    made = upstream(Silent)
    asking = asyncio.create_task(made.session(client()))
    await turns()
    await made.change(terms(Living))
    assert (await asking).opened.name == "it"
    await made.close()


async def test_who_leaves_while_the_terms_change_is_served_no_more():
    """Ours: it can be asked nothing, and wants nothing."""
    left = asyncio.Event()

    class Slow(Living):
        async def close(self):
            await left.wait()

    made, gone = upstream(Slow), client()
    session = await made.session(gone)
    await session.subscriptions.watch(Itself(gone), {"uri": "test://a"})
    leaving = asyncio.create_task(made.leave(gone))
    await turns()
    await made.change(terms(Living, isolated=False))
    assert made.clients == set()
    assert not made.is_watched(gone, "test://a")
    left.set()
    await leaving


async def test_one_that_serves_one_client_is_opened_as_that_client_after_a_change_too():
    """GATEWAY.md, "Sharing and eras": also where the gateway is the first to need it."""
    link = Living()
    made = upstream(Living, hello=None, isolated=False)
    await made.session(client())
    await made.change(terms(lambda: link, isolated=False))
    await made.session()
    assert link.asked[0][1]["clientInfo"] == {"name": "a client"}
    await made.close()


async def test_who_watches_no_more_before_that_is_asked_again_can_watch_again():
    """Ours: a stream ends while a new session takes up what was wanted."""
    link, watching = Living(), client()
    made = upstream(Living)
    await (await made.session(watching)).subscriptions.watch(Itself(watching), {"uri": "test://a"})
    await made.change(terms(lambda: link))
    link.held.clear()
    session = await made.session(watching)
    await turns()
    unwatching = asyncio.create_task(made.unwatch(Itself(watching), "test://a"))
    await turns()
    link.held.set()
    await unwatching
    await turns()
    await session.subscriptions.watch(Itself(watching), {"uri": "test://a"})
    asked = [method for method, _ in link.asked if method.startswith("resources/")]
    assert asked == ["resources/subscribe", "resources/unsubscribe", "resources/subscribe"]
    await made.close()
