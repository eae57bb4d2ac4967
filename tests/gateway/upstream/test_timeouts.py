"""The deadline of one call: it counts only while the call is waited for."""

from __future__ import annotations

import asyncio

import pytest

from louver.concurrency.deadlines import Deadlines
from louver.gateway.transports.transport import Call, unasked, unheard
from louver.gateway.upstream.timeouts import Patience

pytestmark = pytest.mark.anyio


async def test_a_question_that_ends_after_its_call_sets_no_deadline():
    """Ours: nobody waits any more."""
    reached, over = [], asyncio.Event()

    def reach(each):
        reached.append(each)
        over.set()

    async def answers(_call):
        return {}

    deadlines = Deadlines(0.01, reach)
    patience = Patience(deadlines)
    with patience.held():
        await patience.wait(Call("tools/call", {}, unheard, unasked), answers)
    deadlines.set("after")
    async with asyncio.timeout(5):
        await over.wait()
    assert reached == ["after"]
