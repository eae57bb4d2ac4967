"""Three replicas behind a proxy, by turns, of which one is killed or hangs: no call is lost that a retry mends."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import signal
from collections import Counter
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager

import httpx2
import pytest

from fixtures import stores
from fixtures.failsafe import until
from fixtures.proxies import proxied
from fixtures.stores import free_port
from gateway.gateways import LOUVER
from gateway.raw import HANDSHAKE, STATELESS, Http
from gateway.served import Served, at, config, fixture, serving
from team.test_replicas import KEY

pytestmark = pytest.mark.anyio

ERAS = [HANDSHAKE, STATELESS]
REPLICAS = 3
KEPT_EVERY = 20
CHANGED = "notifications/tools/list_changed"
RESULT = "dev.louver/result"
TRIES = 8
"""Of a call, each over a new connection: two replicas are always there."""


class Replica:
    """A gateway at one port, which can be killed and started again."""

    def __init__(self, options, port, command=LOUVER):
        self._command = [*command, "--http", f"127.0.0.1:{port}", *options]
        self.start()

    def start(self):
        self._served = Served(self._command)

    @property
    def pid(self):
        return self._served.pid

    async def is_ready(self):
        await asyncio.to_thread(self._served.says, "serving at ")

    @contextmanager
    def hanging(self):
        os.kill(self._served.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self._served.pid, signal.SIGCONT)

    def kill(self):
        self._served.kill()
        self.close()

    def close(self):
        self._served.close()


class Retried(Http):
    """A client with a token of its own, which sends a request again over a new connection, as any pool does."""

    def __init__(self, url, era, token):
        super().__init__(url, era)
        self.token, self.last = token, {}
        self.news = 0
        """Of changed lists: each says to list again."""

    def headers(self, message=None):
        return {**super().headers(message), "authorization": f"Bearer {self.token}"}

    async def request(self, method, /, **params):
        for _ in range(TRIES):
            try:
                return await super().request(method, **params)
            except (httpx2.HTTPError, AssertionError, KeyError, ValueError):
                continue
        raise AssertionError("no replica has answered")

    def listen(self):
        """Hear of changes for as long as it lasts, whichever replica ends."""
        self.begin(self._listen())

    async def _listen(self):
        while True:
            try:
                await (self._get() if self.era == HANDSHAKE else self._subscribe())
            except (httpx2.HTTPError, AssertionError, KeyError, ValueError):
                await asyncio.sleep(0.01)

    async def _get(self):
        headers = {**self.headers(), **self.last}
        async with self.client.stream("GET", self.url, headers=headers, timeout=None) as response:
            async for line in response.aiter_lines():
                if line.startswith("id:"):
                    self.last = {"last-event-id": line.removeprefix("id:").strip()}
                self.news += CHANGED in line

    async def _subscribe(self):
        await Http.request(self, "subscriptions/listen", notifications={"toolsListChanged": True})

    async def _came(self, message):
        # Whoever subscribes anew lists anew.
        self.news += message["method"] in (CHANGED, "notifications/subscriptions/acknowledged")


async def works(client, calls, lost):
    """Make so many calls; the session is the same all the time. Some answers are kept, and read anywhere."""
    for number in range(calls):
        said = f"{client.token} {number}"
        try:
            result = await client.call("it__echo", text=said)
            assert result["structuredContent"] == {"text": said}
            if number % KEPT_EVERY == 0:
                kept = await client.call("it__rows")
                read = await client.result("resources/read", uri=f"{kept['_meta'][RESULT]['uri']}?page=3")
                assert len(json.loads(read["contents"][0]["text"])["rows"]) == 100
        except AssertionError as error:
            lost.append((said, str(error)))


async def hears_all(listeners, caller, done, missed):
    """Change a list again and again: each listener hears of it, whatever has happened to its replica."""
    while not done.done():
        before = [listener.news for listener in listeners]
        await caller.call("all__grow")
        try:
            await until(lambda: all(each.news > news for each, news in zip(listeners, before, strict=True)))  # noqa: B023
        except TimeoutError:
            missed.append([(each.era, each.news - news) for each, news in zip(listeners, before, strict=True)])
        await asyncio.sleep(0.2)


@asynccontextmanager
async def deployed(folder, proxy):
    """Replicas that share a store, behind a proxy: those, and what opens a client by its number and revision."""
    ports = [free_port() for _ in range(REPLICAS)]
    tokens = [f"token-{number}" for number in range(33)]
    digests = {hashlib.sha256(token.encode()).hexdigest(): {"subject": token} for token in tokens}
    (allowed := folder / "tokens.json").write_text(json.dumps({"tokens": digests}))
    allowed.chmod(0o600)
    async with AsyncExitStack() as stack:
        store = stack.enter_context(stores.redis())
        (folder / "behind").mkdir()
        changed = {"it": fixture("growing", isolation="shared")}
        behind = stack.enter_context(serving(*config(folder / "behind", changed))).url
        settings = {
            "keys": [KEY],
            "state": store.url,
            "auth": {"tokens": str(allowed)},
            "keepResults": 10_000,
        }
        replicas = []
        for number, port in enumerate(ports):
            (own := folder / str(number)).mkdir()
            servers = {"it": fixture("growing", isolation="shared"), "all": at(behind, isolation="shared")}
            options = config(own, servers, replicaUrl=f"http://127.0.0.1:{port}/mcp", **settings)
            replicas.append(Replica(options, port))
            stack.callback(replicas[-1].close)
        for replica in replicas:
            await replica.is_ready()
        url = stack.enter_context(proxied(proxy, folder, ports, free_port()))

        async def opened(number, era):
            client = Retried(url, era, tokens[number])
            stack.push_async_callback(client.close)
            await client.open()
            return client

        yield replicas, opened


@pytest.mark.parametrize(
    ("proxy", "calls", "pause_s"),
    [
        ("nginx", 320, 0.5),
        pytest.param("nginx", 6_000, 3, marks=pytest.mark.deep),
        pytest.param("haproxy", 6_000, 3, marks=pytest.mark.deep),
    ],
    ids=["short", "nginx", "haproxy"],
)
async def test_no_call_is_lost_while_replicas_are_killed(tmp_path, proxy, calls, pause_s):
    """Issue 43: 16 clients of each revision, kill -9, 0 lost beyond what a retry of the connection mends."""
    lost, missed, kills = [], [], 0
    async with deployed(tmp_path, proxy) as (replicas, opened):
        clients = [await opened(number, ERAS[number % 2]) for number in range(32)]
        listeners = clients[:4]
        listeners[1].listen()
        listeners[3].listen()
        working = asyncio.gather(*(works(client, calls // 32, lost) for client in clients))
        hearing = asyncio.create_task(hears_all(listeners, await opened(32, STATELESS), working, missed))
        while not working.done():
            await asyncio.wait({working}, timeout=pause_s)
            if not working.done():
                replica = replicas[kills % REPLICAS]
                replica.kill()
                replica.start()
                await replica.is_ready()
                kills += 1
        await working
        await hearing
    assert kills > 0
    assert lost == []
    assert missed == []


@pytest.mark.deep
async def test_a_replica_that_hangs_stops_nobody(tmp_path):
    """Issue 59: HAProxy leaves it out and cuts what waits there, long before a call takes too long for it."""
    lost, statuses = [], Counter()

    async def count(response):
        statuses[response.status_code] += 1

    async with deployed(tmp_path, "haproxy") as (replicas, opened):
        clients = [await opened(number, ERAS[number % 2]) for number in range(16)]
        for client in clients:
            client.client.event_hooks["response"].append(count)
        working = asyncio.gather(*(works(client, 100, lost) for client in clients))
        await until(lambda: statuses.total() > 100)
        with replicas[1].hanging():
            await working
    assert lost == []
    assert 504 not in statuses
