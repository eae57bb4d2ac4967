"""A gateway that is killed while calls go on, again and again: records, what is shipped of them, and savings."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import sqlite3
from collections import Counter
from contextlib import closing
from functools import partial

import httpx2
import pytest

from fixtures.failsafe import FAILSAFE_S
from gateway.served import serving, stateless
from louver.steps.savings.report import SavingsReport
from policy.test_full_disk import acts, options, recorded

pytestmark = pytest.mark.anyio

AT_ONCE = 4


async def calls(url, answered, enough, end):
    """Call until the gateway is gone; it is ended once there were enough answers."""
    async with httpx2.AsyncClient(trust_env=False) as client:
        while True:
            try:
                response = await client.post(url, **stateless("tools/call", name="act", arguments={}))
                answer = response.json()
            except (httpx2.TransportError, ValueError):
                return
            if "result" in answer and not answer["result"].get("isError"):
                answered.append(answer["result"]["structuredContent"]["id"])
            if len(answered) == enough:
                end()


async def one_life(given, answered, number, signal_sent):
    """How many calls were answered while the gateway ran."""
    before = len(answered)
    with serving(*given) as served:
        end = partial(served.process.send_signal, signal_sent)
        async with asyncio.timeout(FAILSAFE_S), asyncio.TaskGroup() as clients:
            for _ in range(AT_ONCE):
                clients.create_task(calls(served.url, answered, before + number, end))
        await asyncio.to_thread(served.ends)
    assert "Traceback" not in "".join(served.said)
    return len(answered) - before


def is_whole(file):
    with closing(sqlite3.connect(file)) as database:
        return database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


# Savings are written every three seconds, of some 2,000 calls.
@pytest.mark.parametrize(("lives", "most"), [(2, 300), pytest.param(6, 1200, marks=pytest.mark.deep)])
@pytest.mark.parametrize("how", [{"shipTo": "shipped.jsonl"}, {"policed": False}], ids=["spool", "no policy"])
async def test_a_gateway_that_is_killed_under_load_loses_no_record(tmp_path, how, lives, most):
    """TRUST.md: each answer has a record, which is shipped once; savings are whole, and count no call twice."""
    given = options(tmp_path, file="audit.db", **how)
    written = json.loads((tmp_path / "mcp.json").read_text())
    written["louver"]["savings"] = "savings.db"
    (tmp_path / "mcp.json").write_text(json.dumps(written))
    answered, moments = [], random.Random(lives)
    for _ in range(lives):
        await one_life(given, answered, moments.randint(1, most), signal.SIGKILL)
    counted = SavingsReport(tmp_path / "savings.db").total()["calls"]
    last = await one_life(given, answered, 50, signal.SIGTERM)
    assert len(answered) == len(set(answered))
    records = recorded(tmp_path / "audit.db")
    assert records["answered"] >= len(answered)
    assert records.total() <= acts(tmp_path)
    assert is_whole(tmp_path / "audit.db")
    assert is_whole(tmp_path / "savings.db")
    savings = SavingsReport(tmp_path / "savings.db").total()
    assert counted + last <= savings["calls"] <= acts(tmp_path)
    if "shipTo" in how:
        lines = [json.loads(line) for line in (tmp_path / "shipped.jsonl").read_bytes().splitlines()]
        assert [line["number"] for line in lines] == list(range(1, records.total() + 1))
        assert Counter(line["outcome"] for line in lines) == records
