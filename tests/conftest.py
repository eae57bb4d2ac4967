"""Two tiers of tests: the everyday one, and the rest with `--deep`.

uv run pytest            of each table of cases a quarter, evenly spread; laws are tried with 60 examples
uv run pytest --deep     the other cases, and what is marked `deep`; and the laws, those of the core with 500 examples
uv run pytest FILE::TEST all cases of a named test
uv run pytest --lf       what failed last, of both tiers; without what is said of all tests (`COLLECTED`, `EVERYDAY`)
"""

from __future__ import annotations

import atexit
import faulthandler
import gc
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from functools import wraps
from itertools import count, pairwise
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

from fixtures import failsafe, leftovers, stalls

_SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
_OPTIONS = {"deadline": None, "suppress_health_check": _SLOW, "derandomize": "CI" in os.environ}

settings.register_profile("covered", max_examples=15, **_OPTIONS)
settings.register_profile("everyday", max_examples=60, **_OPTIONS)
settings.register_profile("deep", max_examples=200, **_OPTIONS)
settings.register_profile("deep core", max_examples=500, **_OPTIONS)

LEAST_CASES = 4
"""How many cases of a table the everyday run takes at least, where a case costs milliseconds."""

OF_CORE = "tests/core/"
"""Where all cases are taken: each line of the core is covered every day, and a case costs milliseconds."""

OF_PROCESSES = tuple(
    f"tests/{folder}/" for folder in ("cli", "conformance", "desk", "docs", "gateway", "hosts", "lua", "policy", "team")
)
"""Where cases start processes or gateways: there one case is enough, and the tables together try every door."""

# What is imported is compiled once, and not by each of the many programs that tests start.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

DEEP_FAILSAFE_S = 2400
"""A deep test that hangs ends its process, as an everyday one does: some install programs and run whole suites."""

COLLECTED = pytest.StashKey[list[pytest.Item]]()
"""All tests that were found, those of the other tier too."""

STATES = Path(tempfile.mkdtemp(prefix="louver-states-"))
"""The state folders of tests: what a gateway keeps is there for no other test, and never in that of the user."""
atexit.register(shutil.rmtree, STATES, ignore_errors=True)
_numbers = count(1)
_leftovers = leftovers.Leftovers(str(STATES))

# Here: the conftest of a folder may start the fork server, or import Louver.
stalls.install(STATES / "stalls")
if sys.gettrace() is not None:
    stalls.leave_locks()

EVERYDAY = pytest.StashKey[int]()
"""How many tests the everyday run has, of those that were found."""

LEFT_OUT = pytest.StashKey[int]()
"""How many tests the everyday run leaves to `--deep`."""

STDERR = pytest.StashKey[int]()

STARTED = pytest.StashKey[int]()
"""How many processes tests have started, forks included: they cost more than anything else."""


def pytest_addoption(parser):
    parser.addoption("--deep", action="store_true", help="run what an everyday run leaves out, and only that")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    # Tests wait for processes, which run meanwhile: with twice as many workers both wait for a processor.
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else None


def pytest_configure(config):
    # Coverage asks for lines, and traces each: few examples of a law reach what many do.
    everyday = "covered" if config.getoption("cov_source", None) else "everyday"
    settings.load_profile("deep" if config.option.deep else everyday)
    failsafe.lift()
    # What is written to standard error during a test is captured.
    config.stash[STDERR] = os.dup(2)
    _count_processes(config)


def _count_processes(config):
    config.stash[STARTED] = 0
    start = subprocess.Popen.__init__

    @wraps(start)
    def counted(*arguments, **options):
        config.stash[STARTED] += 1
        start(*arguments, **options)

    subprocess.Popen.__init__ = counted


def pytest_collectstart(collector):
    # A law takes its settings when its module is imported.
    if collector.config.option.deep:
        settings.load_profile("deep core" if collector.nodeid.startswith(OF_CORE) else "deep")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    if config.getoption("lf", default=False):
        return
    config.stash[COLLECTED] = list(items)
    named = any("::" in argument for argument in config.args)
    deep = [item for item in items if item.get_closest_marker("deep")]
    if not named:
        deep += _rest_of_tables([item for item in items if not item.get_closest_marker("deep")])
    laws = [item for item in items if item.get_closest_marker("hypothesis")] if config.option.deep else []
    everyday = {*items} - {*deep}
    kept = {*deep, *laws} if config.option.deep else everyday
    config.stash[EVERYDAY] = len(everyday)
    config.stash[LEFT_OUT] = 0 if config.option.deep else len(deep)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def pytest_collection_finish():
    # No collection in a test looks through what all tests share.
    gc.collect()
    gc.freeze()


def _rest_of_tables(items):
    """The cases that the everyday run leaves out; which ones does not depend on the other tests."""
    tables = {}
    for item in items:
        if not item.nodeid.startswith(OF_CORE) and not item.get_closest_marker("whole"):
            tables.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for name, cases in tables.items():
        kept = min(len(cases), max(1 if name.startswith(OF_PROCESSES) else LEAST_CASES, -(-len(cases) // 4)))
        bounds = [number * len(cases) // kept for number in range(kept + 1)]
        # Not always the first of each part: of a product every fourth case has the same revision.
        spread = {first + crc32(f"{name} {first}".encode()) % (end - first) for first, end in pairwise(bounds)}
        yield from (case for number, case in enumerate(cases) if number not in spread)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    os.environ["XDG_STATE_HOME"] = str(STATES / str(next(_numbers)))
    _leftovers.begin(item)
    if item.config.option.deep:
        # Programs are installed, and laws tried with many examples: `faulthandler_timeout` is of everyday tests.
        faulthandler.dump_traceback_later(DEEP_FAILSAFE_S, exit=True, file=item.config.stash[STDERR])


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session):
    stash = session.config.stash
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output["left_out"], output["started"] = stash.get(LEFT_OUT, 0), stash[STARTED]
    elif _starts_too_many(session.config):
        # Not that of a failed test, which is tried once more.
        session.exitstatus = pytest.ExitCode.INTERRUPTED


def _starts_too_many(config):
    is_everyday = config.args_source is config.ArgsSource.TESTPATHS and not config.option.deep
    return is_everyday and config.stash[STARTED] > _most_processes()


def _most_processes():
    return tomllib.loads(Path(__file__).with_name("budgets.toml").read_text("utf-8"))["tests"]["processes"]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    if workeroutput := getattr(node, "workeroutput", None):
        node.config.stash[LEFT_OUT] = workeroutput["left_out"]
        node.config.stash[STARTED] += workeroutput["started"]


def pytest_terminal_summary(terminalreporter, config):
    if left_out := config.stash.get(LEFT_OUT, 0):
        terminalreporter.write_line(f"{left_out:,} deep tests were left out: `uv run pytest --deep` runs them.")
    terminalreporter.write_line(f"{config.stash[STARTED]:,} processes were started.")
    if _starts_too_many(config):
        terminalreporter.write_line(f"red: `budgets.toml` has {_most_processes():,}", red=True)


@pytest.fixture
def by_words(monkeypatch):
    """Searches by words alone, as without the extra `meaning`."""
    monkeypatch.setattr("louver.catalogue.search.ranking.word_vectors", lambda _folder: None)


@pytest.fixture(scope="session")
def anyio_backend():
    return "asyncio", {"loop_factory": stalls.TurnLoop}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call():
    with stalls.judged():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item, nextitem):
    with stalls.judged():
        torn_down = yield
    _leftovers.end(item, nextitem)
    return torn_down
