"""Lists that come late, and who is told that a server comes and goes: each of them in memory."""

from __future__ import annotations

import asyncio

import pytest

from gateway.links import turns
from gateway.raw import HANDSHAKE, STATELESS
from louver.concurrency import backoff
from louver.gateway.back.availability import Availability, AvailabilityListeners
from louver.gateway.back.fan_out.subscribers import Subscribers
from louver.gateway.clients.client import GatewayClient
from louver.gateway.clients.revisions import GATEWAY_IDENTITY
from louver.gateway.routing import slow_lists as module
from louver.gateway.routing.slow_lists import SlowLists, UpstreamList
from louver.limits import MIN_BACKOFF_S

pytestmark = pytest.mark.anyio

ONE, OTHER = UpstreamList([{"name": "one"}], is_complete=True), UpstreamList([{"name": "other"}], is_complete=True)
NOTHING = UpstreamList([], is_complete=False)


class Server:
    """One that answers once it is let."""

    def __init__(self, late):
        self.late, self.says, self.asked, self.changes = late, ONE, 0, []
        self.lets = asyncio.Event()

    async def answers(self):
        self.asked += 1
        await self.lets.wait()
        if isinstance(self.says, Exception):
            raise self.says
        return self.says

    async def listed(self, key="a list"):
        return await self.late.fetch(key, self.answers, lambda: self.changes.append(self.says))

    async def listed_late(self, says):
        """What is listed of it in time, where it says something else later."""
        self.says = says
        self.lets.clear()
        in_time = await self.listed()
        self.lets.set()
        await turns()
        return in_time


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(module, "LEFT_OUT_S", 0.01)
    return Server(SlowLists())


async def test_what_comes_late_is_told_if_it_is_another_and_stands_for_what_comes_late_next(server):
    """Ours: else who lists anew because it is told would be told again, without end."""
    assert await server.listed_late(ONE) == NOTHING
    assert server.changes == [ONE]
    assert await server.listed_late(ONE) == (ONE.entries, False)
    assert server.changes == [ONE]
    assert await server.listed_late(OTHER) == (ONE.entries, False)
    assert server.changes == [ONE, OTHER]


async def test_of_a_server_that_answers_in_time_nothing_is_kept(server):
    """PRIVACY.md: nothing is kept for longer than it is needed."""
    await server.listed_late(ONE)
    assert await server.listed() == ONE
    assert await server.listed_late(ONE) == NOTHING


async def test_who_does_not_answer_is_asked_nothing_more_and_not_waited_for(server):
    """Ours: a client that lists again and again makes no more work than one that waits."""
    assert await server.listed() == NOTHING
    for _ in range(100):
        assert await server.listed() == NOTHING
    assert server.asked == 1
    server.lets.set()
    await turns()
    assert await server.listed() == ONE


@pytest.mark.parametrize("says", [NOTHING, ValueError("it has failed")])
async def test_what_fails_late_is_no_change(server, says):
    """Ours: nothing has come."""
    assert await server.listed_late(says) == NOTHING
    assert server.changes == []
    assert await server.listed_late(ONE) == NOTHING


async def test_as_many_late_lists_are_kept_as_are_bounded(server, monkeypatch):
    """PRIVACY.md: nothing grows with what clients ask for."""
    monkeypatch.setattr(module, "MAX_CALLERS", 2)
    for number in range(4):
        assert await server.listed(number) == NOTHING
    server.lets.set()
    await turns()
    assert len(server.changes) == 2
    server.lets.clear()
    assert [await server.listed(number) for number in range(4)] == [NOTHING, NOTHING, *[(ONE.entries, False)] * 2]


def presence(*, several=True):
    """That of a server which serves one client of each era; what they are told is kept."""
    told, audience = [], Subscribers()

    async def tell(method, params):
        told.append((STATELESS, method))

    client, listener = GatewayClient(HANDSHAKE, GATEWAY_IDENTITY), GatewayClient(STATELESS, GATEWAY_IDENTITY)
    client.notify = lambda method, params: told.append((HANDSHAKE, method))
    audience.clients.add(client)
    onlookers = AvailabilityListeners(tell)
    onlookers.is_enabled = several
    onlookers.clients.add(listener)
    return Availability(audience, onlookers, serves_modern=True), client, told


class Clock:
    """Stands still until it is put on; who sleeps by it goes on then."""

    def __init__(self):
        self._now, self._moved = 1000.0, asyncio.Condition()

    def read(self):
        return self._now

    async def sleep(self, seconds):
        end = self._now + seconds
        async with self._moved:
            await self._moved.wait_for(lambda: self._now >= end)

    async def put_on(self, seconds):
        self._now += seconds
        async with self._moved:
            self._moved.notify_all()
        await turns()


async def test_one_that_comes_and_goes_is_told_of_later_each_time(monkeypatch):
    """GATEWAY.md: storms are debounced; ours: lists that are asked for because of it may be why it ends."""
    clock = Clock()
    monkeypatch.setattr(backoff, "monotonic", clock.read)
    monkeypatch.setattr(backoff, "asyncio", clock)
    there, _, told = presence()
    both = [(HANDSHAKE, "changed"), (STATELESS, "changed")]
    there.on_unavailable({"changed"})
    await turns()
    assert told == both
    for _ in range(100):
        there.on_available({"changed"})
        there.on_unavailable({"changed"})
        await turns()
    assert told == both
    await clock.put_on(MIN_BACKOFF_S / 2)
    assert told == both
    await clock.put_on(MIN_BACKOFF_S / 2)
    assert told == 2 * both


async def test_who_has_not_missed_it_is_not_told_that_it_comes():
    """Ours: a server that opens for a client, as all do, is no change."""
    there, client, told = presence()
    there.on_available({"changed"})
    await turns()
    assert told == []
    assert there.waiting_client is None
    there.notify_when_available(client)
    assert there.waiting_client is client
    there.on_available({"changed"})
    await turns()
    assert told == [(HANDSHAKE, "changed"), (STATELESS, "changed")]


async def test_of_one_alone_nothing_is_told_and_it_is_not_missed():
    """GATEWAY.md, "Transparency first"."""
    there, client, told = presence(several=False)
    there.on_unavailable({"changed"})
    there.notify_when_available(client)
    there.on_available({"changed"})
    await turns()
    assert (told, there.waiting_client) == ([], None)
