"""Where results are kept."""

import asyncio

import anyio
import pytest

import louver
from fixtures.failsafe import FAILSAFE_S
from louver.errors import LouverError
from louver.steps.results.results import KeptResults, ResultInfo, Results
from louver.steps.results.store import MemoryStore
from steps.kept import Clock
from steps.profiles import lowlevel, structured, tool
from steps.requests import asks
from steps.wire import NEW, attached

pytestmark = pytest.mark.anyio


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def store(clock):
    return MemoryStore(clock)


async def test_what_is_kept_is_found_until_it_expires(store, clock):
    """GATEWAY.md: TTL."""
    assert await store.put("k", 60, (b"{}", b"[1]"))
    assert await store.get("k") == (b"{}", b"[1]")
    assert await store.get("other") is None
    clock.now += 60
    assert await store.get("k") is None


def bound(monkeypatch, name, value):
    monkeypatch.setattr(f"louver.steps.results.store.{name}", value)


async def test_the_oldest_go_first(store, monkeypatch):
    """GATEWAY.md: bounded in number."""
    bound(monkeypatch, "MAX_RESULTS", 3)
    for number in range(5):
        await store.put(f"k{number}", 60, (b"{}", b"1"))
    assert [number for number in range(5) if await store.get(f"k{number}")] == [2, 3, 4]


async def test_together_they_are_not_too_large(store, monkeypatch):
    """GATEWAY.md: size cap; one that is larger alone is not kept, and drives none out."""
    bound(monkeypatch, "MAX_RESULTS_BYTES", 100)
    for number in range(4):
        assert await store.put(f"k{number}", 60, (b"{}", b"x" * 38))
    assert [number for number in range(4) if await store.get(f"k{number}")] == [2, 3]
    assert not await store.put("large", 60, (b"{}", b"x" * 99))
    assert await store.get("k3") is not None


async def test_what_has_expired_makes_room(store, clock, monkeypatch):
    """Ours: before anything that has not."""
    bound(monkeypatch, "MAX_RESULTS", 2)
    await store.put("long", 600, (b"{}", b"1"))
    await store.put("short", 1, (b"{}", b"2"))
    clock.now += 2
    await store.put("next", 60, (b"{}", b"3"))
    assert await store.get("long") is not None
    assert await store.get("next") is not None


async def test_what_is_kept_under_a_key_stays(store, clock):
    """Ours: nobody puts something else in its place."""
    assert await store.put("k", 1, (b"{}", b"1"))
    assert await store.put("k", 60, (b"{}", b"2"))
    assert await store.get("k") == (b"{}", b"1")
    clock.now += 1
    await store.put("k", 60, (b"{}", b"2"))
    assert await store.get("k") == (b"{}", b"2")


@pytest.fixture
def left(monkeypatch):
    """What each sweep leaves, as it comes; what has expired is removed at once."""
    bound(monkeypatch, "SWEEP_AFTER_S", 0.0)
    left, sweep = asyncio.Queue(), MemoryStore._sweep

    def noted(store):
        sweep(store)
        left.put_nowait(len(store._kept))

    monkeypatch.setattr(MemoryStore, "_sweep", noted)
    return left


async def until_left(count, left):
    """Wait until just so many are left."""
    with anyio.fail_after(FAILSAFE_S):
        while await left.get() != count:
            pass


async def test_what_expires_is_removed_though_nobody_asks(left):
    """GATEWAY.md: TTL; of two results each, and of what is kept after all was removed."""
    results = louver.KeptResults(over_bytes=1, minutes=0.002)
    made = lowlevel(t=tool(None, structured({"a": "canary-7f3a", "b": 1})))
    async with attached(made.server, NEW, results=results) as wire:
        for _ in range(2):
            await wire.call("t")
            await wire.call("t")
            await until_left(0, left)


REQUEST = asks()
"""A request whose results are those of whoever has the handle."""


async def test_what_expires_is_removed_whichever_scope_it_was_kept_in(left):
    """Ours: scopes share a store, and are made while something is yet to be removed."""
    first = Results(KeptResults(minutes=0.002)).scoped_to(lambda _: "a")
    await first.keep("{}", ResultInfo("t"), REQUEST)
    second = first.scoped_to(lambda _: "b")
    await until_left(0, left)
    await second.keep("{}", ResultInfo("t"), REQUEST)
    await until_left(0, left)


async def test_what_is_kept_for_long_does_not_put_off_what_is_kept_shortly(left):
    """Ours: a server behind the gateway may say a day."""
    results = Results(KeptResults(minutes=0.002))
    await results.keep_handle("louver://results/there", 3600, "it", REQUEST)
    await results.keep("{}", ResultInfo("t"), REQUEST)
    await until_left(1, left)
    assert (await results.find("there", REQUEST))[0].upstream == "it"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"over_bytes": 0}, "expected 1 or more for 'over_bytes'"),
        ({"minutes": 0}, "expected a time over 0 and at most 1440 'minutes'"),
        ({"minutes": 1441}, "expected a time over 0 and at most 1440 'minutes'"),
        ({"minutes": float("nan")}, "expected a time over 0"),
    ],
)
def test_options_that_cannot_be_are_refused(options, message):
    """Ours."""
    with pytest.raises(LouverError, match=message):
        KeptResults(**options)


async def test_what_is_too_large_to_be_kept_is_sent(monkeypatch):
    """Ours."""
    bound(monkeypatch, "MAX_RESULTS_BYTES", 1_000_000)
    value = {"a": "x" * 1_000_001}
    async with attached(lowlevel(t=tool(None, structured(value))).server, NEW, results=louver.KeptResults()) as wire:
        assert (await wire.call("t"))["structuredContent"] == value
