"""Turns of an event loop that last: what is logged of one, and what the guard of the tests notes."""

import asyncio
import json
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from fixtures import stalls as guard
from fixtures.forking import PYTHON
from louver.concurrency import stalls
from louver.concurrency.stalls import LONG_TURN_S, TurnWatch, run
from louver.core.projection.plan import Plan
from steps.profiles import MCPSERVER, build
from steps.wire import NEW, attached

TESTS = Path(__file__).parents[1]


def stand():
    time.sleep(0.06)


async def some_turns():
    for work in (stand, int, int):
        work()
        await asyncio.sleep(0)


def test_a_turn_over_the_bound_is_reported_with_its_stack():
    """Ours: a short one is not."""
    found = []
    with asyncio.Runner(loop_factory=TurnWatch(0.05, found.append).new_loop) as runner:
        runner.run(some_turns())
    assert [turn.seconds >= 0.06 for turn in found] == [True]
    assert {"stand", "some_turns"} <= {place.name for place in found[0].stack}
    assert f"{__file__}:{stand.__code__.co_firstlineno + 1} stand < " in str(found[0])


@pytest.mark.parametrize(("start_s", "logged"), [(0, ["WARNING"]), (60, [])])
def test_one_turn_a_minute_is_logged(caplog, monkeypatch, start_s, logged):
    """Ours: by its places, without a value; what is loaded at the start keeps nobody waiting."""
    monkeypatch.setattr(stalls, "START_S", start_s)

    async def two_long_turns():
        for _ in range(2):
            time.sleep(LONG_TURN_S)  # noqa: ASYNC251 - it stands for long work
            await asyncio.sleep(0)
        return "result"

    assert run(two_long_turns()) == "result"
    assert [record.levelname for record in caplog.records] == logged
    assert ("two_long_turns" in caplog.text) == bool(logged)


def sleep(*_):
    time.sleep(0.001)


def compute(*_):
    """A second, or twice what is allowed while lines are traced."""
    began = time.thread_time()
    while time.thread_time() - began < 2 * guard.bound_s():
        sum(range(1000))


PLANTED = {
    "sleep": "time.sleep in an event loop: tests/concurrency/test_stalls.py:",
    "compute": "a turn of the event loop took ",
}


async def planted(name):
    """A call, in a step of which something keeps the event loop."""
    step, Plan.__call__ = Plan.__call__, {"sleep": sleep, "compute": compute}[name]
    try:
        async with attached(build(MCPSERVER).server, NEW) as wire:
            await wire.call("get_profile", projection={"mode": "include", "fields": ["name"]})
    finally:
        Plan.__call__ = step


def assert_found(name, notes):
    assert notes
    for note in notes:
        assert note.startswith(PLANTED[name])
        assert f" {name} < steps/calls/apply.py:" in note


@pytest.mark.parametrize("name", PLANTED)
@pytest.mark.anyio
async def test_the_guard_names_the_step_that_keeps_the_event_loop(name):
    """TESTS.md, "No verdict by a clock": whether it waits or computes."""
    await planted(name)
    assert_found(name, guard.NOTES.take())


@pytest.mark.whole
@pytest.mark.parametrize("name", PLANTED)
def test_the_guard_names_the_step_in_a_fork(name):
    """TESTS.md, "No verdict by a clock"."""
    code = f"import asyncio; from concurrency.test_stalls import planted; asyncio.run(planted({name!r}))"
    subprocess.run([PYTHON, "-c", code], cwd=TESTS, check=True)
    assert_found(name, guard.NOTES.take())


@pytest.mark.anyio
async def test_what_a_test_does_itself_is_not_noted():
    """Ours: nobody but the test waits for it."""
    time.sleep(0.001)  # noqa: ASYNC251 - it stands for what a test does
    json.loads((Path(guard.SRC).parents[1] / "server.json").read_text())
    assert guard.NOTES.take() == []


def test_what_may_block_is_there():
    """Ours: a reason that outlives its code would hide the next stall there."""
    gone = [
        (file, function)
        for file, function in guard.ALLOWED
        for root in [Path(find_spec(file.partition("/")[0].removesuffix(".py")).origin).parents[file.count("/") > 0]]
        if f"def {function}(" not in (root / file).read_text()
    ]
    assert gone == []
