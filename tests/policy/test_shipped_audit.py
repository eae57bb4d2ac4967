"""A gateway that ships its audit records: killed meanwhile, and with a database that is away."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing, suppress

import asyncpg
import httpx2
import pytest

from fixtures import stores
from fixtures.failsafe import FAILSAFE_S, until
from gateway.raw import STATELESS, raw
from gateway.served import serving
from louver.steps.audit.report import AuditReport
from louver.steps.audit.writer import MAX_UNSHIPPED_RECORDS
from policy.end_to_end import written

pytestmark = pytest.mark.anyio


@pytest.fixture
def postgres():
    with stores.postgres() as store:
        yield store


async def shipped(store):
    connection = await asyncpg.connect(store.url)
    try:
        return await connection.fetchval("SELECT count(*) FROM louver_audit")
    finally:
        await connection.close()


async def calls(url, answered):
    """Call until the gateway is gone."""
    with suppress(httpx2.HTTPError, AssertionError, KeyError):
        async with raw(url, STATELESS) as client:
            while True:
                result = await client.call("get_user_profile", user_id=1)
                assert not result.get("isError")
                answered.append(result)


async def test_a_gateway_that_is_killed_while_it_ships_loses_and_repeats_no_record(postgres, tmp_path):
    """TEAM.md: no record, no answer still holds; each record arrives once."""
    options = written(tmp_path, audit={"file": "audit.db", "shipTo": postgres.url})
    answered = []
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
        async with asyncio.timeout(FAILSAFE_S):
            while await shipped(postgres) < records:  # noqa: ASYNC110 - it is about another process
                await asyncio.sleep(0.05)
    assert await shipped(postgres) == records


async def test_no_tool_under_the_policy_answers_while_the_spool_is_full(postgres, tmp_path):
    """Issue 43: it goes on by itself once records are shipped, and the last ones are when it ends."""
    postgres.end()
    options = written(tmp_path, audit={"file": "audit.db", "shipTo": postgres.url})
    with serving(*options) as served, closing(sqlite3.connect(tmp_path / "audit.db")) as database:
        async with raw(served.url, STATELESS) as client:
            assert not (await client.call("get_user_profile", user_id=1)).get("isError")
            served.says("audit records are not shipped to postgres://127.0.0.1")
            with database:
                database.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'records'", (MAX_UNSHIPPED_RECORDS,))
            # It had room when it began.
            assert not (await client.call("get_user_profile", user_id=1)).get("isError")
            # From then on no tool runs.
            error = await client.error("tools/call", name="get_user_profile", arguments={"user_id": 1})
            assert f"it has not run: {MAX_UNSHIPPED_RECORDS} records wait" in error["message"]
            postgres.start()
            served.says("are shipped to postgres://127.0.0.1:.* again")
            async with asyncio.timeout(FAILSAFE_S):
                call = {"name": "get_user_profile", "arguments": {"user_id": 1}}
                while "error" in await client.request("tools/call", **call):
                    pass
    assert await shipped(postgres) == 3
    said = "".join(served.said)
    assert said.count("audit records are not written") == 1
    assert stores.PASSWORD not in said
