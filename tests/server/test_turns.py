"""Work that takes long, and others beside it."""

import asyncio
from time import monotonic

import pytest

from louver.limits import MAX_TURN_S
from louver.server.turns import by_turns

pytestmark = pytest.mark.anyio


async def test_others_have_their_turn_in_each_break():
    """Ours: after `MAX_TURN_S`."""
    turns = 0

    async def other():
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    task = asyncio.create_task(other())
    await asyncio.sleep(0)
    seen = []
    async for thing in by_turns("abc"):
        seen.append((thing, turns))
        until = monotonic() + MAX_TURN_S
        while monotonic() <= until:
            pass
    task.cancel()
    assert [thing for thing, _ in seen] == ["a", "b", "c"]
    assert seen[0][1] < seen[1][1]
