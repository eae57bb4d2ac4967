"""Tasks that one peer keeps busy, and the turns of the event loop that they take."""

from __future__ import annotations

import asyncio

import pytest

from fixtures.failsafe import FAILSAFE_S
from louver.concurrency.budget import Turnstile

pytestmark = pytest.mark.anyio


async def test_one_task_passes_in_each_turn_and_the_others_in_order():
    turnstile, passed, passed_by_turn = Turnstile(), [], []

    async def busy(name):
        for _ in range(3):
            await turnstile.wait()
            passed.append(name)

    tasks = [asyncio.create_task(busy(name)) for name in "abc"]
    while not all(task.done() for task in tasks):
        before = len(passed)
        await asyncio.sleep(0)
        passed_by_turn.append(len(passed) - before)
    assert "".join(passed) == "abcabcabc"
    assert max(passed_by_turn) == 1


async def test_a_task_that_is_cancelled_lets_the_next_one_pass():
    turnstile = Turnstile()
    first, second = (asyncio.create_task(turnstile.wait()) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    async with asyncio.timeout(FAILSAFE_S):
        await second
    assert first.cancelled()
