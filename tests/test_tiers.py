"""The everyday tier sees to everything that the deep one sees to; what it leaves alone stands here.

No test of either leaves a process or a port behind (`fixtures/leftovers.py`).
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import COLLECTED
from fixtures.failsafe import FAILSAFE_S

ONLY_DEEP = {
    "tests/benchmarks/test_benchmarks.py::test_search_is_measured_beside_fastmcp": "needs FastMCP, and takes long",
    "tests/catalogue/search/test_meaning.py::test_the_wheel_holds_the_model_and_little_else": "builds it",
    "tests/client/test_wrong_programs.py": "type checkers, of which one is installed on first use",
    "tests/conformance/test_run.py::test_a_proxy_of_fastmcp_does_not_crash_it": "needs FastMCP",
    "tests/conformance/test_run.py::test_the_gateway_passes_before_a_server_that_projects_itself": "a whole suite more",
    "tests/conformance/test_elsewhere.py": "Node.js and the suite are installed on first use",
    "tests/docs/test_picture.py::test_the_table_is_what_the_doctor_prints_today": "installs servers on first use",
    "tests/docs/test_site.py": "the site generator, installed on first use; the index is tested every day",
    "tests/fuzz/readers/test_readers.py::test_new_inputs_are_read": "needs atheris; kept inputs are read every day",
    "tests/team/login/test_exchange_oidc_provider.py": "a certified authorization server, installed on first use",
    "tests/team/login/test_oidc_provider.py": "a certified authorization server, installed on first use",
    "tests/team/login/test_official_suite.py": "the official suite, installed on first use",
    "tests/desk/ui/test_page.py::test_axe_finds_nothing": "axe-core, installed on first use",
    "tests/desk/ui/test_page.py::test_what_is_copied_runs": "takes long; what is copied is read every day",
    "tests/desk/ui/test_sign_in.py::test_a_person_signs_in_at_the_page": "its server is installed on first use",
    "tests/hosts/test_doctored_hosts.py": "real hosts, installed on first use",
    "tests/hosts/test_doors.py": "real hosts, installed on first use",
    "tests/hosts/test_hosts.py": "real hosts, installed on first use",
    "tests/hosts/test_questions.py": "real hosts, installed on first use",
    "tests/hosts/test_start.py": "a real host, installed on first use",
    "tests/team/test_replica_faults.py::test_a_replica_that_hangs_stops_nobody": "takes long; proxies run every day",
    "tests/test_release.py::test_a_release_is_built_checked_listed_and_stated": "installs tools on first use",
    "tests/test_release.py::test_what_is_built_installs_by_its_name": "installs from an index",
    "tests/test_linear_text.py::test_every_expression_and_scan_is_linear_in_more_texts": "more texts of the same",
    "tests/stock/": "stock clients and official suites, installed on first use",
}
"""Functions without an everyday case: "file::function", or a folder or file before them -> why."""


def _where(item):
    return item.nodeid.partition("[")[0]


def test_what_is_tried_in_the_deep_tier_has_an_everyday_case(request):
    """Ours."""
    collected = request.config.stash[COLLECTED]
    deep = {_where(item) for item in collected if item.get_closest_marker("deep")}
    everyday = {_where(item) for item in collected if not item.get_closest_marker("deep")}
    alone = {name for name in deep - everyday if not name.startswith(tuple(ONLY_DEEP))}
    assert not alone, f"these have no everyday case, and no reason in {__name__}: {sorted(alone)}"


LEAVING = """
import socket, subprocess
from fixtures import failsafe

held = []

def test_that_leaves_it():
    failsafe.FAILSAFE_S = {bound_s}
    held.append({does})

def test_last():
    pass
"""

LEFT = {
    "child": ("subprocess.Popen(['sleep', '95'])", r"process \d+: sleep 95"),
    "orphan": ("subprocess.run(['sh', '-c', 'sleep 95 &'])", r"process \d+: sleep 95"),
    "listener": ("socket.create_server(('127.0.0.1', 0))", r"port \d+"),
    "ending": ("subprocess.Popen(['sleep', '0.2'])", None),
}
"""Module -> what its first test does, and what its last one fails with."""


@pytest.mark.skipif(sys.platform != "linux", reason="what runs is read in /proc")
def test_a_module_that_leaves_something_behind_fails_by_its_last_test(tmp_path):
    """Ours."""
    shutil.copy(Path(__file__).with_name("conftest.py"), tmp_path)
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\nmarkers = ['deep', 'whole']")
    for name, (does, left) in LEFT.items():
        (tmp_path / f"test_{name}.py").write_text(LEAVING.format(does=does, bound_s=0 if left else FAILSAFE_S))
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV"))}
    environment |= {"PYTHONPATH": str(Path(__file__).parent), "COLUMNS": "200"}
    command = [sys.executable, "-m", "pytest", "-p", "no:xdist"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    for pid in set(re.findall(r"process (\d+): sleep", done.stdout)):
        os.kill(int(pid), signal.SIGKILL)
    errors = dict(re.findall(r"^ERROR test_(\w+)\.py::test_last - Failed: \S+ leaves behind: (.*)$", done.stdout, re.M))
    assert errors.keys() == {name for name, (_, left) in LEFT.items() if left}, done.stdout
    assert all(re.fullmatch(LEFT[name][1], error) for name, error in errors.items()), errors
