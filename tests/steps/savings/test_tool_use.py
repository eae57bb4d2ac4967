"""The use of tools, as savings tell it."""

from __future__ import annotations

import sqlite3

import pytest

from louver.gateway.builtin.deferred import MAX_USED_TOOLS, choose_used
from louver.steps.savings.database import KIND
from louver.steps.savings.tool_use import has_large_answers, read_use, used_lately

OURS = f"PRAGMA application_id = {KIND.application_id}"


def _made(path, *statements):
    database = sqlite3.connect(path)
    for statement in statements:
        database.execute(statement)
    database.commit()
    database.close()


NO_USE = {
    "missing": lambda path: None,
    "no database": lambda path: path.write_text("x" * 5000),
    "a folder": lambda path: path.mkdir(),
    "another version's": lambda path: _made(path, "CREATE TABLE savings (day TEXT)", "PRAGMA application_id = 7"),
    "another table": lambda path: _made(path, "CREATE TABLE x (day TEXT)", OURS),
    "another's days": lambda path: _made(
        path,
        "CREATE TABLE savings (server, tool, calls, whole_characters, day)",
        "INSERT INTO savings VALUES ('a', 'b', 1, 1, 'Friday')",
        OURS,
    ),
}


@pytest.mark.parametrize("make", NO_USE.values(), ids=NO_USE)
def test_a_file_that_tells_no_use_is_none(tmp_path, make, caplog):
    """Ours: then lists are plain, and the reason is logged."""
    make(tmp_path / "savings.db")
    assert read_use(tmp_path / "savings.db") == {}
    assert bool(caplog.records) is (tmp_path / "savings.db").exists()


def _used(path, rows):
    created = "CREATE TABLE savings (server, tool, calls, whole_characters, day)"
    inserted = [f"INSERT INTO savings VALUES {row}" for row in rows]
    _made(path, created, *inserted, OURS)
    return read_use(path)


def test_those_in_use_are_the_most_called_of_the_last_two_weeks(tmp_path):
    """Ours: of the servers that are there; of a server that has renamed its tools, none."""
    days = [("a", "old", 99, "2026-01-01"), ("a", "new", 1, "2026-02-01"), ("b", "new", 2, "2026-02-14")]
    many = [("c", f"t{n}", 100 + n, "2026-02-02") for n in range(MAX_USED_TOOLS + 1)]
    use = _used(tmp_path / "savings.db", [(s, t, n, 10 * n, day) for s, t, n, day in (*days, *many)])

    def split(name):
        return tuple(name.split("__"))

    def chosen(servers, *names):
        return choose_used(use, split, lambda: servers, names)

    assert chosen("ab", "a__old", "a__new", "b__new", "b__other") == {"a__new", "b__new"}
    # What is in use is not there now: nothing else takes its place.
    assert chosen("ab", "a__renamed") == set()
    assert chosen("d", "d__x") == {"d__x"}
    names = [f"c__t{n}" for n in range(MAX_USED_TOOLS + 1)]
    assert chosen("c", *names) == {*names} - {"c__t0"}


def test_answers_are_large_in_fact_or_not_where_a_server_is_in_use(tmp_path):
    """VALUE.md: of a server that nobody has used nothing is known."""
    rows = [("a", "small", 4, 3_999, "2026-02-01"), ("a", "large", 4, 4_000, "2026-02-01")]
    use = _used(tmp_path / "savings.db", rows)

    def is_large(name):
        return has_large_answers(use, lambda name: tuple(name.split("__")), name)

    assert [is_large(name) for name in ("a__small", "a__large", "a__uncalled", "b__x")] == [False, True, False, None]


def test_a_day_to_come_makes_no_other_one_long_ago(tmp_path):
    """Ours: it was counted while the clock was wrong, and would hide all tools but its own for as long."""
    days = [("a", "t", 2, 9, "2026-02-01"), ("a", "old", 1, 9, "2026-01-01"), ("a", "then", 1, 9, "2999-01-01")]
    use = _used(tmp_path / "savings.db", days)
    assert used_lately(use) == [("a", "t"), ("a", "then")]
    assert used_lately({("a", "then"): use["a", "then"]}) == [("a", "then")]
