"""A gateway that ships its audit records: killed meanwhile, and with a file that cannot be written."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing, suppress

import httpx2
import pytest

from fixtures.failsafe import FAILSAFE_S, until
from gateway.raw import STATELESS, raw
from gateway.served import serving
from louver.steps.audit.report import AuditReport
from louver.steps.audit.writer import MAX_UNSHIPPED_RECORDS
from policy.end_to_end import written

pytestmark = pytest.mark.anyio


def shipped(file):
    return file.read_bytes().count(b"\n") if file.is_file() else 0


async def calls(url, answered):
    """Call until the gateway is gone."""
    with suppress(httpx2.HTTPError, AssertionError, KeyError):
        async with raw(url, STATELESS) as client:
            while True:
                result = await client.call("get_user_profile", user_id=1)
                assert not result.get("isError")
                answered.append(result)


async def test_a_gateway_that_is_killed_while_it_ships_loses_and_repeats_no_record(tmp_path):
    """TEAM.md: no record, no answer still holds; each record arrives once."""
    options = written(tmp_path, audit={"file": "audit.db", "shipTo": "audit.jsonl"})
    lines, answered = tmp_path / "audit.jsonl", []
    for enough in (200, 450):
        with serving(*options) as served:
            clients = [asyncio.create_task(calls(served.url, answered)) for _ in range(4)]
            await until(lambda enough=enough: len(answered) >= enough)
            served.kill()
            await asyncio.gather(*clients)
    with closing(AuditReport(tmp_path / "audit.db")) as kept:
        records = len(list(kept.records()))
    assert records >= len(answered) >= 450
    with serving(*options):
        await until(lambda: shipped(lines) >= records)
    assert shipped(lines) == records


async def test_no_tool_under_the_policy_answers_while_the_spool_is_full(tmp_path):
    """Issue 43: it goes on by itself once records are shipped, and the last ones are when it ends."""
    options = written(tmp_path, audit={"file": "audit.db", "shipTo": "audit.jsonl"})
    lines = tmp_path / "audit.jsonl"
    lines.mkdir()
    with serving(*options) as served, closing(sqlite3.connect(tmp_path / "audit.db")) as database:
        async with raw(served.url, STATELESS) as client:
            assert not (await client.call("get_user_profile", user_id=1)).get("isError")
            served.says("audit records are not shipped to .*audit.jsonl")
            with database:
                database.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'records'", (MAX_UNSHIPPED_RECORDS,))
            # It had room when it began.
            assert not (await client.call("get_user_profile", user_id=1)).get("isError")
            # From then on no tool runs.
            error = await client.error("tools/call", name="get_user_profile", arguments={"user_id": 1})
            assert f"it has not run: {MAX_UNSHIPPED_RECORDS} records wait" in error["message"]
            lines.rmdir()
            served.says("are shipped to .*audit.jsonl.* again")
            async with asyncio.timeout(FAILSAFE_S):
                call = {"name": "get_user_profile", "arguments": {"user_id": 1}}
                while "error" in await client.request("tools/call", **call):
                    pass
    assert shipped(lines) == 3
    said = "".join(served.said)
    assert said.count("audit records are not written") == 1
