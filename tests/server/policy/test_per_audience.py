"""A stack for each audience, over a server in this process."""

from __future__ import annotations

from functools import partial

import pytest

from louver.limits import MAX_AUDIENCES
from louver.server.policy.per_audience import Audiences
from server.profiles import lowlevel, structured, tool
from server.wire import NEW, connect

pytestmark = pytest.mark.anyio


class Stacks:
    """Who was served by which stack, and which were closed."""

    def __init__(self):
        self.who, self.made, self.served, self.closed = "ann", 0, [], []
        self.audiences = Audiences(lambda: self.who, self.make)

    def make(self):
        number = self.made
        self.made += 1
        return [partial(self.note, (number, "outer")), partial(self.note, (number, "inner"))], partial(
            self.closed.append, number
        )

    async def note(self, mark, ctx, call_next):
        if ctx.method == "tools/call":
            self.served.append(mark)
        return await call_next(ctx)


@pytest.fixture
async def stacks():
    stacks = Stacks()
    server = lowlevel(it=tool(None, structured({"a": 1}))).server
    server.middleware.append(stacks.audiences)
    async with connect(server, NEW) as stacks.wire:
        yield stacks


async def test_callers_that_may_see_the_same_share_a_stack_and_nobody_else(stacks):
    """PRIVACY.md, P16."""
    for who in ("ann", "bob", "ann"):
        stacks.who = who
        await stacks.wire.call("it")
    assert [mark for mark in stacks.served if mark[1] == "outer"] == [(0, "outer"), (1, "outer"), (0, "outer")]
    assert stacks.served[:2] == [(0, "outer"), (0, "inner")]


async def test_the_stack_that_was_used_longest_ago_goes_first(stacks):
    """Ours."""
    await stacks.wire.call("it")
    for number in range(MAX_AUDIENCES - 1):
        stacks.who = number
        await stacks.wire.call("it")
    stacks.who = "ann"
    await stacks.wire.call("it")
    assert stacks.closed == []
    stacks.who = "bob"
    await stacks.wire.call("it")
    assert stacks.closed == [1]


async def test_all_are_closed_where_others_stand_in_their_place(stacks):
    for who in ("ann", "bob"):
        stacks.who = who
        await stacks.wire.call("it")
    stacks.audiences.close()
    stacks.audiences.close()
    assert sorted(stacks.closed) == [0, 1]
