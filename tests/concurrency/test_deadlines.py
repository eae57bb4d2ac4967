"""Deadlines of one length: each is reached in time, unless it is lifted or set anew, and one timer is for all."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar

import pytest

from fixtures.failsafe import FAILSAFE_S
from gateway.links import turns
from louver.concurrency.deadlines import Deadlines

pytestmark = pytest.mark.anyio

LENGTH_S = 0.02


class Reached:
    """What was reached."""

    def __init__(self, last):
        self._last = last
        self._over = asyncio.Event()
        self.keys = []

    def __call__(self, each):
        assert each not in self.keys
        self.keys.append(each)
        if each == self._last:
            self._over.set()

    async def all(self):
        async with asyncio.timeout(FAILSAFE_S):
            await self._over.wait()
        return self.keys


async def test_each_is_reached_in_time(monkeypatch):
    """Ours: those after the first are not forgotten, and none is reached before."""
    now, reached = 0, []
    deadlines = Deadlines(10, reached.append)
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now)
    for each in "abc":
        deadlines.set(each)
        now += 3
    for now, so_far in ((9, ""), (10, "a"), (12, "a"), (13, "ab"), (16, "abc")):  # noqa: B007 - the loop looks at it
        await turns()
        assert "".join(reached) == so_far


async def test_what_is_lifted_is_not_reached():
    """Ours; it may be lifted twice."""
    reached = Reached("c")
    deadlines = Deadlines(LENGTH_S, reached)
    for each in "abc":
        deadlines.set(each)
    deadlines.cancel("a")
    deadlines.cancel("a")
    assert await reached.all() == ["b", "c"]


async def test_what_is_set_again_counts_anew():
    """Ours."""
    reached = Reached("a")
    deadlines = Deadlines(LENGTH_S, reached)
    for each in "aba":
        deadlines.set(each)
    assert await reached.all() == ["b", "a"]


async def test_one_that_is_reached_may_lift_or_set_others(monkeypatch):
    """Ours: also those that are due with it; and there is still one timer."""
    now, reached, timers = 0, [], noted_timers(monkeypatch)
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now)

    def change(each):
        reached.append(each)
        if each == "a":
            deadlines.cancel("b")
            deadlines.set("c")
            deadlines.set("d")

    deadlines = Deadlines(10, change)
    for each in "abc":
        deadlines.set(each)
    for now, so_far in ((10, "a"), (19, "a"), (20, "acd")):  # noqa: B007 - the loop looks at it
        await turns()
        assert "".join(reached) == so_far
    assert len(timers) == len({when for when, *_ in timers})


async def test_who_is_told_is_in_nobodys_context():
    """Ours: one timer is for requests of different callers."""
    whose, reached, told = ContextVar("whose", default="nobody"), Reached("b"), []

    def tell(each):
        told.append(whose.get())
        reached(each)

    deadlines = Deadlines(LENGTH_S, tell)
    for each in "ab":
        whose.set(each)
        deadlines.set(each)
        await asyncio.sleep(0)
    assert await reached.all() == ["a", "b"]
    assert told == ["nobody", "nobody"]


async def test_one_that_cannot_be_told_of_keeps_nobody_waiting():
    """Ours: those after it are reached, if a little later."""
    reached, failed = Reached("b"), []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: failed.append(context["exception"]))

    def tell(each):
        if each == "a":
            raise ValueError
        reached(each)

    deadlines = Deadlines(LENGTH_S, tell)
    for each in "ab":
        deadlines.set(each)
    assert await reached.all() == ["b"]
    assert [type(error) for error in failed] == [ValueError]


async def test_there_is_one_timer_for_all(monkeypatch):
    """Ours: it is what they are for."""
    timers = noted_timers(monkeypatch)
    deadlines = Deadlines(LENGTH_S, print)
    for each in range(1000):
        deadlines.set(each)
        deadlines.cancel(each)
    assert len(timers) == 1


def noted_timers(monkeypatch):
    """What the loop is asked to call, and when, from here on."""
    loop = asyncio.get_running_loop()
    timers = []
    call_at = loop.call_at

    def noted(when, callback, *arguments, **others):
        if getattr(callback, "__name__", "") == "_expire_due":
            timers.append((when, callback))
        return call_at(when, callback, *arguments, **others)

    monkeypatch.setattr(loop, "call_at", noted)
    return timers
