"""Upstreams that open at once: so many, and one that does not answer holds up nobody for long."""

import asyncio

import pytest

from louver.gateway.back import openings
from louver.gateway.back.openings import OpeningPlaces

pytestmark = pytest.mark.anyio


class Opening:
    """An opening that lasts until it is ended."""

    def __init__(self, places):
        self.has_place, self.end = asyncio.Event(), asyncio.Event()
        self.task = asyncio.create_task(self._open(places))

    async def _open(self, places):
        async with places.place():
            self.has_place.set()
            await self.end.wait()

    async def finish(self):
        self.end.set()
        await self.task


async def settled():
    for _ in range(5):
        await asyncio.sleep(0)


async def test_others_wait_for_a_place(monkeypatch):
    """SPEED.md, 9: hundreds of upstreams that opened at once all failed."""
    monkeypatch.setattr(openings, "MAX_OPENINGS", 2)
    places = OpeningPlaces()
    opening = [Opening(places) for _ in range(4)]
    await settled()
    assert [each.has_place.is_set() for each in opening] == [True, True, False, False]
    await opening[0].finish()
    await settled()
    assert [each.has_place.is_set() for each in opening] == [True, True, True, False]
    for each in opening:
        await each.finish()


async def test_one_that_lasts_gives_its_place_to_another_once(monkeypatch):
    """Ours: a place that was given away is not given back at the end."""
    monkeypatch.setattr(openings, "MAX_OPENINGS", 1)
    monkeypatch.setattr(openings, "OPENING_PLACE_S", 0.01)
    places = OpeningPlaces()
    hanging = Opening(places)
    await hanging.has_place.wait()
    next_one = Opening(places)
    await next_one.has_place.wait()
    monkeypatch.setattr(openings, "OPENING_PLACE_S", 60)
    await hanging.finish()
    await next_one.finish()
    first, second = Opening(places), Opening(places)
    await settled()
    assert [first.has_place.is_set(), second.has_place.is_set()] == [True, False]
    await first.finish()
    await second.finish()
