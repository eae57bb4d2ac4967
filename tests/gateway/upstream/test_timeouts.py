"""The deadline of one call: it counts only while the call is waited for."""

from __future__ import annotations

import asyncio

import pytest

from louver.concurrency.deadlines import Deadlines
from louver.gateway.upstream.timeouts import CallTimeout

pytestmark = pytest.mark.anyio


async def test_a_question_that_ends_after_its_call_sets_no_deadline():
    """Ours: nobody waits any more."""
    reached, over = [], asyncio.Event()

    def reach(each):
        reached.append(each)
        over.set()

    deadlines = Deadlines(0.01, reach)
    patience = CallTimeout(deadlines)
    with patience.suspended(), patience:
        await asyncio.sleep(0)
    deadlines.set("after")
    async with asyncio.timeout(5):
        await over.wait()
    assert reached == ["after"]
