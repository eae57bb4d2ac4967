"""A stack for each audience, over a server in this process."""

from __future__ import annotations

from functools import partial

import pytest

from louver.limits import MAX_AUDIENCES
from louver.server.policy.per_audience import PerAudience
from louver.server.sdk import StepMiddleware
from server.profiles import lowlevel, structured, tool
from server.test_callers import caller
from server.wire import NEW, connect

pytestmark = pytest.mark.anyio

ANN = "ann"
"""Who opens the connection; others authenticate."""


class Stacks:
    """Who was served by which stack, and which were closed."""

    def __init__(self):
        self.made, self.served, self.closed = [], [], []
        self.audiences = PerAudience(lambda principal: principal.client or ANN, self.make)

    async def call(self, who):
        with caller(who):
            await self.wire.call("it")

    def make(self, principal):
        number = len(self.made)
        self.made.append(principal.client or ANN)
        return [partial(self.note, (number, "outer")), partial(self.note, (number, "inner"))], partial(
            self.closed.append, number
        )

    async def note(self, mark, request, call_next):
        if request.method == "tools/call":
            self.served.append(mark)
        return await call_next(request)


@pytest.fixture
async def stacks():
    stacks = Stacks()
    server = lowlevel(it=tool(None, structured({"a": 1}))).server
    server.middleware.append(StepMiddleware([stacks.audiences]))
    async with connect(server, NEW) as stacks.wire:
        yield stacks


async def test_callers_that_may_see_the_same_share_a_stack_and_nobody_else(stacks):
    """PRIVACY.md, P16."""
    for who in ("ann", "bob", "ann"):
        await stacks.call(who)
    assert stacks.made == ["ann", "bob"]
    assert [mark for mark in stacks.served if mark[1] == "outer"] == [(0, "outer"), (1, "outer"), (0, "outer")]
    assert stacks.served[:2] == [(0, "outer"), (0, "inner")]


async def test_the_stack_that_was_used_longest_ago_goes_first(stacks):
    """Ours."""
    await stacks.call("ann")
    for number in range(MAX_AUDIENCES - 1):
        await stacks.call(f"c{number}")
    await stacks.call("ann")
    assert stacks.closed == []
    await stacks.call("bob")
    assert stacks.closed == [1]


async def test_all_are_closed_where_others_stand_in_their_place(stacks):
    for who in ("ann", "bob"):
        await stacks.call(who)
    stacks.audiences.close()
    stacks.audiences.close()
    assert sorted(stacks.closed) == [0, 1]
