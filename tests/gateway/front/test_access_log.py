"""`louver serve --http --access-log`: a line of JSON a request on standard output, without a value."""

from __future__ import annotations

import fcntl
import json
import os

import httpx2
import pytest

from fixtures.command import louver
from gateway.raw import HANDSHAKE, STATELESS, raw
from gateway.served import config, fixture, serving

pytestmark = pytest.mark.anyio

SECRET = "not-for-a-log"


@pytest.fixture
def lines(tmp_path):
    """A gateway, and what it has printed once it has ended."""
    options = config(tmp_path, {"records": fixture("records", isolation="shared")})
    out = tmp_path / "out"
    with out.open("wb") as written, serving(*options, "--access-log", stdout=written) as served:
        yield served, lambda: [json.loads(line) for line in out.read_text().splitlines()]


async def test_each_request_has_a_line(lines):
    served, printed = lines
    for era in (HANDSHAKE, STATELESS):
        async with raw(served.url, era) as client:
            await client.call("find", name=SECRET)
    httpx2.get(served.url.replace("/mcp", "/nowhere"))
    httpx2.get(served.url.replace("/mcp", "/healthz"))
    served.close()
    found = printed()
    calls = [line for line in found if line.get("method") == "tools/call"]
    assert [(call["name"], call["status"], call["http"], call["revision"]) for call in calls] == [
        ("find", 200, "POST /mcp", HANDSHAKE),
        ("find", 200, "POST /mcp", STATELESS),
    ]
    assert all(call["bytes"] > 100 and call["ms"] >= 0 and call["client"] == "127.0.0.1" for call in calls)
    assert [line["status"] for line in found if line["http"] == "GET /nowhere"] == [404]
    assert not [line for line in found if "healthz" in line["http"]]
    assert SECRET not in json.dumps(found)


async def test_clients_are_served_though_nobody_reads_it(tmp_path):
    """A full pipe stalled all of them, health checks too."""
    options = config(tmp_path, {"records": fixture("records", isolation="shared")})
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    with (
        serving(*options, "--access-log", stdout=writing) as served,
        httpx2.Client() as client,
    ):
        for _ in range(100):
            assert client.get(served.url.replace("/mcp", "/nowhere")).status_code == 404
        served.process.terminate()
        assert served.ends() == 0
    os.close(reading)
    os.close(writing)


def test_it_is_for_http():
    told = louver("serve", "--access-log", "--", "true")
    assert told.returncode == 2
    assert "--access-log" in told.stderr
