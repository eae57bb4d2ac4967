"""The path of a projected call is measured as it is. Counted, never timed."""

import re
from dataclasses import astuple

import pytest

from benchmarks import path, traced
from benchmarks.conversation import HANDSHAKE, MODERN
from benchmarks.traced import PACKAGE, Entry, recording
from core.policy.test_visibility import visible
from louver.core.json import compact
from louver.core.paths.path import FieldPath
from louver.core.policy.visibility import Fields, Visibility
from louver.steps.audit.writer import AuditWriter


def deep(row):
    return pytest.param(row, marks=pytest.mark.deep)


@pytest.mark.parametrize("version", [HANDSHAKE, MODERN])
def test_a_call_in_memory_takes_the_same_path_each_time(version):
    """*Ours*: else a change would not show what it does to the path."""
    first, second = (path.measured(path.traced(f"attach/{version}")) for _ in range(2))
    assert first == second
    assert min(astuple(first)) > 0
    assert first.files <= first.functions
    assert first.files - 1 <= first.hops


@pytest.mark.parametrize("row", [f"attach/{MODERN}", deep(f"stdio/{HANDSHAKE}"), deep(f"policed/{MODERN}")])
def test_a_row_is_measured_with_what_it_has(row):
    """*Ours*: a gateway is recorded in its own process, and of these only one has a policy."""
    entries = path.traced(row)
    assert min(astuple(path.measured(entries))) > 0
    assert any("polic" in entry.file for entry in entries) == row.startswith("policed")


def test_the_files_of_a_row_are_listed_in_their_order(capsys):
    """*Ours*."""
    assert path.main(["--files", f"attach/{MODERN}"]) == 0
    listed = [line.split() for line in capsys.readouterr().out.splitlines()]
    entries = path.traced(f"attach/{MODERN}")
    assert [file for _, file in listed] == list(dict.fromkeys(entry.file for entry in entries))
    assert sum(int(count) for count, _ in listed) == len(entries)


def test_a_path_is_measured_by_its_entries():
    """*Ours*: a hop is an entry of another file than the one before."""
    entries = [Entry("a", "f", 1), Entry("a", "g", 2), Entry("b", "identity_of", 3), Entry("a", "f", 1)]
    assert path.measured(entries) == path.Length(files=2, functions=3, hops=2, deepest=3, identified=1)


def test_only_functions_of_louver_are_recorded():
    """*Ours*."""
    with recording() as recorder:
        compact({"a": [str(number) for number in range(3)]})
    entries = recorder.take()
    assert {(entry.file, entry.depth) for entry in entries if entry.function == "compact"} == {("core/json.py", 1)}
    assert all((PACKAGE / entry.file).is_file() for entry in entries)


def test_the_walk_of_a_policy_over_a_value_is_one_entry():
    """*Ours*: else a path would be as long as the answer."""
    seen = visible(Fields(deny=(FieldPath.parse("b"),)))
    with recording() as recorder:
        assert seen.of({"a": [1, 2, 3], "b": 1}) == {"a": [1, 2, 3]}
    assert [entry.function for entry in recorder.take() if "policy" in entry.file] == [traced.WALK]


def test_the_functions_that_are_counted_apart_exist():
    """*Ours*: one that was renamed would not be counted."""
    methods = {method.__qualname__ for method in (AuditWriter._commit, Visibility.of)}
    assert methods == {traced.COMMIT, traced.WALK}
    source = "".join(file.read_text(encoding="utf-8") for file in PACKAGE.rglob("*.py"))
    defined = set(re.findall(r"^(?:async )?def (\w+)", source, re.MULTILINE))
    assert set(path.IDENTIFYING) <= defined
