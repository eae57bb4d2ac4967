"""Audit records: what is written is there, whatever happens then."""

import asyncio
import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from fixtures.failsafe import FAILSAFE_S
from fixtures.forking import PYTHON
from louver.errors import AuditFailed, InvalidInput
from louver.policy.principal import NOBODY, Principal
from louver.steps.audit.report import AuditReport
from louver.steps.audit.writer import AUDIT_SWEPT_S, AuditWriter
from steps.audited import ANN, BOB, DAY_S, NOW, record
from steps.kept import Clock
from steps.threads import Begun, Work

pytestmark = pytest.mark.anyio

WRITER = [PYTHON, str(Path(__file__).parents[1] / "audited.py")]


@pytest.fixture
def file(tmp_path):
    return tmp_path / "audit.db"


def kept(file, since=0.0):
    """The records of a file."""
    with closing(AuditReport(file, since)) as trail:
        return list(trail.records())


def writer(file, name, count):
    """A process that writes, and says so."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.Popen([*WRITER, str(file), name, str(count)], text=True, env=environ, **pipes)


async def test_what_is_written_is_read_as_it_was(file):
    """PRIVACY.md, "Audit"."""
    first = record(fields=("name", "orders.*.total"), policy=None, mode="none", outcome="withheld", duration_ms=0.25)
    second = record(time=NOW + 1, fields=(), tool="\ud83d")
    with closing(AuditWriter(file)) as audit:
        await audit.write(second)
        await audit.write(first)
    assert kept(file) == [first, replace(second, tool="\\ud83d")]


async def test_a_record_that_was_written_survives_the_process(file):
    """PRIVACY.md, "Audit": no audit record, no answer; so one that was written must not get lost."""
    with writer(file, "a", 50) as process:
        for _ in range(20):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    assert len(kept(file)) >= 20
    assert [each.correlation for each in kept(file)][:20] == [f"a-{number}" for number in range(20)]


async def test_a_backup_that_was_made_meanwhile_reports_the_same_and_is_gone_on_with(file, tmp_path):
    """Issue 59."""
    backup = tmp_path / "backup.db"
    with closing(AuditWriter(file)) as audit:
        for number in range(3):
            await audit.write(record(time=NOW + number))
        with closing(sqlite3.connect(file)) as database:
            database.execute("VACUUM INTO ?", (str(backup),))
        assert kept(backup) == kept(file)
        await audit.write(record(time=NOW + 3))
    with closing(AuditWriter(backup)) as audit:
        await audit.write(record(time=NOW + 3))
    assert kept(backup) == kept(file)


async def test_several_processes_write_one_file(file):
    """PRIVACY.md, "Audit": WAL. They begin at the same time, so they all want to make the file too."""
    processes = [writer(file, name, 30) for name in "abc"]
    for process in processes:
        assert process.communicate("")[0].count("\n") == 30
        assert process.returncode == 0
    assert {each.correlation for each in kept(file)} == {f"{name}-{number}" for name in "abc" for number in range(30)}
    assert list(file.parent.glob(".*")) == []


async def test_calls_at_once_are_written_together(file):
    """Ours: each waits for the disk once, not for all before it."""
    commits = []
    with closing(AuditWriter(file)) as audit:
        audit._database.set_trace_callback(lambda said: commits.append(said) if said == "COMMIT" else None)
        await asyncio.gather(*(audit.write(record(correlation=str(number))) for number in range(100)))
        assert len(kept(file)) == 100
    assert len(commits) < 50


async def test_who_is_cut_while_it_is_written_spoils_no_other_record(file):
    """Ours: a call that a script leaves, or that ends with the process, does not wait for its thread."""
    clock = Work(NOW)
    with closing(AuditWriter(file)) as audit:
        audit._clock, audit._next_sweep = clock, 0.0
        cut = asyncio.create_task(audit.write(record(correlation="cut")))
        await clock.begun.wait()
        cut.cancel()
        await asyncio.wait([cut])
        following = asyncio.create_task(audit.write(record(correlation="next")))
        await asyncio.sleep(0)
        clock.go_on.set()
        await following
    assert [each.correlation for each in kept(file)] == ["cut", "next"]


async def test_a_record_is_written_though_its_call_is_given_up(file):
    """PRIVACY.md, "Audit": its tool has run."""
    clock = Work(NOW)
    with closing(AuditWriter(file)) as audit:
        audit._clock, audit._next_sweep = clock, 0.0
        first = asyncio.create_task(audit.write(record(correlation="first")))
        await clock.begun.wait()
        calls = [Begun(audit.write(record(correlation=name))) for name in ("second", "third")]
        await asyncio.sleep(0)
        for call in calls:
            call.give_up()
        clock.go_on.set()
        await asyncio.wait([first, *(call.task for call in calls)])
    assert [each.correlation for each in kept(file)] == ["first", "second", "third"]


async def test_old_records_go_when_the_file_is_opened_and_once_a_day(file):
    """PRIVACY.md, "Audit"; how long is said by the configuration."""
    clock = Clock()
    clock.now = NOW
    with closing(AuditWriter(file, 7, clock)) as audit:
        await audit.write(record(correlation="old", fields=("name", "mail")))
        clock.now += 8 * DAY_S - AUDIT_SWEPT_S
        await audit.write(record(time=clock.now, correlation="new"))
        assert [each.correlation for each in kept(file)] == ["old", "new"]
        clock.now += AUDIT_SWEPT_S
        await audit.write(record(time=clock.now, correlation="newer"))
        assert [each.correlation for each in kept(file)] == ["new", "newer"]
    clock.now += 7 * DAY_S
    with closing(AuditWriter(file, 7, clock)) as audit:
        await audit.write(record(time=clock.now, correlation="newest"))
    clock.now += DAY_S
    AuditWriter(file, 7, clock).close()
    assert [each.correlation for each in kept(file)] == ["newest"]
    with closing(sqlite3.connect(file)) as database:
        assert database.execute("SELECT count(*) FROM field_sets").fetchone() == (1,)


@pytest.mark.parametrize("days", [40, 366, 3650])
@pytest.mark.parametrize("restarts", [False, True])
async def test_a_clock_that_jumps_ahead_deletes_nothing_while_it_is_soon_corrected(file, days, restarts):
    """TRUST.md: a year of history does not go by a wrong time of day; one that stays for a day is taken for right."""
    clock = Clock()
    clock.now = NOW
    audit = AuditWriter(file, 365, clock)
    for age in (364, 200, 1):
        await audit.write(record(time=NOW - age * DAY_S))
    clock.now += days * DAY_S
    for hour in range(11):
        if restarts:
            audit.close()
            audit = AuditWriter(file, 365, clock)
        await audit.write(record(time=clock.now))
        clock.now += 3600
        assert len(kept(file)) == 4 + hour
    clock.now += DAY_S
    await audit.write(record(time=clock.now))
    audit.close()
    assert not any(each.time < clock.now - 365 * DAY_S for each in kept(file))


async def test_a_clock_that_is_put_back_does_not_end_the_sweeps(file):
    """Likewise: the next one was due years later."""
    clock = Clock()
    clock.now = NOW + 3650 * DAY_S
    with closing(AuditWriter(file, 7, clock)) as audit:
        clock.now = NOW
        for age in (9, 8, 1):
            await audit.write(record(time=NOW - age * DAY_S))
        assert len(kept(file)) == 3
        clock.now += AUDIT_SWEPT_S
        await audit.write(record(time=clock.now))
        assert [each.time for each in kept(file)] == [NOW - DAY_S, clock.now]


async def test_what_waits_for_room_when_the_file_is_closed_is_logged(file, caplog):
    """TRUST.md, row 19: a call has run, and its record does not go without a line; nor one that comes after."""
    audit = AuditWriter(file)
    (pages,) = audit._database.execute("PRAGMA page_count").fetchone()
    audit._database.execute(f"PRAGMA max_page_count = {pages}")
    long = "c" * 20_000
    with pytest.raises(AuditFailed):
        await audit.write(record(correlation=long, fields=("name",)), has_run=True)
    audit.close()
    with pytest.raises(AuditFailed):
        await audit.write(record(correlation="late", fields=("name",)), has_run=True)
    lost = [line.message for line in caplog.records if "is lost: " in line.message]
    records = [json.loads(line.partition("is lost: ")[2]) for line in lost]
    assert [(each["correlation"], each["outcome"], each["fields"]) for each in records] == [
        (long, "withheld", []),
        ("late", "withheld", []),
    ]


async def test_a_principal_has_a_name_of_its_own_in_each_file(file, tmp_path):
    """PRIVACY.md, "Audit": hashed."""
    with closing(AuditWriter(file)) as audit, closing(AuditWriter(tmp_path / "other.db")) as other:
        assert audit.principal_digest(ANN) == audit.principal_digest(
            Principal("ann", "desk", frozenset({"s"}), frozenset({"r"}))
        )
        assert (
            len(
                {
                    audit.principal_digest(ANN),
                    audit.principal_digest(BOB),
                    audit.principal_digest(NOBODY),
                    other.principal_digest(ANN),
                }
            )
            == 4
        )
        with closing(AuditWriter(file)) as again:
            assert again.principal_digest(ANN) == audit.principal_digest(ANN)
        await audit.write(record(principal=audit.principal_digest(ANN)))
    assert b"ann" not in file.read_bytes()


async def test_the_file_is_of_its_owner_alone(file):
    """Ours: it says who has seen what."""
    AuditWriter(file).close()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_a_full_disk_lets_nothing_pass(file, caplog):
    """PRIVACY.md, "Audit": no audit record, no answer. Once there is room, it goes on."""
    with closing(AuditWriter(file)) as audit:
        await audit.write(record(correlation="before"))
        (pages,) = audit._database.execute("PRAGMA page_count").fetchone()
        audit._database.execute(f"PRAGMA max_page_count = {pages}")
        large = record(correlation="lost", fields=tuple(f"canary{number}" for number in range(2000)))
        with pytest.raises(AuditFailed, match="there is no answer"):
            await audit.write(large)
        assert [line.message for line in caplog.records] == ["audit records are not written: SQLITE_FULL"]
        audit._database.execute("PRAGMA max_page_count = 100000")
        await audit.write(record(correlation="after"))
    assert [each.correlation for each in kept(file)] == ["before", "after"]


_BOUNDED = """
import asyncio, resource, sys
from louver.errors import AuditFailed
from louver.steps.audit.writer import AuditWriter
from steps.audited import record

async def main():
    audit = AuditWriter(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, resource.RLIM_INFINITY))
    for number in range(100):
        try:
            await audit.write(record(correlation=str(number)))
        except AuditFailed:
            break
        print(number, flush=True)
    else:
        sys.exit("nothing has failed")
    # What coverage writes at the end is whole.
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

asyncio.run(main())
"""


def test_what_the_system_does_not_write_is_not_said_to_be_written(file):
    """Likewise, where the system itself refuses to make the file larger."""
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", _BOUNDED, str(file)]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=FAILSAFE_S)
    assert done.returncode == 0, done.stderr
    assert [each.correlation for each in kept(file)] == done.stdout.split()


async def test_a_file_that_was_put_aside_is_not_written_to_any_more(file, tmp_path, caplog):
    """Ours: a record in a file without a name is none."""
    with closing(AuditWriter(file)) as audit:
        file.rename(tmp_path / "aside.db")
        with pytest.raises(AuditFailed):
            await audit.write(record())
        AuditWriter(tmp_path / "aside.db").close()
        (tmp_path / "aside.db").rename(file)
        file.touch()
        await audit.write(record())
    why = "audit records are not written: No such file or directory"
    assert [line.message for line in caplog.records] == [why, "audit records are written again"]


async def test_a_file_whose_log_was_removed_is_not_written_to_any_more(file):
    """Ours: a record in a log without a name is lost with the process."""
    with closing(AuditWriter(file)) as audit:
        await audit.write(record())
        (file.parent / "audit.db-wal").unlink()
        with pytest.raises(AuditFailed):
            await audit.write(record(), has_run=True)
    with closing(AuditWriter(file)) as audit:
        await audit.write(record(correlation="new"))
    assert kept(file)[-1].correlation == "new"


async def test_a_file_that_was_emptied_is_not_written_to(file, caplog):
    """Ours: as logrotate does with `copytruncate`; SQLite would go on, and nobody could read it."""
    with closing(AuditWriter(file)) as audit:
        await audit.write(record())
        os.truncate(file, 0)
        with pytest.raises(AuditFailed):
            await audit.write(record())
    assert "start again" in caplog.text


async def test_another_file_in_its_place_is_not_written_to(file, tmp_path, caplog):
    """Ours."""
    with closing(AuditWriter(file)) as audit:
        AuditWriter(tmp_path / "other.db").close()
        (tmp_path / "other.db").replace(file)
        with pytest.raises(AuditFailed):
            await audit.write(record())
    assert "start again" in caplog.text


async def test_a_closed_file_takes_no_records(file, caplog):
    """Ours."""
    audit = AuditWriter(file)
    audit.close()
    audit.close()
    with pytest.raises(AuditFailed):
        await audit.write(record())
    assert "the file is closed" in caplog.text


def foreign(path):
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE t (a)")


FOREIGN = {
    "a text": lambda path: path.write_text("no database" * 100),
    "an empty file": lambda path: path.touch(),
    "a database of something else": foreign,
}


@pytest.mark.parametrize("make", FOREIGN.values(), ids=FOREIGN)
async def test_a_file_of_another_kind_is_left_as_it_is(file, make):
    """Ours."""
    make(file)
    before = file.read_bytes()
    with pytest.raises(AuditFailed, match="is no file of audit records"):
        AuditWriter(file)
    with pytest.raises(InvalidInput, match="is no file of audit records"):
        AuditReport(file)
    assert file.read_bytes() == before


async def test_a_place_where_no_file_can_be_is_told(tmp_path):
    """Ours."""
    for path, why in ((tmp_path / "no" / "a.db", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(AuditFailed, match=why):
            AuditWriter(path)
        with pytest.raises(InvalidInput, match=why):
            AuditReport(path)


async def test_sums_are_by_tool_by_principal_and_by_field(file):
    """PRIVACY.md, "Audit": `louver report` reads it by tool, by principal, by field."""
    with closing(AuditWriter(file)) as audit:
        ann, bob = audit.principal_digest(ANN), audit.principal_digest(BOB)
        for said in (
            {"principal": ann, "fields": ("name", "mail")},
            {"principal": bob, "fields": ("name",), "time": NOW + 60},
            {"principal": bob, "fields": ("mail",), "outcome": "refused"},
            {"principal": bob, "tool": "list", "fields": (), "outcome": "error"},
        ):
            await audit.write(record(**said))
    counts = {"withheld": 0, "error": 0}
    with closing(AuditReport(file)) as trail:
        tool, other = trail.totals("tool")
        who, whose = trail.totals("principal")
        name, mail = trail.totals("field")
    of = {"server": "crm", "tool": "get_customer"}
    last = "2026-05-28T20:27:40.000Z"
    assert tool == {**of, "calls": 3, "answered": 2, "refused": 1, **counts, "principals": 2, "last": last}
    assert (other["tool"], other["error"]) == ("list", 1)
    assert who == {"principal": bob, "calls": 3, "answered": 1, "refused": 1, **counts, "error": 1} | {
        "tools": 2,
        "last": last,
    }
    assert (whose["principal"], whose["calls"]) == (ann, 1)
    assert name == {**of, "field": "name", "calls": 2, "principals": 2, "last": last}
    assert (mail["field"], mail["calls"]) == ("mail", 1)
    with closing(AuditReport(file, NOW + 60)) as trail:
        assert [row["field"] for row in trail.totals("field")] == ["name"]
        assert [each.principal for each in trail.records()] == [bob]
