"""Three replicas behind nginx, by turns, of which one is killed now and then: no call is lost that a retry mends."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from contextlib import ExitStack, contextmanager

import httpx2
import pytest

from gateway.gateways import LOUVER_ITSELF
from gateway.raw import HANDSHAKE, STATELESS, Http
from gateway.serve.test_replicas import KEY, free_port
from gateway.served import Served, config, fixture, until

pytestmark = pytest.mark.anyio

REPLICAS = 3
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
            proxy_next_upstream error http_503 non_idempotent;
        }}
    }}
}}
"""


class Replica:
    """A gateway at one port, which can be killed and started again."""

    def __init__(self, options, port):
        self._command = [*LOUVER_ITSELF, "--http", f"127.0.0.1:{port}", "--no-auth", *options]
        self.start()

    def start(self):
        self._served = Served(self._command)

    async def is_ready(self):
        await asyncio.to_thread(self._served.says, "serving at ")

    def kill(self):
        self._served.process.kill()
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
        process.wait(10)


async def works(url, era, calls, lost):
    """Make so many calls, each with as many tries as it may need; the session is the same all the time."""
    client = Http(url, era)
    await opened(client)
    try:
        for number in range(calls):
            limit = number % 3 + 1
            for _ in range(TRIES):
                try:
                    result = await client.call("find", limit=limit)
                except (httpx2.HTTPError, AssertionError, TimeoutError):
                    continue
                assert len(result["structuredContent"]["rows"]) == limit
                break
            else:
                lost.append((era, number))
    finally:
        await client.close()


async def opened(client):
    """Open it without its own stream, which ends with each replica."""
    client.listen = lambda: None
    for _ in range(TRIES):
        try:
            await client.open()
        except (httpx2.HTTPError, AssertionError):
            continue
        return
    raise AssertionError("no replica has answered")


@pytest.mark.parametrize(
    ("calls", "pause_s"), [(2_000, 0.5), pytest.param(100_000, 10, marks=pytest.mark.deep)], ids=["short", "long"]
)
async def test_no_call_is_lost_while_replicas_are_killed(tmp_path, calls, pause_s):
    """Issue 43: 16 clients of each revision, kill -9, 0 lost beyond what a retry of the connection mends."""
    ports = [free_port() for _ in range(REPLICAS)]
    lost, kills = [], 0
    with ExitStack() as stack:
        replicas = []
        for number, port in enumerate(ports):
            (folder := tmp_path / str(number)).mkdir()
            servers = {"records": fixture("records", isolation="shared")}
            replicas.append(Replica(config(folder, servers, keys=[KEY]), port))
            stack.callback(replicas[-1].close)
        for replica in replicas:
            await replica.is_ready()
        (folder := tmp_path / "nginx").mkdir()
        url = stack.enter_context(proxied(folder, ports))
        await until(lambda: _answers(url))
        working = [
            asyncio.create_task(works(url, era, calls // 32, lost)) for era in (HANDSHAKE, STATELESS) for _ in range(16)
        ]
        everybody = asyncio.gather(*working)
        while not everybody.done():
            await asyncio.wait({*working}, timeout=pause_s)
            if not everybody.done():
                replica = replicas[kills % REPLICAS]
                replica.kill()
                replica.start()
                await replica.is_ready()
                kills += 1
        await everybody
    assert kills > 0
    assert lost == []


def _answers(url):
    try:
        return httpx2.get(url.removesuffix("/mcp") + "/healthz").status_code == 200
    except httpx2.HTTPError:
        return False
