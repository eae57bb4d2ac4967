"""What has failed once is tried again, alone, and told (`.ci/second_pass.py`)."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

PLANTED = """
from pathlib import Path

import pytest

@pytest.mark.parametrize("number", range(60))
def test_of_a_thinned_table(number):
    place = Path(f"place-{number}")
    is_first_pass = not place.exists()
    if is_first_pass:
        place.write_text(str(len([*Path().glob("place-*")])))
    elif IS_SKIPPED:
        pytest.skip("it no longer applies")
    assert int(place.read_text()) >= (UNSTEADY if is_first_pass else FAILING)

@pytest.mark.deep
def test_of_the_other_tier():
    Path("deep").touch()
"""
"""The everyday run takes 15 of these cases, of which the first ones fail."""


@pytest.fixture
def second_pass(tmp_path):
    """The exit status of the second pass, how many tests it calls unsteady, and what else it says."""

    def run(unsteady, failing=0, *, is_skipped=False):
        shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
        (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\nmarkers = ['deep', 'whole']")
        (tmp_path / "test_planted.py").write_text(
            f"UNSTEADY, FAILING, IS_SKIPPED = {unsteady}, {failing}, {is_skipped}\n{PLANTED}"
        )
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV"))}
        environment["PYTHONPATH"] = str(ROOT / "tests")
        options = {"cwd": tmp_path, "env": environment, "capture_output": True, "text": True, "check": False}
        subprocess.run([sys.executable, "-m", "pytest", "-p", "no:xdist"], **options)
        done = subprocess.run([sys.executable, str(ROOT / ".ci" / "second_pass.py")], **options)
        assert not (tmp_path / "deep").exists()
        return done.returncode, done.stdout.count("\nunsteady: test_planted.py::test_of_a_thinned_table["), done.stderr

    return run


def test_what_passes_then_is_unsteady(second_pass):
    """TESTS.md, "Unsteady tests": also a case of a thinned table."""
    assert second_pass(unsteady=3) == (0, 3, "")


def test_what_fails_in_both_passes_is_red(second_pass):
    """TESTS.md, "Unsteady tests"."""
    status, unsteady, text = second_pass(unsteady=2, failing=1)
    assert (status, unsteady) == (1, 1)
    assert text.startswith("failed again: test_planted.py::test_of_a_thinned_table[")


def test_what_is_skipped_then_is_red(second_pass):
    """Ours: nobody has seen it pass."""
    assert second_pass(unsteady=1, is_skipped=True) == (1, 0, "what failed was skipped then\n")


def test_many_are_not_tried_again(second_pass):
    """TESTS.md, "Unsteady tests"."""
    assert second_pass(unsteady=15) == (1, 0, "15 tests have failed, where 1 to 3 are tried once more\n")


def test_a_run_that_was_red_without_a_failed_test_stays_red(second_pass):
    """Ours: such as one that was interrupted."""
    assert second_pass(unsteady=0) == (1, 0, "0 tests have failed, where 1 to 3 are tried once more\n")
