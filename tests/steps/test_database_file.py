"""A file that several processes use at once."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing

import anyio
import pytest

from louver.errors import AuditFailed, InvalidInput, LouverError
from louver.steps.audit.report import AuditReport
from louver.steps.audit.writer import AuditWriter
from louver.steps.database_file import DatabaseKind
from louver.steps.savings.counter import SavingsCounter
from louver.steps.savings.database import SavingsKey, add
from louver.steps.savings.report import SavingsReport
from louver.steps.savings.size import ShownSize
from louver.steps.savings.tool_use import read_use
from steps.audited import record

KIND = DatabaseKind(1, "file of tests")
OTHER = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1])
print(database.execute("SELECT count(*) FROM it").fetchone()[0])
database.close()
"""


def test_a_reader_in_the_same_process_leaves_the_lock_of_a_writer(tmp_path):
    """SQLite, "How To Corrupt", 2.2: to close any descriptor of a file drops the locks of the process."""
    file = tmp_path / "it.db"
    KIND.create(file, "CREATE TABLE it (number)")

    def counted_by_another_process():
        done = subprocess.run([sys.executable, "-c", OTHER, file], capture_output=True, text=True, check=True)
        return int(done.stdout)

    with closing(KIND.open(file, "rw")) as writer:
        writer.execute("INSERT INTO it VALUES (1)")
        with closing(KIND.open(file, "ro")) as reader:
            assert reader.execute("SELECT count(*) FROM it").fetchone() == (1,)
        # Without the lock it would take itself for the last one, and remove what the writer goes on writing to.
        assert counted_by_another_process() == 1
        writer.execute("INSERT INTO it VALUES (2)")
        assert counted_by_another_process() == 2


@pytest.mark.parametrize("mode", ["ro", "rw"])
def test_a_pipe_is_not_waited_for(tmp_path, mode):
    """TRUST.md, row 12: SQLite would wait for its other end, and the gateway with it."""
    os.mkfifo(tmp_path / "it.db")
    with pytest.raises(OSError, match="it is no regular file"):
        KIND.open(tmp_path / "it.db", mode)


def damaged(file):
    """Damage a file so that what SQLite says of it is no text."""
    with closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA writable_schema = ON")
        database.execute("UPDATE sqlite_master SET name = CAST(x'ff' AS TEXT), sql = 'CREATE TABLE ('")
        (version,) = database.execute("PRAGMA schema_version").fetchone()
        database.execute(f"PRAGMA schema_version = {version + 1}")
        database.commit()


def counted(file):
    add(file, {SavingsKey("2026-01-01", "s", "t", ""): [1] * 6}, "2026-01-01")


READERS = {
    "audit": (lambda file: AuditWriter(file).close(), AuditWriter),
    "audit records": (lambda file: AuditWriter(file).close(), lambda file: AuditReport(file).totals("tool")),
    "savings": (counted, lambda file: SavingsReport(file).total()),
}


@pytest.mark.parametrize(("make", "read"), READERS.values(), ids=READERS)
def test_a_damaged_file_is_refused_in_one_line(tmp_path, make, read):
    """Ours: also where SQLite quotes what is no text."""
    file = tmp_path / "it.db"
    make(file)
    damaged(file)
    with pytest.raises(LouverError, match="it is damaged"):
        read(file)


@pytest.mark.anyio
async def test_what_is_damaged_meanwhile_is_told_as_a_full_disk_is(tmp_path, caplog):
    """Ours: no call runs without a record, and savings wait."""
    AuditWriter(tmp_path / "audit.db").close()
    counted(tmp_path / "savings.db")
    with closing(AuditWriter(tmp_path / "audit.db")) as audit:
        damaged(tmp_path / "audit.db")
        with pytest.raises(AuditFailed):
            await audit.write(record(), has_run=True)
        with pytest.raises(AuditFailed, match="so it has not run: it is damaged"):
            await audit.check_room()
    damaged(tmp_path / "savings.db")
    counter = SavingsCounter(tmp_path / "savings.db")
    counter.add_list(ShownSize(1, 1), ShownSize(1, 1))
    await counter.close()
    assert "savings: " in caplog.text
    assert counter._totals
    assert read_use(tmp_path / "savings.db") == {}


@pytest.mark.parametrize("change", ["paths = '[1'", "time = 1e300", "time = 'x'"])
def test_records_that_are_none_are_refused_in_one_line(tmp_path, change):
    """Ours: bytes of a file that has been damaged."""
    file = tmp_path / "audit.db"
    with closing(AuditWriter(file)) as audit:
        anyio.run(audit.write, record())
    with closing(sqlite3.connect(file)) as database:
        database.execute(f"UPDATE {'field_sets' if 'paths' in change else 'records'} SET {change}")
        database.commit()
    with closing(AuditReport(file)) as trail, pytest.raises(InvalidInput, match="others than Louver writes"):
        list(trail.records())
