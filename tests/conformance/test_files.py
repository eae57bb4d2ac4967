"""What the suite reads: fixtures, baselines, and its own checks."""

import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import louver
import louver_conformance
from conformance.suite import BROKEN
from louver.errors import InvalidInput
from louver_conformance import baseline
from louver_conformance.checks import FUNCTIONS, GROUPS, all_checks
from louver_conformance.fixture import Fixture, Witness
from louver_conformance.run import run

CHECKS = all_checks()


def written(tmp_path, text):
    path = tmp_path / "file"
    path.write_text(text)
    return path


def test_a_fixture_has_one_set_of_arguments_or_many(tmp_path):
    """Ours."""
    fixture = Fixture.read(
        written(
            tmp_path, '{"a": {"x": 1}, "b": [{"x": 1}, {"x": 2}], "$witness": {"tool": "c", "arguments": {"y": 3}}}'
        )
    )
    assert fixture.arguments == {"a": [{"x": 1}], "b": [{"x": 1}, {"x": 2}]}
    assert fixture.witness == Witness("c", {"y": 3})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "a fixture is one JSON object: tool -> arguments, or a list of them"),
        ("{", r"file:1: not JSON"),
        ('{"a": 7}', "'a': a fixture is one JSON object"),
        ('{"a": []}', "'a': a fixture is one JSON object"),
        ('{"a": [7]}', "'a': a fixture is one JSON object"),
        ('{"$witness": {"name": "a"}}', r"'\$witness' is an object with the name of a 'tool'"),
    ],
)
def test_what_is_no_fixture_is_refused(tmp_path, text, said):
    """Ours: with the file, and what would have been right."""
    with pytest.raises(InvalidInput, match=said):
        Fixture.read(written(tmp_path, text))


def test_a_file_that_is_not_there_is_refused(tmp_path):
    """Ours."""
    for read in (Fixture.read, baseline.read):
        with pytest.raises(InvalidInput, match="cannot be read: FileNotFoundError"):
            read(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("schema", "sets"),
    [
        ({}, [{}]),
        ({"properties": {"a": {"type": "string"}}}, [{}]),
        ({"properties": {"a": {"type": "string"}}, "required": ["a"]}, []),
        ({"properties": {"a": {"default": 7, "enum": [8]}}, "required": ["a"]}, [{"a": 7}]),
        ({"properties": {"a": {"enum": [8, 9, 10]}}, "required": ["a"]}, [{"a": 8}, {"a": 9}]),
        (
            {"properties": {"a": {"examples": [1, 2]}, "b": {"const": 3}}, "required": ["a", "b"]},
            [{"a": 1, "b": 3}, {"a": 2, "b": 3}],
        ),
        ({"properties": 7, "required": [7, "a"]}, []),
        ({"properties": {"a": {"examples": 7}}, "required": ["a"]}, []),
    ],
)
def test_arguments_are_made_of_what_a_schema_gives(schema, sets):
    """Ours: of tools that only read; others are called only if they are named."""
    assert Fixture().arguments_of("t", schema, is_read_only=True) == sets
    assert Fixture().arguments_of("t", schema, is_read_only=False) == []
    assert Fixture({"t": [{"z": 1}]}).arguments_of("t", schema, is_read_only=False) == [{"z": 1}]


def test_a_baseline_is_lines(tmp_path):
    """Ours: comments and white space aside."""
    text = "# known\n\n 2025-11-25   connects # why\n2026-07-28 schema-given\n"
    assert baseline.read(written(tmp_path, text)) == ["2025-11-25 connects", "2026-07-28 schema-given"]


@pytest.mark.parametrize(
    "line", ["connects", "2025-11-25", "2024-11-05 connects", "2025-11-25 nothing", "2025-11-25 connects x"]
)
def test_a_line_that_names_no_check_is_refused(tmp_path, line):
    """Ours: else a misspelt one would stay for ever."""
    with pytest.raises(InvalidInput, match=r"file:2: expected a revision and a check"):
        baseline.read(written(tmp_path, f"#\n{line}\n"))


def test_every_check_is_carried_out_and_comes_after_those_that_it_needs(subtests):
    """Ours."""
    ids = [check.id for check in CHECKS]
    assert len(set(ids)) == len(ids)
    for number, check in enumerate(CHECKS):
        with subtests.test(check.id):
            assert re.fullmatch(r"[a-z]+(-[a-z]+)*", check.id)
            assert check.group in GROUPS
            assert check.says.endswith(".")
            assert set(check.after) <= set(ids[:number])


@pytest.mark.anyio
async def test_every_function_is_of_a_check_and_every_check_has_one():
    """Ours: both ways. They are there once something was checked."""
    from conformance.suite import inline

    await run(inline(""))
    assert FUNCTIONS.keys() == {check.id for check in CHECKS}


def test_every_broken_server_says_what_it_breaks(subtests, monkeypatch):
    """Ours: in one sentence; and is expected to fail a check that there is."""
    monkeypatch.syspath_prepend(BROKEN)
    for name, lie in import_module("lies").LIES.items():
        with subtests.test(name):
            assert re.fullmatch(r"[A-Z][^\n]+\.", lie.server.__doc__)
            assert lie.fails in {check.id for check in CHECKS}


def test_both_distributions_have_one_version():
    """Ours: in their packages and in their project files."""
    projects = [Path(__file__).parents[2] / "pyproject.toml", BROKEN.parent / "pyproject.toml"]
    written = {tomllib.loads(project.read_text("utf-8"))["project"]["version"] for project in projects}
    assert written == {louver.__version__} == {louver_conformance.__version__}
