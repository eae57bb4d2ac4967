"""`conformance/requirements.yaml`: what is demanded, the tests that hold Louver to it, the checks for any server."""

import ast
import json
import re
from collections import Counter
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
PROPOSALS = yaml.safe_load((ROOT / "conformance" / "requirements.yaml").read_text("utf-8"))
REQUIREMENTS = [(seed, entry) for seed, proposal in PROPOSALS.items() for entry in proposal["requirements"]]
CHECKS = {
    check["id"]: check for check in json.loads((ROOT / "conformance" / "checks.json").read_text("utf-8"))["checks"]
}
PREREQUISITES = {"connects", "tools-answer"}
"""Checks of no sentence: without them nothing can be checked."""
LEVELS = ("MUST", "SHOULD", "MAY", "criterion")


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


def test_a_requirement_says_what_it_is(subtests):
    """Ours: and has tests or checks, or the reason why not."""
    for seed, entry in REQUIREMENTS:
        with subtests.test(entry["id"]):
            assert entry.keys() <= {"id", "section", "level", "says", "tests", "checks", "reason"}
            assert entry["id"].startswith(f"{seed}-{entry['section']}")
            assert entry["level"] in LEVELS
            assert entry["says"].endswith(".")
            assert bool(entry.get("tests") or entry.get("checks")) != ("reason" in entry)
            assert entry.get("reason", "-")


def test_the_tests_of_a_requirement_are_there_and_say_whose_sentence_they_prove():
    """Ours."""
    faults = [
        f"{entry['id']}: {test} {'is not there' if test not in TESTS else f'does not cite {seed}'}"
        for seed, entry in REQUIREMENTS
        for test in entry.get("tests", ())
        if not cites(TESTS.get(test, ""), seed)
    ]
    assert not faults, "\n".join(faults)


def test_the_checks_of_a_requirement_are_there_and_cite_it():
    """Ours."""
    faults = [
        f"{entry['id']}: {name} {'is not there' if name not in CHECKS else 'does not cite it'}"
        for _, entry in REQUIREMENTS
        for name in entry.get("checks", ())
        if entry["id"] not in CHECKS.get(name, {"requirements": ()})["requirements"]
    ]
    assert not faults, "\n".join(faults)


def test_a_check_cites_sentences_that_are_there_and_name_it(subtests):
    """Ours: the other direction; and it fails a server only for what is not just recommended."""
    by_id = {entry["id"]: entry for _, entry in REQUIREMENTS}
    for name, check in CHECKS.items():
        with subtests.test(name):
            cited = [by_id[each] for each in check["requirements"]]
            assert bool(cited) != (name in PREREQUISITES)
            assert all(name in entry["checks"] for entry in cited)
            if cited:
                is_recommended = all(entry["level"] == "SHOULD" for entry in cited)
                assert check["level"] == ("SHOULD" if is_recommended else "MUST")


def test_every_test_that_cites_a_proposal_stands_in_one_of_its_requirements():
    """Ours: the other direction. 004 has few numbers, so whatever cites it counts."""
    numbered = " (section|criterion)"
    faults = [
        f"{test} cites {seed}"
        for seed, what in (("000", numbered), ("003", numbered), ("004", r"\b"))
        for test, docstring in TESTS.items()
        if cites(docstring, seed, what)
        and not any(test in entry.get("tests", ()) for entry in PROPOSALS[seed]["requirements"])
    ]
    assert not faults, "\n".join(faults)


def test_the_criteria_of_conformance_are_all_there():
    """Ours: section 9 of 000 has eight."""
    criteria = [entry["id"] for _, entry in REQUIREMENTS if entry["id"].startswith("000-9-")]
    assert criteria == [f"000-9-{number}" for number in range(1, 9)]


SPECIFICATION = (ROOT / "docs" / "reference" / "specification.md").read_text("utf-8")
NAMED = set(re.findall(r"`((?:000|002|004|ext)-[a-z0-9.-]+)`", SPECIFICATION))


def test_every_sentence_that_the_specification_names_is_there():
    """Ours."""
    assert sorted(NAMED - {entry["id"] for _, entry in REQUIREMENTS}) == []


def test_the_specification_names_every_must_of_projection():
    """Ours."""
    musts = {entry["id"] for seed, entry in REQUIREMENTS if seed in ("004", "ext") and entry["level"] == "MUST"}
    assert sorted(musts - NAMED) == []


def test_a_sentence_of_the_specification_has_the_word_of_its_level():
    """Ours: MUST or MUST NOT, SHOULD or SHOULD NOT, before the name of a requirement."""
    words = {"MUST": "MUST", "SHOULD": "SHOULD"}
    by_id = {entry["id"]: entry["level"] for _, entry in REQUIREMENTS}
    for sentence in re.split(r"(?<=`\))\s", SPECIFICATION):
        ids = re.findall(r"`((?:004|ext)-[a-z0-9.-]+)`", sentence)
        for name in ids:
            assert re.search(rf"\b{words[by_id[name]]}\b", sentence), sentence
