"""What `src` imports, and what an installation brings, are the same distributions."""

import ast
import sys
import tomllib
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DEPENDENCIES = [Requirement(text) for text in PROJECT["dependencies"]]
EXTRAS = {name: [Requirement(text) for text in texts] for name, texts in PROJECT["optional-dependencies"].items()}

UNDECLARED = {
    "_typeshed": "there only for type checkers",
    "pydantic_core": "annotations alone; pydantic pins its version",
}
"""Imported names that no dependency stands for -> why."""


def names(requirements):
    return {canonicalize_name(requirement.name) for requirement in requirements}


def imported():
    """Name of each package that is imported anywhere in `src`, lazily too, except by the standard library's."""
    found = set()
    for file in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add(node.module.partition(".")[0])
    return found - sys.stdlib_module_names - {"louver"}


def test_what_is_imported_is_a_dependency_and_the_other_way_round():
    """Ours: what a dependency happens to bring may be gone with its next release."""
    distributions = packages_distributions()
    declared = names([*DEPENDENCIES, *(each for extra in EXTRAS.values() for each in extra)])
    packages = imported()
    assert packages >= UNDECLARED.keys()
    found = {
        package: {canonicalize_name(name) for name in distributions.get(package, [package])} & declared
        for package in packages - UNDECLARED.keys()
    }
    assert sorted(package for package, of in found.items() if not of) == []
    assert sorted(declared - set().union(*found.values())) == []


def test_extras_are_for_scripts_operation_word_vectors_and_toon():
    """Ours: everything else that makes answers faster or safer is always there."""
    assert EXTRAS.keys() == {"keyring", "lua", "meaning", "metrics", "otel", "redis", "toon"}


def test_every_dependency_has_a_lowest_and_a_highest_version():
    """Ours."""
    requirements = [*DEPENDENCIES, *chain(*EXTRAS.values())]
    faults = [str(each) for each in requirements if {bound.operator for bound in each.specifier} != {">=", "<"}]
    assert not faults, ", ".join(faults)
