"""The disk of the audit is full while calls go on: what has run is recorded, all else was refused before it ran."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
from collections import Counter
from contextlib import asynccontextmanager, closing

import pytest

from fixtures.failsafe import FAILSAFE_S, until
from fixtures.forking import fork_of
from gateway.gateways import LOUVER
from gateway.raw import STATELESS, raw
from gateway.served import config, fixture, serving
from louver.steps.audit.report import AuditReport

pytestmark = pytest.mark.anyio

AT_ONCE = 8
RULES = {"rules": [{"name": "all", "allow": ["id"]}]}
POLICY = {"version": "1", "tools": {"act": RULES, "hold": RULES}}


class LimitedFiles:
    """The files of the gateway may not grow: to a process that is a full disk, and it needs no rights."""

    def __init__(self, folder):
        self.folder = folder

    def close(self):
        self.free(os.getpid())

    def fill(self, pid):
        size = (self.folder / "audit.db-wal").stat().st_size
        self._limit(pid, size + 4096)

    def free(self, pid):
        self._limit(pid, resource.RLIM_INFINITY)

    def _limit(self, pid, size):
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


class SmallDisk:
    """A file system of its own, with another file that takes what is left."""

    def __init__(self, folder):
        self.folder = folder
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "audit", folder], capture_output=True).returncode:
            pytest.skip("this user may mount nothing")

    def close(self):
        subprocess.run(["umount", "-l", self.folder], check=True)

    def fill(self, _pid):
        room = os.statvfs(self.folder)
        with (self.folder / "other").open("wb", buffering=0) as other:
            other.write(bytes(room.f_bavail * room.f_frsize - 4096))

    def free(self, _pid):
        (self.folder / "other").unlink()


@asynccontextmanager
async def over_http(options):
    with serving(*options) as served:
        async with raw(served.url, STATELESS) as client:
            yield client, served.pid


@asynccontextmanager
async def over_stdio(options):
    async with raw([*LOUVER, *options], STATELESS) as client:
        yield client, fork_of(client.process.pid)


TRANSPORTS = pytest.mark.parametrize("over", [over_http, over_stdio])


def kind(answer):
    """What became of a call, as its caller saw it."""
    if "error" in answer:
        assert "so it has not run: " in answer["error"]["message"], answer
        return "refused"
    result = answer["result"]
    if not result.get("isError"):
        assert "id" in result["structuredContent"]
        return "answered"
    assert "so there is no answer" in result["content"][0]["text"]
    assert "structuredContent" not in result
    return "unanswered"


async def calls(client, seen, enough):
    """Call from several tasks until enough was seen."""

    async def one():
        while not all(seen[what] >= number for what, number in enough.items()):
            seen[kind(await client.request("tools/call", name="act", arguments={}))] += 1

    async with asyncio.timeout(FAILSAFE_S), asyncio.TaskGroup() as tasks:
        for _ in range(AT_ONCE):
            tasks.create_task(one())


def options(folder, policed=True, **audit):
    (folder / "counting.policy.json").write_text(json.dumps(POLICY))
    policy = {"policy": "counting.policy.json"} if policed else {}
    server = fixture("counting", folder / "acts", **policy)
    return config(folder, {"counting": server}, audit=audit, pseudonymKey="k" * 32)


def recorded(file):
    """How many records the file has of each outcome."""
    with closing(AuditReport(file)) as report:
        return Counter(record.outcome for record in report.records())


def acts(folder):
    """How many calls the server has run."""
    return (folder / "acts").stat().st_size


@TRANSPORTS
@pytest.mark.parametrize("how", [{"policed": False}, {"shipTo": "shipped.jsonl"}], ids=["no policy", "spool"])
@pytest.mark.parametrize("disk", [LimitedFiles, pytest.param(SmallDisk, marks=pytest.mark.deep)])
async def test_what_runs_on_a_full_disk_is_recorded(over, how, disk, tmp_path):
    """TRUST.md, row 19: calls = recorded + refused before they ran; and it goes on by itself."""
    (tmp_path / "disk").mkdir()
    seen = Counter()
    with closing(disk(tmp_path / "disk")) as audit_disk:
        async with over(options(tmp_path, file="disk/audit.db", **how)) as (client, pid):
            await calls(client, seen, {"answered": 50})
            audit_disk.fill(pid)
            await calls(client, seen, {"refused": 200})
            audit_disk.free(pid)
            await calls(client, seen, {"answered": seen["answered"] + 50})
        records = recorded(tmp_path / "disk" / "audit.db")
    assert records == Counter(answered=seen["answered"], withheld=seen["unanswered"])
    assert acts(tmp_path) == records.total() == seen.total() - seen["refused"]
    assert seen["unanswered"] <= AT_ONCE
    if "shipTo" in how:
        assert (tmp_path / "shipped.jsonl").read_bytes().count(b"\n") == records.total()


async def test_what_waits_for_room_when_a_gateway_ends_is_in_its_log(tmp_path):
    """TRUST.md, row 19: calls that have run = records and lines of the log, though the disk stays full."""
    (tmp_path / "disk").mkdir()
    seen = Counter()
    with serving(*options(tmp_path, file="disk/audit.db")) as served:
        async with raw(served.url, STATELESS) as client:
            await calls(client, seen, {"answered": 50})
            LimitedFiles(tmp_path / "disk").fill(served.pid)
            await calls(client, seen, {"refused": 50})
    lost = [json.loads(line.partition("is lost: ")[2]) for line in served.said if "is lost: " in line]
    records = recorded(tmp_path / "disk" / "audit.db")
    assert seen["unanswered"]
    assert [each["outcome"] for each in lost] == ["withheld"] * seen["unanswered"]
    assert len({each["correlation"] for each in lost}) == len(lost)
    assert records == Counter(answered=seen["answered"])
    assert acts(tmp_path) == records.total() + len(lost)


@pytest.mark.parametrize(("over", "policed"), [(over_http, True), (over_stdio, False)])
async def test_a_call_that_is_cancelled_is_recorded(over, policed, tmp_path):
    """TRUST.md, "No act without a record": it runs at the server, though nobody gets an answer."""
    async with over(options(tmp_path, policed, file="audit.db")) as (client, _):
        held = client.begin(client.request("tools/call", name="hold", arguments={}))
        await until(lambda: (tmp_path / "acts").exists() and acts(tmp_path) == 1)
        held.cancel()
        await until(lambda: recorded(tmp_path / "audit.db") == Counter(withheld=1))
        with closing(AuditReport(tmp_path / "audit.db")) as report:
            assert [record.tool for record in report.records()] == ["hold"]
