"""`conformance/requirements.yaml`: what the proposals demand, and the tests that hold Louver to it."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PROPOSALS = yaml.safe_load((ROOT / "conformance" / "requirements.yaml").read_text("utf-8"))
REQUIREMENTS = [(seed, entry) for seed, proposal in PROPOSALS.items() for entry in proposal["requirements"]]
LEVELS = ("MUST", "SHOULD", "MAY", "criterion")

each_requirement = pytest.mark.parametrize(
    ("seed", "entry"), [pytest.param(seed, entry, id=entry["id"]) for seed, entry in REQUIREMENTS]
)


def cites(docstring, seed, what=r"\b"):
    """Whether a test says that it proves a sentence of a proposal, by one of the proposal's names."""
    names = "|".join(map(re.escape, PROPOSALS[seed]["cited_as"]))
    return re.search(rf"(?<!\w)({names}){what}", docstring) is not None


def functions_of(path):
    """The tests of a file, with their docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return {node.name: ast.get_docstring(node) or "" for node in functions if node.name.startswith("test_")}


TESTS = {
    f"{path.relative_to(ROOT).as_posix()}::{name}": docstring
    for path in sorted((ROOT / "tests").rglob("test_*.py"))
    for name, docstring in functions_of(path).items()
}


def test_every_requirement_has_an_id_of_its_own():
    """Ours."""
    ids = Counter(entry["id"] for _, entry in REQUIREMENTS)
    assert [name for name, count in ids.items() if count > 1] == []


@each_requirement
def test_a_requirement_says_what_it_is(seed, entry):
    """Ours: and has tests, or the reason why not."""
    assert entry.keys() <= {"id", "section", "level", "says", "tests", "reason"}
    assert entry["id"].startswith(f"{seed}-{entry['section']}")
    assert entry["level"] in LEVELS
    assert entry["says"].endswith(".")
    assert ("tests" in entry) != ("reason" in entry)
    assert entry.get("tests") or entry.get("reason")


@each_requirement
def test_the_tests_of_a_requirement_are_there_and_say_whose_sentence_they_prove(seed, entry):
    """Ours."""
    for test in entry.get("tests", ()):
        assert test in TESTS, test
        assert cites(TESTS[test], seed), f"{test} does not cite {seed}"


@pytest.mark.parametrize("seed", ["000", "003"])
def test_every_test_that_cites_a_proposal_stands_in_one_of_its_requirements(seed):
    """Ours: the other direction."""
    named = {test for entry in PROPOSALS[seed]["requirements"] for test in entry.get("tests", ())}
    citing = {test for test, docstring in TESTS.items() if cites(docstring, seed, " (section|criterion)")}
    assert sorted(citing - named) == []


def test_the_criteria_of_conformance_are_all_there():
    """Ours: section 9 of 000 has eight."""
    criteria = [entry["id"] for _, entry in REQUIREMENTS if entry["id"].startswith("000-9-")]
    assert criteria == [f"000-9-{number}" for number in range(1, 9)]
