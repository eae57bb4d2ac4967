"""Counters of savings: what is counted is written, and a failure is no matter of a call."""

import asyncio
import logging
import os
import signal
import sqlite3
import stat
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from fixtures.failsafe import until
from fixtures.forking import PYTHON
from louver.errors import InvalidInput
from louver.limits import MAX_READ_ON_LOOP, MAX_SAVINGS_KEYS
from louver.steps.audit.writer import AuditWriter
from louver.steps.call_record import ServerAnswer
from louver.steps.savings import counter as savings_counter
from louver.steps.savings.counter import MAX_SAVINGS_NAME, MAX_UNMEASURED, SavingsCounter, Whole
from louver.steps.savings.database import KIND, SAVINGS_DAYS
from louver.steps.savings.report import SavingsReport
from louver.steps.savings.size import ShownSize, shown_size
from steps.audited import DAY_S, NOW
from steps.kept import Clock
from steps.savings.counting import TEXT, count

pytestmark = pytest.mark.anyio

COUNTING = [PYTHON, str(Path(__file__).parent / "counting.py")]
SMALL = {"content": [{"type": "text", "text": "xy"}]}


@pytest.fixture
def file(tmp_path):
    return tmp_path / "state" / "louver" / "savings.db"


async def counted(file, *counts, clock=lambda: NOW):
    """Count, and write; the arguments of each count."""
    counter = SavingsCounter(file, clock)
    for arguments in counts:
        count(counter, **arguments)
    await counter.close()
    return counter


def process(file, number):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.Popen([*COUNTING, str(file), str(number)], text=True, env=environ, **pipes)


async def test_counters_add_up(file):
    """The issue, B: calls, bytes and tokens whole and sent, calls that saved nothing; over several batches."""
    await counted(file, {"number": 2, "sent": SMALL}, {"tool": "get"})
    await counted(file, {"number": 3, "sent": SMALL})
    expected = {"calls": 6, "savedNothing": 1, "wholeBytes": 60, "sentBytes": 20, "savedBytes": 40}
    assert SavingsReport(file).total() == {**expected, "wholeTokens": 17, "sentTokens": 6, "savedTokens": 11}
    assert [(row["server"], row["tool"], row["calls"]) for row in SavingsReport(file).totals("tool")] == [
        ("crm", "find", 5),
        ("crm", "get", 1),
    ]


async def test_days_are_those_of_utc_and_old_ones_are_removed(file):
    """The issue, B: by day; ours: rows older than a bound go."""
    clock = Clock()
    clock.now = NOW
    await counted(file, {}, clock=clock)
    clock.now += DAY_S
    await counted(file, {"number": 2}, clock=clock)
    days = SavingsReport(file).totals("day")
    assert [(row["day"], row["calls"]) for row in days] == [("2026-05-28", 1), ("2026-05-29", 2)]
    assert SavingsReport(file, since=NOW + 1).total()["calls"] == 3
    assert SavingsReport(file, since=NOW + DAY_S).total()["calls"] == 2
    clock.now += (SAVINGS_DAYS - 1) * DAY_S
    for number in (3, 4, 5):
        await counted(file, {"number": number}, clock=clock)
        clock.now += DAY_S
    assert [row["calls"] for row in SavingsReport(file).totals("day")] == [3, 4, 5]


@pytest.mark.parametrize("days", [SAVINGS_DAYS, 10 * SAVINGS_DAYS])
async def test_a_clock_that_jumps_ahead_removes_nothing_on_that_day(file, days):
    """TRUST.md: likewise with audit records; nor the next day, which may begin at once. Then it is taken for right."""
    clock = Clock()
    clock.now = NOW
    await counted(file, {}, clock=clock)
    clock.now += 31 * DAY_S
    await counted(file, {}, clock=clock)
    clock.now += days * DAY_S
    for _ in range(2):
        await counted(file, {}, clock=clock)
    clock.now += DAY_S
    await counted(file, {}, clock=clock)
    assert len(SavingsReport(file).totals("day")) == 4
    clock.now += DAY_S
    await counted(file, {}, clock=clock)
    assert [row["calls"] for row in SavingsReport(file).totals("day")] == [2, 1, 1]


async def test_several_processes_count_in_one_file(file):
    """The issue, B. They begin at the same time, so they all want to make the file too."""
    processes = [process(file, 50) for _ in range(3)]
    for each in processes:
        each.communicate("")
        assert each.returncode == 0
    assert SavingsReport(file).total()["calls"] == 3 * 51


async def test_a_process_that_is_killed_loses_its_last_batch_at_most(file):
    """The issue, B: crash."""
    with process(file, 50) as counting:
        assert counting.stdout.readline() == "written\n"
        counting.send_signal(signal.SIGKILL)
    assert SavingsReport(file).total()["calls"] in (50, 51)


async def test_the_file_is_of_its_owner_alone_and_in_wal_mode(file):
    """Ours."""
    await counted(file, {})
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    with closing(sqlite3.connect(file)) as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)


async def test_a_file_that_is_removed_meanwhile_is_made_again(file):
    """Ours: removing it is how counting begins at zero."""
    counter = SavingsCounter(file)
    count(counter)
    await asyncio.sleep(0)
    await counter._write()
    file.unlink()
    count(counter, 2)
    await counter.close()
    assert SavingsReport(file).total()["calls"] == 2


def _text(file):
    file.write_text("notes")


def _empty_database(file):
    with closing(sqlite3.connect(file)) as database:
        database.execute("CREATE TABLE savings (day)")


def _audit(file):
    AuditWriter(file).close()


def _folder(file):
    file.mkdir()


def _without_table(file):
    KIND.create(file, "CREATE TABLE others (day)")


BAD_FILES = {
    _text: "it is no file of savings",
    _empty_database: "it is no file of savings",
    _audit: "it is no file of savings",
    _folder: "Is a directory",
    _without_table: "SQLITE_ERROR",
}


@pytest.mark.parametrize("make", BAD_FILES, ids=lambda make: make.__name__)
async def test_a_bad_file_is_logged_once_and_stays_as_it_was(tmp_path, caplog, make):
    """The issue, B: a call does not fail; and the report refuses it."""
    file = tmp_path / "savings.db"
    make(file)
    before = None if file.is_dir() else file.read_bytes()
    await counted(file, {"number": 3})
    assert [line.levelno for line in caplog.records] == [logging.WARNING]
    assert f"{str(file)!r} cannot be written: {BAD_FILES[make]}" in caplog.text
    assert before is None or file.read_bytes() == before
    with pytest.raises(InvalidInput, match="savings cannot be read"):
        SavingsReport(file).total()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
async def test_a_folder_that_cannot_be_written_is_logged(tmp_path, caplog):
    """The issue, B: read-only."""
    tmp_path.chmod(0o500)
    await counted(tmp_path / "savings.db", {})
    assert "Permission denied" in caplog.text


async def test_what_could_not_be_written_is_written_later_and_once(file, caplog, monkeypatch):
    """TRUST.md: one failed write does not end the counting, and nothing counts twice."""
    monkeypatch.setattr(savings_counter, "SAVINGS_AGAIN_S", 0.01)
    file.mkdir(parents=True)
    counter = SavingsCounter(file, lambda: NOW)
    count(counter, 2)
    for _ in range(2):
        await asyncio.sleep(0)
        await counter._write()
        count(counter)
    file.rmdir()
    await until(lambda: SavingsReport(file).total()["calls"] >= 4)
    count(counter)
    await counter.close()
    assert SavingsReport(file).total()["calls"] == 5
    lines = [f"savings: {str(file)!r} cannot be written: Is a directory", "savings are written again"]
    assert [line.message for line in caplog.records] == lines


async def test_what_waits_to_be_written_is_bounded(file):
    """Ours: it can wait for many days, each with rows of its own."""
    clock = Clock()
    clock.now = NOW
    counter = SavingsCounter(file, clock)
    counter._names = {("crm", str(number), "") for number in range(MAX_SAVINGS_KEYS - 1)}
    count(counter)
    await asyncio.sleep(0)
    counter._totals |= {(str(number),): [0] * 6 for number in range(MAX_SAVINGS_KEYS)}
    clock.now += DAY_S
    count(counter, 3)
    await asyncio.sleep(0)
    assert [(key.tool, value[0]) for key, value in counter._totals.items() if key[0] == "2026-05-29"] == [("*", 3)]


async def test_a_full_disk_is_logged(file, caplog, monkeypatch):
    """The issue, B."""
    await counted(file, {})
    with monkeypatch.context() as patched:
        connect = sqlite3.connect

        def bounded(*arguments, **options):
            database = connect(*arguments, **options)
            database.execute("PRAGMA max_page_count = 1")
            return database

        patched.setattr(sqlite3, "connect", bounded)
        counter = SavingsCounter(file, lambda: NOW)
        for number in range(1000):
            count(counter, tool=f"tool{number}")
        await counter.close()
    assert "cannot be written: SQLITE_FULL" in caplog.text
    assert SavingsReport(file).total()["calls"] == 1


async def test_names_are_bounded(file):
    """Ours: a client or a server can name as many tools as it likes."""
    await counted(file, {"tool": "x" * 1000}, {"tool": "\ud83d"})
    assert {row["tool"] for row in SavingsReport(file).totals("tool")} == {"x" * MAX_SAVINGS_NAME, "\\ud83d"}


async def test_more_names_than_fit_are_counted_together(file):
    """Likewise."""
    counter = SavingsCounter(file, lambda: NOW)
    counter._names = {("crm", str(number), "") for number in range(MAX_SAVINGS_KEYS)}
    count(counter, 3)
    await counter.close()
    assert [(row["server"], row["tool"], row["calls"]) for row in SavingsReport(file).totals("tool")] == [("*", "*", 3)]


LARGE = {"content": [{"type": "text", "text": "x" * (MAX_READ_ON_LOOP + 1)}]}


async def test_large_answers_are_measured_in_threads_and_not_too_many_at_once(file):
    """Ours: no call waits, and memory is bounded."""
    counter = SavingsCounter(file, lambda: NOW)
    for _ in range(MAX_UNMEASURED + 5):
        counter.add([Whole("crm", "find", ServerAnswer("find", LARGE))], TEXT, "text")
    assert counter._totals == {}
    await counter.close()
    row = SavingsReport(file).total()
    assert (row["calls"], row["wholeBytes"]) == (MAX_UNMEASURED, MAX_UNMEASURED * (MAX_READ_ON_LOOP + 1))


@pytest.mark.parametrize("size", [1, MAX_READ_ON_LOOP, MAX_READ_ON_LOOP + 1])
@pytest.mark.parametrize("shown", ["structured", "text"])
async def test_the_size_is_the_same_wherever_it_is_measured(file, size, shown):
    """Ours: at once, once the answer is on its way, or in a thread."""
    value = {"a": "x" * size}
    result = {"structuredContent": value, "content": [{"type": "text", "text": "x" * size}]}
    counter = SavingsCounter(file, lambda: NOW)
    counter.add([Whole("crm", "find", ServerAnswer("find", result))], result, shown)
    counter.add([Whole("crm", "get", ServerAnswer("get", result))], {"structuredContent": {}, "content": []}, shown)
    await counter.close()
    find, get = sorted(SavingsReport(file).totals("tool"), key=lambda row: row["tool"])
    bytes_of = {"structured": len('{"a":""}') + size, "text": size}[shown]
    assert (find["wholeBytes"], find["sentBytes"], get["wholeBytes"]) == (bytes_of, bytes_of, bytes_of)
    assert get["sentBytes"] == {"structured": 2, "text": 0}[shown]


@pytest.mark.parametrize("result", [TEXT, LARGE])
async def test_an_answer_to_an_inner_call_is_measured_and_not_held(file, result):
    """Ours: a script can make hundreds of calls, of whose answers it returns little."""
    counter = SavingsCounter(file, lambda: NOW)
    answer = ServerAnswer("find", result, "script")
    counter.measure(answer, "text")
    await counter._tasks.wait()
    assert (answer.result, answer.size.bytes) == (None, len(result["content"][0]["text"]))
    counter.add([Whole("crm", "find", answer)], SMALL, "text")
    await counter.close()
    assert SavingsReport(file).total()["wholeBytes"] == answer.size.bytes


async def test_an_answer_that_is_no_json_is_left_out(file):
    """Ours: it is not sent either, and what comes after it is counted."""
    deep = []
    for _ in range(5000):
        deep = [deep]
    counter = SavingsCounter(file, lambda: NOW)
    for value in (object(), deep):
        counter.add([Whole("crm", "find", ServerAnswer("find", TEXT))], {"structuredContent": value}, "structured")
    count(counter)
    await counter.close()
    assert SavingsReport(file).total()["calls"] == 1


STRUCTURED = {"structuredContent": {"a": "é"}, "content": [{"type": "text", "text": '{"a": "é"}'}]}


@pytest.mark.parametrize(
    ("result", "shown", "expected"),
    [
        (STRUCTURED, "structured", (10, 9)),
        (STRUCTURED, "text", (11, 10)),
        (STRUCTURED, "both", (21, 19)),
        ({"structuredContent": {}}, "whole", (24, 24)),
        (TEXT, "structured", (10, 10)),
        ({"structuredContent": {}}, "text", (0, 0)),
        ({"content": [{"type": "image", "data": "x" * 99}, {"type": "text", "text": "ab"}]}, "text", (2, 2)),
        ({"content": [{"type": "resource", "resource": {"uri": "a:b", "text": "abc"}}]}, "text", (3, 3)),
        ({"contents": [{"uri": "a:b", "text": "abcd"}]}, "structured", (4, 4)),
        ({"content": "no list", "structuredContent": {"a": "\ud83d"}}, "structured", (14, 14)),
    ],
)
def test_sizes_are_those_of_what_a_host_shows(result, shown, expected):
    """TEAM.md: both forms counted as the host reads them; images do not count."""
    assert shown_size(result, shown) == ShownSize(*expected)
