"""`louver serve --http --access-log`: a line of JSON a request on standard output, without a value."""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import closing

import httpx2
import pytest

from fixtures.command import louver
from gateway.front.auth.guarded import bearing, token_file
from gateway.raw import HANDSHAKE, STATELESS, raw
from gateway.served import config, fixture, serving
from louver.steps.audit.report import AuditReport

pytestmark = pytest.mark.anyio

SECRET = "not-for-a-log"
TRACEPARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


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


async def test_a_call_is_found_in_audit_records_and_in_its_trace(tmp_path):
    """TEAM.md, "Second look", row 6: by the ids that these have; the trace is the client's."""
    policy = {"version": "1", "tools": {"*": {"rules": [{"name": "all", "allow": ["rows.*.id"]}]}}}
    (tmp_path / "p.policy.json").write_text(json.dumps(policy))
    servers = {"records": fixture("records", policy="p.policy.json")}
    options = config(tmp_path, servers, auth={"tokens": token_file(tmp_path)})
    out = tmp_path / "out"
    with out.open("wb") as written, serving(*options, "--access-log", no_auth=False, stdout=written) as served:
        async with bearing(served.url, "t-ann", HANDSHAKE) as client:
            await client.call("find", _meta={"traceparent": TRACEPARENT})
        async with bearing(served.url, "t-ann", STATELESS) as client:
            client.client.headers["traceparent"] = TRACEPARENT
            await client.call("find")
        served.close()
    found = [json.loads(line) for line in out.read_text().splitlines()]
    calls = [line for line in found if line.get("method") == "tools/call"]
    with closing(AuditReport(tmp_path / "audit.db")) as report:
        records = [(record.principal, record.correlation, TRACEPARENT.split("-")[1]) for record in report.records()]
    assert len(records) == 2
    assert [(line["principal"], line["correlation"], line["trace"]) for line in calls] == records
    assert {line["principal"] for line in found} == {records[0][0]}
    assert "ann" not in out.read_text()


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
