"""Audit records that are shipped: all of them arrive, and none twice, whatever fails meanwhile."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from fixtures.failsafe import until
from louver.errors import AuditFailed
from louver.steps.audit import writer as writer_module
from louver.steps.audit.report import AuditReport
from louver.steps.audit.writer import AuditWriter
from louver.team.audit import shipper as module
from louver.team.audit import spool as spool_module
from louver.team.audit.line_file import LineFile
from louver.team.audit.shipper import Shipper
from louver.team.audit.spool import LastRecord, Spool, SpoolTable
from steps.audited import ANN, DAY_S, NOW, record
from steps.kept import Clock

pytestmark = pytest.mark.anyio

KEY = b"k" * 32
SHIPPING = [sys.executable, str(Path(__file__).parent / "shipped.py")]


@pytest.fixture(autouse=True)
def often(monkeypatch):
    monkeypatch.setattr(module, "AUDIT_SHIPPED_S", 0.01)


class Lines:
    def __init__(self, file):
        self.file = file
        self.text = str(file)

    def destination(self):
        return LineFile(self.file)

    async def found(self):
        """Spool and record of each line."""
        lines = map(json.loads, self.file.read_text().splitlines()) if self.file.exists() else ()
        return [(line["spool"], line["number"], line["correlation"]) for line in lines]


@pytest.fixture
def arriving(tmp_path):
    return Lines(tmp_path / "audit.jsonl")


@pytest.fixture
def audit(tmp_path):
    with closing(AuditWriter(tmp_path / "audit.db", clock=lambda: NOW, spool=SpoolTable(KEY))) as audit:
        yield audit


@asynccontextmanager
async def shipping(file, destination):
    shipper = Shipper(Spool(file), destination)
    shipper.start()
    try:
        yield
    finally:
        await shipper.close()


async def write(audit, name, count):
    await asyncio.gather(*(audit.write(record(correlation=f"{name}{number}")) for number in range(count)))


def waiting(file):
    with closing(sqlite3.connect(file)) as database:
        return SpoolTable.unshipped(database)


async def test_every_record_arrives_once_and_in_order(arriving, audit, tmp_path, monkeypatch):
    monkeypatch.setattr(spool_module, "_NEXT", spool_module._NEXT.replace("1000", "7"))
    await write(audit, "a", 10)
    async with shipping(tmp_path / "audit.db", arriving.destination()):
        await write(audit, "b", 50)
        await until(lambda: has(arriving, 60))
        await write(audit, "c", 5)
    found = await arriving.found()
    assert [number for _, number, _ in found] == list(range(1, 66))
    assert {correlation[0] for *_, correlation in found[:10]} == {"a"}
    assert len({spool for spool, *_ in found}) == 1
    with closing(AuditReport(tmp_path / "audit.db")) as kept:
        assert len(list(kept.records())) == 65


async def has(arriving, count):
    return len(await arriving.found()) >= count


async def test_a_record_arrives_as_it_was_written(audit, arriving, tmp_path):
    whole = record(
        fields=("name", "orders.*.to\0tal"), policy=None, duration_ms=0.25, principal=audit.principal_digest(ANN)
    )
    await audit.write(whole)
    async with shipping(tmp_path / "audit.db", arriving.destination()):
        await until(lambda: has(arriving, 1))
    [(spool, _, _)] = await arriving.found()
    assert json.loads(arriving.file.read_text()) == {"spool": spool, "number": 1, **whole.to_json()}
    assert arriving.file.stat().st_mode & 0o777 == 0o600


async def test_a_batch_that_arrived_but_was_not_marked_arrives_no_second_time(arriving, audit, tmp_path):
    """Ours: the process was killed between both."""
    await write(audit, "a", 3)
    with closing(Spool(tmp_path / "audit.db")) as spool:
        destination = arriving.destination()
        await destination.append(spool.id, spool.next_records)
        await write(audit, "b", 2)
        assert waiting(tmp_path / "audit.db") == 5
        await destination.append(spool.id, spool.next_records)
        spool.mark_shipped()
    assert [number for _, number, _ in await arriving.found()] == [1, 2, 3, 4, 5]
    assert waiting(tmp_path / "audit.db") == 0


@pytest.mark.parametrize("number", [0, 2])
async def test_a_process_that_is_killed_while_it_ships_loses_and_repeats_nothing(arriving, tmp_path, number):
    file = tmp_path / "audit.db"
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    for run in range(3):
        command = [*SHIPPING, str(file), arriving.text, f"{run}-"]
        process = subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True)  # noqa: ASYNC220
        lines = (5 + 40 * number) * (run + 1)
        said = [process.stdout.readline() for _ in range(lines)]
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert said[-1].strip() == str(lines - 1)
    with closing(AuditReport(file)) as kept:
        written = sorted(each.correlation for each in kept.records())
    async with shipping(file, arriving.destination()):
        await until(lambda: has(arriving, len(written)))
    found = await arriving.found()
    assert sorted(correlation for *_, correlation in found) == written
    assert len({place[:2] for place in found}) == len(found)


async def test_processes_that_share_a_file_ship_each_record_once(arriving, audit, tmp_path, caplog):
    """Ours: one file of records, and a shipper in each process."""
    file = tmp_path / "audit.db"
    async with (
        shipping(file, arriving.destination()),
        shipping(file, arriving.destination()),
        shipping(file, arriving.destination()),
    ):
        for number in range(10):
            await write(audit, f"{number}-", 20)
        await until(lambda: has(arriving, 200))
    assert sorted(number for _, number, _ in await arriving.found()) == list(range(1, 201))
    assert not caplog.records


async def test_replicas_name_a_principal_alike_and_their_records_are_told_apart(tmp_path, caplog):
    digests, spools = set(), set()
    for file in (tmp_path / "one.db", tmp_path / "two.db"):
        with closing(AuditWriter(file, clock=lambda: NOW, spool=SpoolTable(KEY))) as audit:
            digests.add(audit.principal_digest(ANN))
            await write(audit, file.stem, 3)
        arriving = Lines(file.with_suffix(".jsonl"))
        async with shipping(file, arriving.destination()):
            await until(lambda arriving=arriving: has(arriving, 3))
        spools |= {spool for spool, *_ in await arriving.found()}
    assert (len(digests), len(spools)) == (1, 2)
    assert not caplog.records


async def test_a_file_that_has_another_key_is_warned_of(tmp_path, caplog):
    """Ours: records that it has name principals by it."""
    file = tmp_path / "audit.db"
    with closing(AuditWriter(file)) as audit:
        before = audit.principal_digest(ANN)
    with closing(AuditWriter(file, spool=SpoolTable(KEY))) as audit:
        assert audit.principal_digest(ANN) == before
    [line] = caplog.messages
    assert "by a key of its own" in line


async def test_records_are_deleted_by_age_only_once_they_are_shipped(arriving, tmp_path):
    file, clock = tmp_path / "audit.db", Clock()
    began = clock.now
    with closing(AuditWriter(file, 1, clock, spool=SpoolTable(KEY))) as audit:
        await audit.write(record(time=began))
        clock.now += 3 * DAY_S
        await audit.write(record(time=clock.now))
        assert waiting(file) == 2
        async with shipping(file, arriving.destination()):
            await until(lambda: has(arriving, 2))
        for days in (1.5, 1):
            clock.now += days * DAY_S
            await audit.write(record(time=clock.now))
    with closing(AuditReport(file)) as kept:
        assert [each.time for each in kept.records()] == [clock.now - DAY_S, clock.now]
    assert len(await arriving.found()) == 2


async def test_a_full_spool_takes_no_record_until_some_are_shipped(arriving, audit, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(writer_module, "MAX_UNSHIPPED_RECORDS", 3)
    await write(audit, "a", 3)
    for _ in range(3):
        with pytest.raises(AuditFailed, match=r"there is no answer: .* records wait to be shipped"):
            await audit.write(record())
    assert len(caplog.messages) == 1
    async with shipping(tmp_path / "audit.db", arriving.destination()):
        await until(lambda: has(arriving, 3))
        await until(lambda: is_written(audit))
    assert caplog.messages[1:] == ["audit records are written again"]
    assert [number for _, number, _ in await arriving.found()] == [1, 2, 3, 4]


async def is_written(audit):
    try:
        await audit.write(record())
    except AuditFailed:
        return False
    return True


async def test_a_file_that_cannot_be_written_is_warned_of_once_and_gets_all_when_it_can(
    arriving, audit, tmp_path, caplog
):
    file = tmp_path / "audit.db"
    async with shipping(file, arriving.destination()):
        await write(audit, "a", 3)
        await until(lambda: has(arriving, 3))
        arriving.file.rename(tmp_path / "before.jsonl")
        arriving.file.mkdir()
        await write(audit, "b", 3)
        await until(lambda: warned(caplog, "Is a directory"))
        await write(audit, "c", 3)
        arriving.file.rmdir()
        await until(lambda: warned(caplog, "again"))
        await until(lambda: has(arriving, 6))
    assert len(caplog.messages) == 2
    assert [number for _, number, _ in await arriving.found()] == [4, 5, 6, 7, 8, 9]


async def warned(caplog, text):
    return text in caplog.text


async def test_a_file_of_something_else_is_left(audit, tmp_path, caplog):
    caplog.set_level(logging.WARNING)
    file = tmp_path / "audit.db"
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "notes.jsonl").write_text('{"mine":1}\n{"spool":')
    (tmp_path / "broken.jsonl").write_text('{"spool":"0f31, and no more\n')
    await write(audit, "a", 3)
    for destination, reason in (
        (LineFile(tmp_path / "notes.txt"), "it holds something else"),
        (LineFile(tmp_path / "notes.jsonl"), "it holds something else"),
        (LineFile(tmp_path / "broken.jsonl"), "it holds something else"),
        (LineFile(tmp_path), "Is a directory"),
        (LineFile(file), "it holds something else"),
    ):
        caplog.clear()
        async with shipping(file, destination):
            await until(lambda reason=reason: warned(caplog, reason))
        assert len(caplog.messages) == 1
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert waiting(file) == 3


async def test_a_copy_of_a_file_is_found_out(arriving, tmp_path, caplog):
    """Ours: a disk that was put back, or cloned for another replica. Its records have numbers that are taken."""
    file, copy = tmp_path / "audit.db", tmp_path / "copy.db"
    AuditWriter(file, spool=SpoolTable(KEY)).close()
    shutil.copy(file, copy)
    with closing(AuditWriter(file, spool=SpoolTable(KEY))) as audit:
        await write(audit, "a", 3)
    async with shipping(file, arriving.destination()):
        await until(lambda: has(arriving, 3))
    with closing(AuditWriter(copy, spool=SpoolTable(KEY))) as other:
        await write(other, "b", 5)
        async with shipping(copy, arriving.destination()):
            await until(lambda: warned(caplog, "which is a copy: move the file away"))
    assert len(await arriving.found()) == 3


async def test_half_a_line_is_written_again(audit, tmp_path):
    """Ours: killed while it wrote, or without power, whereupon zeros follow."""
    lines, file = tmp_path / "audit.jsonl", tmp_path / "audit.db"
    await write(audit, "a", 4)
    with closing(Spool(file)) as spool:
        await LineFile(lines).append(spool.id, spool.next_records)
        whole = lines.read_bytes()
        for cut in (0, 1, len(whole) // 2, len(whole) - 3, len(whole)):
            for zeros in (0, cut, 100_000):
                lines.write_bytes(whole[: len(whole) - cut] + b"\0" * zeros)
                await LineFile(lines).append(spool.id, spool.next_records)
                assert lines.read_bytes() == whole


async def test_what_has_failed_is_tried_once_more_at_the_end(audit, tmp_path, caplog, monkeypatch):
    """Ours: what has mended it may be a moment old."""
    monkeypatch.setattr(module, "AUDIT_SHIPPED_S", 60)
    await write(audit, "a", 4)
    lines = tmp_path / "audit.jsonl"
    lines.mkdir()
    async with shipping(tmp_path / "audit.db", LineFile(lines)):
        await until(lambda: warned(caplog, "Is a directory"))
        lines.rmdir()
    assert lines.read_bytes().count(b"\n") == 4


async def test_a_renamed_file_is_left_and_a_new_one_begun(audit, tmp_path):
    """Log rotation by renaming."""
    lines, file = tmp_path / "audit.jsonl", tmp_path / "audit.db"
    arriving = Lines(lines)
    async with shipping(file, arriving.destination()):
        await write(audit, "a", 3)
        await until(lambda: has(arriving, 3))
        lines.rename(tmp_path / "audit.jsonl.1")
        await write(audit, "b", 2)
        await until(lambda: has(arriving, 2))
    assert [number for _, number, _ in await arriving.found()] == [4, 5]
    assert [number for _, number, _ in await Lines(tmp_path / "audit.jsonl.1").found()] == [1, 2, 3]


async def test_a_long_last_line_is_read(audit, tmp_path):
    lines = tmp_path / "audit.jsonl"
    await audit.write(record(correlation="c1"))
    await audit.write(record(fields=tuple(f"field{number}" * 80 for number in range(256)), correlation="long"))
    with closing(Spool(tmp_path / "audit.db")) as spool:
        await LineFile(lines).append(spool.id, spool.next_records)
        seen = []
        await LineFile(lines).append(spool.id, lambda last: seen.append(last) or [])
        await LineFile(lines).append("another", lambda last: seen.append(last) or [])
    assert seen == [LastRecord(2, "long"), None]


async def test_records_that_somebody_else_deleted_are_passed_over(arriving, audit, tmp_path):
    """Ours: a gateway without `shipTo`, on the same file."""
    await write(audit, "a", 3)
    with closing(sqlite3.connect(tmp_path / "audit.db")) as database, database:
        database.execute("DELETE FROM records")
    async with shipping(tmp_path / "audit.db", arriving.destination()):
        await until(lambda: nothing_waits(tmp_path / "audit.db"))
        await write(audit, "b", 1)
        await until(lambda: has(arriving, 1))
    assert [number for _, number, _ in await arriving.found()] == [4]


async def nothing_waits(file):
    return waiting(file) == 0
