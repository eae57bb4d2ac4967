"""A handler for each audience."""

from __future__ import annotations

from functools import partial

import pytest

from louver.catalogue.policy.principal import Principal
from louver.limits import MAX_AUDIENCES
from louver.server.policy.per_audience import PerAudience
from louver.server.request import Identity
from server.requests import asks

pytestmark = pytest.mark.anyio


class Handlers:
    """Who was served by which handler, and which were closed."""

    def __init__(self):
        self.made, self.served, self.closed = [], [], []
        self.audiences = PerAudience(lambda principal: principal.client, self.make)

    async def call(self, who):
        return await self.audiences(asks(identity=Identity(Principal(client=who))))

    def make(self, principal):
        number = len(self.made)
        self.made.append(principal.client)
        return partial(self.answer, number), partial(self.closed.append, number)

    async def answer(self, number, request):
        self.served.append((number, request.identity.principal.client))
        return {}


async def test_callers_that_may_see_the_same_share_a_handler_and_nobody_else():
    """PRIVACY.md, P16."""
    handlers = Handlers()
    for who in ("ann", "bob", "ann"):
        await handlers.call(who)
    assert handlers.made == ["ann", "bob"]
    assert handlers.served == [(0, "ann"), (1, "bob"), (0, "ann")]


async def test_the_handler_that_was_used_longest_ago_goes_first():
    """Ours."""
    handlers = Handlers()
    await handlers.call("ann")
    for number in range(MAX_AUDIENCES - 1):
        await handlers.call(f"c{number}")
    await handlers.call("ann")
    assert handlers.closed == []
    await handlers.call("bob")
    assert handlers.closed == [1]


async def test_all_are_closed_where_others_stand_in_their_place():
    """Ours."""
    handlers = Handlers()
    for who in ("ann", "bob"):
        await handlers.call(who)
    handlers.audiences.close()
    handlers.audiences.close()
    assert sorted(handlers.closed) == [0, 1]
