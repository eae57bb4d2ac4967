"""Work that somebody else may end, with an error that says why."""

from __future__ import annotations

import asyncio

import pytest

from fixtures.failsafe import FAILSAFE_S
from louver.concurrency.deadlines import Interruptible

pytestmark = pytest.mark.anyio


class Why(Exception):
    """The reason."""


async def begun(within, ends=None):
    """A task that waits in something interruptible, and how it ends."""
    waits = asyncio.Event()

    async def work():
        with within:
            waits.set()
            try:
                await asyncio.Event().wait()
            finally:
                if ends is not None:
                    ends()

    task = asyncio.create_task(work())
    await waits.wait()
    return task


async def ended(task):
    """What a task raised."""
    await asyncio.wait([task], timeout=FAILSAFE_S)
    return None if task.cancelled() else task.exception()


async def test_it_ends_with_the_error_that_it_is_given():
    """Ours: and the task may go on, as if nobody had cancelled it."""
    within, why = Interruptible(), Why()
    left = []

    async def work():
        try:
            with within:
                asyncio.get_running_loop().call_soon(within.interrupt, why)
                await asyncio.Event().wait()
        except Why as error:
            left.append(error)
        await asyncio.sleep(0)
        return asyncio.current_task().cancelling()

    assert await asyncio.create_task(work()) == 0
    assert left == [why]
    assert left[0].__suppress_context__


async def test_the_first_reason_counts():
    """Ours."""
    within, first = Interruptible(), Why()
    task = await begun(within)
    within.interrupt(first)
    within.interrupt(Why())
    assert await ended(task) is first


@pytest.mark.parametrize("is_first", [False, True])
async def test_a_task_that_is_cancelled_besides_is_cancelled(is_first):
    """As `asyncio.timeout` has it."""
    within = Interruptible()
    task = await begun(within)
    if is_first:
        task.cancel()
    within.interrupt(Why())
    if not is_first:
        task.cancel()
    assert await ended(task) is None
    assert task.cancelled()


async def test_what_was_cancelled_before_it_began_is_no_matter():
    """As `asyncio.timeout` has it: a task may do something while it ends."""
    within, why = Interruptible(), Why()

    async def work():
        try:
            await asyncio.Event().wait()
        finally:
            with within:
                asyncio.get_running_loop().call_soon(within.interrupt, why)
                await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    task.cancel()
    assert await ended(task) is why
    assert task.cancelling() == 1


async def test_an_error_of_its_own_comes_out():
    """As `asyncio.timeout` has it."""
    within, own = Interruptible(), ValueError()

    def fail():
        raise own

    task = await begun(within, fail)
    within.interrupt(Why())
    assert await ended(task) is own
    assert task.cancelling() == 0


async def test_before_it_begins_and_after_it_has_ended_nothing_is_interrupted():
    """Ours: who interrupts does not know."""
    within = Interruptible()
    within.interrupt(Why())
    with within:
        await asyncio.sleep(0)
    within.interrupt(Why())
    await asyncio.sleep(0)
    assert asyncio.current_task().cancelling() == 0
