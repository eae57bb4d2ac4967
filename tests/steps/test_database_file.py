"""A file that several processes use at once."""

import os
import subprocess
import sys
from contextlib import closing

import pytest

from louver.steps.database_file import DatabaseKind

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
