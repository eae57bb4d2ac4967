"""Turns of an event loop that last: who stood where, and what is logged of it."""

import asyncio
import time

import pytest

from fixtures import stalls as guard
from louver.concurrency import stalls
from louver.concurrency.stalls import LONG_TURN_S, TurnWatch, run
from louver.core.projection.plan import Plan
from steps.profiles import MCPSERVER, build
from steps.wire import NEW, attached


def stand():
    time.sleep(0.06)


async def some_turns():
    for work in (stand, int, int):
        work()
        await asyncio.sleep(0)


def test_a_turn_over_the_bound_is_reported_with_its_stack():
    """Ours: a short one is not."""
    found = []
    with asyncio.Runner(loop_factory=TurnWatch(0.05, found.append, guard.clock).new_loop) as runner:
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


@pytest.mark.anyio
async def test_the_guard_sees_a_step_that_sleeps(monkeypatch):
    """Ours: `time.sleep(0.15)` in a step takes no processor time, and is a stall all the same."""
    monkeypatch.setattr(Plan, "__call__", lambda *_: time.sleep(0.15))
    async with attached(build(MCPSERVER).server, NEW) as wire:
        await wire.call("get_profile", projection={"mode": "include", "fields": ["name"]})
    long, guard.LONG[:] = [*guard.LONG], []
    assert [turn.seconds > 0.14 for turn in long] == [True]
