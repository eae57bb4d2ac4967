"""Three replicas behind nginx, by turns, of which one is killed now and then: no call is lost that a retry mends."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import subprocess
from contextlib import AsyncExitStack, contextmanager

import httpx2
import pytest

from fixtures import stores
from fixtures.failsafe import FAILSAFE_S, until
from fixtures.stores import free_port
from gateway.gateways import LOUVER
from gateway.raw import HANDSHAKE, STATELESS, Http
from gateway.served import Served, at, config, fixture, serving
from team.test_replicas import KEY

pytestmark = pytest.mark.anyio

REPLICAS = 3
KEPT_EVERY = 20
CHANGED = "notifications/tools/list_changed"
RESULT = "dev.louver/result"
TRIES = 8
"""Of a call, each over a new connection: two replicas are always there."""

NGINX = """
worker_processes 1;
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    upstream louver {{ {servers} }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://louver;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $http_host;
            proxy_buffering off;
            proxy_buffer_size 16k;
            proxy_buffers 8 16k;
            proxy_next_upstream error;
        }}
    }}
}}
"""


class Replica:
    """A gateway at one port, which can be killed and started again."""

    def __init__(self, options, port):
        self._command = [*LOUVER, "--http", f"127.0.0.1:{port}", *options]
        self.start()

    def start(self):
        self._served = Served(self._command)

    async def is_ready(self):
        await asyncio.to_thread(self._served.says, "serving at ")

    def kill(self):
        self._served.kill()
        self.close()

    def close(self):
        self._served.close()


@contextmanager
def proxied(folder, ports):
    """The URL of nginx before these ports."""
    nginx = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if nginx is None:
        missing = pytest.fail if "CI" in os.environ else pytest.skip
        missing("nginx is needed, as `apt-get install nginx-light` brings it")
    servers = " ".join(f"server 127.0.0.1:{each} max_fails=0;" for each in ports)
    settings = folder / "nginx.conf"
    settings.write_text(NGINX.format(folder=folder, port=(port := free_port()), servers=servers))
    process = subprocess.Popen([nginx, "-p", str(folder), "-c", str(settings)], stderr=subprocess.DEVNULL)
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(FAILSAFE_S)


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


@pytest.mark.parametrize(
    ("calls", "pause_s"), [(320, 0.5), pytest.param(6_000, 3, marks=pytest.mark.deep)], ids=["short", "long"]
)
async def test_no_call_is_lost_while_replicas_are_killed(tmp_path, calls, pause_s):
    """Issue 43: 16 clients of each revision, kill -9, 0 lost beyond what a retry of the connection mends."""
    ports = [free_port() for _ in range(REPLICAS)]
    tokens = [f"token-{number}" for number in range(35)]
    digests = {hashlib.sha256(token.encode()).hexdigest(): {"subject": token} for token in tokens}
    (allowed := tmp_path / "tokens.json").write_text(json.dumps({"tokens": digests}))
    allowed.chmod(0o600)
    lost, missed, kills = [], [], 0
    async with AsyncExitStack() as stack:
        store = stack.enter_context(stores.redis())
        (folder := tmp_path / "behind").mkdir()
        changed = {"it": fixture("growing", isolation="shared")}
        behind = stack.enter_context(serving(*config(folder, changed))).url
        settings = {
            "keys": [KEY],
            "state": store.url,
            "auth": {"tokens": str(allowed)},
            "keepResults": 10_000,
        }
        replicas = []
        for number, port in enumerate(ports):
            (folder := tmp_path / str(number)).mkdir()
            servers = {"it": fixture("growing", isolation="shared"), "all": at(behind, isolation="shared")}
            options = config(folder, servers, replicaUrl=f"http://127.0.0.1:{port}/mcp", **settings)
            replicas.append(Replica(options, port))
            stack.callback(replicas[-1].close)
        for replica in replicas:
            await replica.is_ready()
        (folder := tmp_path / "nginx").mkdir()
        url = stack.enter_context(proxied(folder, ports))
        await until(lambda: _answers(url))

        async def opened(number, era):
            client = Retried(url, era, tokens[number])
            stack.push_async_callback(client.close)
            await client.open()
            return client

        eras = [HANDSHAKE, STATELESS]
        clients = [await opened(number, eras[number % 2]) for number in range(32)]
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


def _answers(url):
    try:
        return httpx2.get(url.removesuffix("/mcp") + "/healthz").status_code == 200
    except httpx2.HTTPError:
        return False
