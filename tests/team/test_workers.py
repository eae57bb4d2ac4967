"""`louver serve --http --workers N`: processes that serve each other's sessions, and end together."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import socket
from contextlib import suppress
from pathlib import Path

import pytest

from fixtures.command import louver
from fixtures.failsafe import until
from gateway.gateways import LOUVER_ITSELF
from gateway.raw import HANDSHAKE, STATELESS, raw
from gateway.served import Served, children, config, fixture, lives, serving
from team.test_replica_faults import Retried
from team.test_replicas import ROOT, ROOTS, sockets

pytestmark = pytest.mark.anyio

WORKERS = 3


@pytest.fixture
def served(tmp_path):
    servers = {"sticky": fixture("replica_state")}
    options = config(tmp_path, servers)
    with serving(*options, "--workers", str(WORKERS)) as served:
        yield served


async def gone(pids):
    await until(lambda: not any(map(lives, pids)))


async def test_every_worker_serves_every_session(served):
    assert len(children(served.pid)) == WORKERS
    async with raw(served.url, HANDSHAKE, **ROOTS) as client:
        client.client.headers["connection"] = "close"
        for number in range(1, 4 * WORKERS):
            result = await client.call("count")
            assert result["structuredContent"] == {"count": number, "roots": [ROOT]}
    async with raw(served.url, STATELESS) as client:
        for _ in range(2 * WORKERS):
            assert [tool["name"] for tool in (await client.result("tools/list"))["tools"]] == ["count"]


async def test_a_worker_that_dies_is_started_again(served):
    [killed, *others] = children(served.pid)
    os.kill(killed, signal.SIGKILL)
    served.says("has ended with status -9, and is started again")
    await until(lambda: len(children(served.pid)) == WORKERS)
    assert {*others} < {*children(served.pid)}
    async with raw(served.url, HANDSHAKE, **ROOTS) as client:
        assert (await client.call("count"))["structuredContent"]["count"] == 1


@pytest.mark.parametrize("number", [10, pytest.param(100, marks=pytest.mark.deep)])
async def test_no_call_is_lost_while_workers_are_killed(tmp_path, number):
    """Step 19: sessions go on at the others, a retry mends what was in flight, and no descriptor is left open."""
    options = config(tmp_path, {"it": fixture("growing", isolation="shared")})
    with serving(*options, "--workers", str(WORKERS)) as served:
        clients = [Retried(served.url, era, "none") for era in (HANDSHAKE, STATELESS) for _ in range(3)]
        lost, kills = [], 0
        for client in clients:
            client.client.headers["connection"] = "close"
            await client.open()
        before = len(sockets(served.pid))
        calls = [asyncio.create_task(makes(client, number, lost)) for client in clients]
        while kills < number // 5 and not all(call.done() for call in calls):
            await until(lambda: len(children(served.pid)) == WORKERS)
            os.kill(random.choice(list(children(served.pid))), signal.SIGKILL)
            kills += 1
            await asyncio.sleep(1)
        await asyncio.gather(*calls)
        assert (lost, kills > 0) == ([], True)
        for client in clients:
            await client.close()
        await until(lambda: len(children(served.pid)) == WORKERS)
        assert len(sockets(served.pid)) == before


async def makes(client, calls, lost):
    for number in range(calls):
        try:
            assert (await client.call("echo", number=number))["structuredContent"] == {"number": number}
        except AssertionError as error:
            lost.append(str(error))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_a_signal_ends_all(served, number):
    workers = children(served.pid)
    servers = [pid for worker in workers for pid in children(worker)]
    os.kill(served.pid, number)
    assert await asyncio.to_thread(served.ends) == 0
    await gone([*workers, *servers])


async def test_workers_end_with_the_process_that_has_started_them(served):
    workers = children(served.pid)
    served.kill()
    await gone(workers)


async def test_a_child_that_it_has_not_started_is_no_worker(tmp_path):
    """As process 1 of a container it gets the orphans of others: one that ended, ended all workers."""
    options = config(tmp_path, {"sticky": fixture("replica_state", isolation="shared")})
    command = ["sh", "-c", 'sleep 60 & exec "$0" "$@"', *LOUVER_ITSELF]
    with serving(*options, "--workers", "2", command=command) as served:
        [other] = [pid for pid, line in children(served.pid).items() if line.startswith("sleep")]
        os.kill(other, signal.SIGKILL)
        # It is gone once somebody has waited for it.
        await until(lambda: not Path(f"/proc/{other}").exists())
        async with raw(served.url, STATELESS) as client:
            assert (await client.result("tools/list"))["tools"]
        os.kill(served.pid, signal.SIGTERM)
        assert await asyncio.to_thread(served.ends) == 0


def taken_after_a_free_one():
    """A socket at a port after a free one, both below those that the system gives to other tests."""
    while True:
        port = random.randrange(20_000, 32_000)
        with suppress(OSError):
            socket.create_server(("127.0.0.1", port - 1)).close()
            return socket.create_server(("127.0.0.1", port))


def test_a_worker_that_cannot_serve_ends_all_and_says_why(tmp_path):
    """Clients at its socket waited for it, and it was started again and again, each time with a traceback."""
    options = config(tmp_path, {"it": fixture("records", isolation="shared")})
    with taken_after_a_free_one() as taken:
        port = taken.getsockname()[1]
        metrics = ["--metrics", f"127.0.0.1:{port - 1}"]
        served = Served([*LOUVER_ITSELF, "--http", "127.0.0.1:0", "--no-auth", "--workers", "2", *metrics, *options])
        assert served.ends() == 2
        served.close()
    assert any(f"port {port}: Address already in use" in line for line in served.said)
    assert "Traceback" not in "".join(served.said)


def test_workers_share_their_port_with_no_other_gateway(served):
    """They did, and each refused half of the requests of the other's sessions."""
    address = served.url.removeprefix("http://").removesuffix("/mcp")
    told = louver("serve", "--http", address, "--no-auth", "--workers", "2", "--", "true")
    assert told.returncode == 2
    assert "Address already in use" in told.stderr
