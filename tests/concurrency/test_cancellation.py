"""Giving up what a task does, once it has waited for what would go on without it."""

import asyncio
from contextlib import suppress

import anyio
import pytest
from anyio.to_thread import current_default_thread_limiter

from fixtures.failsafe import FAILSAFE_S
from louver.concurrency.offload import deferred_cancellation, in_thread, run_cancellable
from steps.threads import Begun, Work, turns

pytestmark = pytest.mark.anyio


async def forever():
    """Wait for nothing."""
    await asyncio.Event().wait()


async def test_who_waits_for_no_thread_is_cancelled_at_once():
    """Ours."""
    begun = Begun(forever())
    task = begun.task
    await turns()
    begun.give_up()
    await turns()
    assert task.cancelled()


async def test_a_thread_is_waited_for_and_what_it_has_made_is_not_lost():
    """Ours: then it ends where it waits next."""
    work, kept = Work("made"), []

    async def make():
        kept.append(await in_thread(work))
        await asyncio.sleep(0)
        kept.append("went on")

    begun = Begun(make())
    task = begun.task
    await work.begun.wait()
    begun.give_up()
    await turns()
    assert not task.done()
    work.go_on.set()
    await asyncio.wait([task], timeout=FAILSAFE_S)
    assert task.cancelled()
    assert kept == ["made"]


async def fails(work, ends):
    """A wait that ends with the thread's error."""
    ends.append(lambda: None)
    await in_thread(work)


async def runs_out_by_anyio(work, ends):
    """A wait whose time has run out by the end of the thread."""

    def works(look):
        with suppress(OSError):
            work()
        look()

    with anyio.CancelScope() as scope:
        ends.append(scope.cancel)
        await run_cancellable(works)


async def runs_out_by_asyncio(work, ends):
    """Likewise, by the other's means: the thread is not waited for."""
    with suppress(TimeoutError):
        async with asyncio.timeout(None) as waiting:
            ends.append(lambda: waiting.reschedule(0))
            await in_thread(work)


@pytest.mark.parametrize("wait", [fails, runs_out_by_anyio, runs_out_by_asyncio])
async def test_it_is_given_up_however_the_wait_ends(wait):
    """Ours: nobody would say so again."""
    work, ends = Work(error=OSError()), []

    async def waits():
        with suppress(OSError):
            await wait(work, ends)
        await forever()

    begun = Begun(waits())
    task = begun.task
    await work.begun.wait()
    begun.give_up()
    ends[0]()
    await turns()
    work.go_on.set()
    await asyncio.wait([task], timeout=FAILSAFE_S)
    assert task.cancelled()
    assert task.cancelling() == 0


async def test_what_waits_for_a_thread_is_not_begun():
    """Ours: nobody wants it by the time that there is one."""
    limiter = current_default_thread_limiter()
    places, limiter.total_tokens = limiter.total_tokens, 1
    try:
        first, begun = Work(), []
        holding = asyncio.create_task(in_thread(first))
        await first.begun.wait()
        waiting = Begun(in_thread(lambda: begun.append("begun")))
        task = waiting.task
        await turns()
        waiting.give_up()
        first.go_on.set()
        await asyncio.wait([task, holding], timeout=FAILSAFE_S)
    finally:
        limiter.total_tokens = places
    assert task.cancelled()
    assert task.cancelling() == 0
    assert begun == []


async def test_others_are_waited_for_too():
    """Ours: what has been told to end does so in peace."""
    let_go, ended = asyncio.Event(), []

    async def ends():
        try:
            await forever()
        finally:
            await let_go.wait()
            ended.append("other")

    async def waits():
        other = asyncio.create_task(ends())
        await asyncio.sleep(0)
        other.cancel()
        with deferred_cancellation():
            await asyncio.gather(other, return_exceptions=True)
        ended.append("waited")
        await forever()

    begun = Begun(waits())
    task = begun.task
    await turns()
    begun.give_up()
    await turns()
    assert ended == []
    let_go.set()
    await asyncio.wait([task], timeout=FAILSAFE_S)
    assert ended == ["other", "waited"]
    assert task.cancelled()


async def test_within_another_wait_the_outer_one_is_over_first():
    """Ours."""
    work, inner_over, let_go, after = Work("made"), asyncio.Event(), asyncio.Event(), []

    async def waits():
        with deferred_cancellation():
            after.append(await in_thread(work))
            inner_over.set()
            await let_go.wait()
            after.append("outer")
        await forever()

    begun = Begun(waits())
    task = begun.task
    await work.begun.wait()
    begun.give_up()
    work.go_on.set()
    await inner_over.wait()
    await turns()
    assert not task.done()
    let_go.set()
    await asyncio.wait([task], timeout=FAILSAFE_S)
    assert after == ["made", "outer"]
    assert task.cancelled()
