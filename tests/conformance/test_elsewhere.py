"""What others run elsewhere: the vectors from TypeScript, and the suite as a step of a workflow."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from conformance.suite import LOUVER
from fixtures.failsafe import FAILSAFE_S
from stock.run import node_packages

pytestmark = pytest.mark.deep

ROOT = Path(__file__).parents[2]
TYPESCRIPT = ROOT / "conformance" / "typescript"
PACKAGE = json.dumps({"private": True, "dependencies": {"ajv": "^8.17.0"}})
KEEPS_ALL = """
import type { CallTool } from "./run.mts"
export const callTool: CallTool = (tool, params, run) => run()
"""


@pytest.fixture
def tried(tmp_path):
    """Runs the vectors of some files on an implementation: the exit status, the ids of what failed, and the counts."""
    node, home = node_packages(PACKAGE)
    (tmp_path / "node_modules").symlink_to(home / "node_modules")
    shutil.copy(TYPESCRIPT / "run.mts", tmp_path)

    def run(implementation, *files):
        (tmp_path / "mine.mts").write_text(implementation)
        command = [node, "run.mts", "mine.mts", ROOT / "conformance" / "vectors", *files]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=FAILSAFE_S, check=False)
        *failed, counts = done.stdout.splitlines()
        return done.returncode, failed, json.loads(counts)

    return run


def test_the_runner_is_short():
    """Issue 60: at most 80 lines."""
    assert len((TYPESCRIPT / "run.mts").read_text("utf-8").splitlines()) <= 80


def test_a_small_implementation_keeps_the_vectors_of_paths_and_projections(tried):
    status, failed, counts = tried((TYPESCRIPT / "reference.mts").read_text("utf-8"), "projection", "paths")
    assert (status, failed, counts["failed"]) == (0, [], 0)
    assert counts["passed"] > counts["lacking"]


def test_one_that_keeps_everything_fails(tried):
    status, failed, counts = tried(KEEPS_ALL)
    assert (status, len(failed)) == (1, counts["failed"])


def test_the_action_runs_the_suite(tmp_path):
    action = yaml.safe_load((ROOT / "conformance" / "action.yml").read_text("utf-8"))
    (step,) = action["runs"]["steps"]
    assert step["env"] == {"ARGUMENTS": "${{ inputs.arguments }}"}
    arguments = f"--era 2025-11-25 --group hint --junit report.xml -- {' '.join(LOUVER)} serve --example"
    environment = {**os.environ, "ARGUMENTS": arguments, "GITHUB_ACTION_PATH": str(ROOT / "conformance")}
    # As the runner starts a step whose shell is bash.
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    options = {"cwd": tmp_path, "env": environment, "capture_output": True, "text": True, "timeout": FAILSAFE_S}
    done = subprocess.run(command, **options, check=False)
    assert done.returncode == 0, done.stderr
    assert "<testcase" in (tmp_path / "report.xml").read_text("utf-8")
