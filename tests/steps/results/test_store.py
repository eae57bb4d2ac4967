"""Where results are kept."""

import asyncio
import stat

import anyio
import pytest

import louver
from fixtures.failsafe import FAILSAFE_S
from louver.errors import LouverError
from louver.steps.results.results import KeptResults, ResultInfo, Results
from louver.steps.results.sqlite_store import SWEEP_AGAIN_S, FileStore
from louver.steps.results.store import MemoryStore, open_store
from steps.kept import COUNT, VIEWS, Clock, issues, read, uri_of
from steps.profiles import lowlevel, structured, tool
from steps.requests import asks
from steps.wire import NEW, attached

STORES = {
    "memory": lambda _, clock: MemoryStore(clock),
    "file": lambda folder, clock: FileStore(folder / "r.db", clock),
}


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture(params=STORES.values(), ids=STORES)
def store(request, tmp_path, clock):
    return request.param(tmp_path, clock)


def test_what_is_kept_is_found_until_it_expires(store, clock):
    """GATEWAY.md: TTL."""
    assert store.put("k", clock.now + 60, (b"{}", b"[1]"))
    assert store.get("k") == (b"{}", b"[1]")
    assert store.get("other") is None
    clock.now += 60
    assert store.get("k") is None


def test_a_clock_that_is_put_back_keeps_nothing_in_a_file_for_years(tmp_path, clock):
    """TRUST.md: a process that starts later has no other clock; the file does not keep it either."""
    clock.now += 3650 * 86_400
    file = tmp_path / "r.db"
    FileStore(file, clock).put("k", clock.now + 60, (b"{}", b"[1]"))
    clock.now -= 3650 * 86_400
    store = FileStore(file, clock)
    assert store.get("k") is None
    assert store.sweep() is None


def bound(monkeypatch, name, value):
    for module in ("store", "sqlite_store"):
        monkeypatch.setattr(f"louver.steps.results.{module}.{name}", value)


def test_the_oldest_go_first(store, clock, monkeypatch):
    """GATEWAY.md: bounded in number."""
    bound(monkeypatch, "MAX_RESULTS", 3)
    for number in range(5):
        store.put(f"k{number}", clock.now + 60, (b"{}", b"1"))
    assert [number for number in range(5) if store.get(f"k{number}")] == [2, 3, 4]


def test_together_they_are_not_too_large(store, clock, monkeypatch):
    """GATEWAY.md: size cap; one that is larger alone is not kept, and drives none out."""
    bound(monkeypatch, "MAX_RESULTS_BYTES", 100)
    for number in range(4):
        assert store.put(f"k{number}", clock.now + 60, (b"{}", b"x" * 38))
    assert [number for number in range(4) if store.get(f"k{number}")] == [2, 3]
    assert not store.put("large", clock.now + 60, (b"{}", b"x" * 99))
    assert store.get("k3") is not None


def test_what_has_expired_makes_room(store, clock, monkeypatch):
    """Ours: before anything that has not."""
    bound(monkeypatch, "MAX_RESULTS", 2)
    store.put("long", clock.now + 600, (b"{}", b"1"))
    store.put("short", clock.now + 1, (b"{}", b"2"))
    clock.now += 2
    store.put("next", clock.now + 60, (b"{}", b"3"))
    assert store.get("long") is not None
    assert store.get("next") is not None


def test_a_file_is_of_its_owner_alone_and_holds_nothing_that_has_expired(tmp_path, clock):
    """Ours: values of others' tools stand in it."""
    path = tmp_path / "r.db"
    store = FileStore(path, clock)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    store.put("k", clock.now + 1, (b"{}", b"canary-7f3a" * 1000))
    assert b"canary-7f3a" in path.read_bytes()
    clock.now += 2
    store.put("k2", clock.now + 1, (b"{}", b"1"))
    assert b"canary-7f3a" not in path.read_bytes()


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o606])
def test_a_file_that_others_can_use_is_refused(tmp_path, clock, mode):
    """Ours: nothing is put into it, and its mode stays what its owner has made it."""
    path = tmp_path / "r.db"
    path.touch()
    path.chmod(mode)
    with pytest.raises(LouverError, match="others than its owner can use it: chmod 600"):
        open_store(path, clock)
    assert (stat.S_IMODE(path.stat().st_mode), path.stat().st_size) == (mode, 0)
    path.chmod(0o600)
    assert open_store(path, clock).put("k", clock.now + 60, (b"{}", b"1"))


def test_a_file_of_somebody_else_is_refused(tmp_path, clock, monkeypatch):
    """Ours: its owner could read what is put into it."""
    (tmp_path / "r.db").touch(0o600)
    monkeypatch.setattr("os.geteuid", lambda: (tmp_path / "r.db").stat().st_uid + 1)
    with pytest.raises(LouverError, match="it is somebody else's file"):
        open_store(tmp_path / "r.db", clock)


def test_what_has_expired_is_swept_away(store, clock):
    """Ours: and it is told when the next will have expired."""
    assert store.sweep() is None
    store.put("short", clock.now + 1, (b"{}", b"1"))
    store.put("long", clock.now + 60, (b"{}", b"2"))
    assert store.sweep() == clock.now + 1
    clock.now += 1
    assert store.sweep() == clock.now + 59
    assert store.get("long") is not None
    clock.now += 59
    assert store.sweep() is None


def test_what_is_kept_under_a_key_stays(store, clock):
    """Ours: nobody puts something else in its place."""
    assert store.put("k", clock.now + 1, (b"{}", b"1"))
    assert store.put("k", clock.now + 60, (b"{}", b"2"))
    assert store.get("k") == (b"{}", b"1")
    clock.now += 1
    store.put("k", clock.now + 60, (b"{}", b"2"))
    assert store.get("k") == (b"{}", b"2")


def test_a_file_is_swept_when_it_is_opened(tmp_path, clock):
    """Ours: what another process has left."""
    FileStore(tmp_path / "r.db", clock).put("k", clock.now + 1, (b"{}", b"canary-7f3a" * 1000))
    clock.now += 1
    FileStore(tmp_path / "r.db", clock)
    assert b"canary-7f3a" not in (tmp_path / "r.db").read_bytes()


@pytest.fixture
def left(monkeypatch):
    """What each sweep tells of what is left, as it comes; what has expired is removed at once."""
    monkeypatch.setattr("louver.steps.results.local_store.SWEEP_AFTER_S", 0.0)
    left = asyncio.Queue()

    def noted(sweep):
        def call(store):
            found = sweep(store)
            if loops:
                loops[0].call_soon_threadsafe(left.put_nowait, found)
            return found

        return call

    for kind in (MemoryStore, FileStore):
        monkeypatch.setattr(kind, "sweep", noted(kind.sweep))
    loops = []
    left.begin = lambda: loops.append(asyncio.get_running_loop())
    return left


@pytest.mark.anyio
@pytest.mark.parametrize("place", ["memory", "file"])
async def test_what_expires_is_removed_though_nobody_asks(tmp_path, left, place):
    """GATEWAY.md: TTL; of two results each, and of what is kept after all was removed."""
    left.begin()
    results = louver.KeptResults(over_bytes=1, minutes=0.002, store=tmp_path / "r.db" if place == "file" else "memory")
    made = lowlevel(t=tool(None, structured({"a": "canary-7f3a", "b": 1})))
    async with attached(made.server, NEW, results=results) as wire:
        for _ in range(2):
            await wire.call("t")
            await wire.call("t")
            while left.qsize():
                left.get_nowait()
            with anyio.fail_after(FAILSAFE_S):
                while await left.get() is not None:
                    pass
    assert place == "memory" or b"canary-7f3a" not in (tmp_path / "r.db").read_bytes()


REQUEST = asks()
"""A request whose results are those of whoever has the handle."""


async def until_left(results, count, left):
    """Wait until just so many are left in a store in memory."""
    with anyio.fail_after(FAILSAFE_S):
        while len(results._store._store._kept) != count:
            await left.get()


@pytest.mark.anyio
async def test_what_expires_is_removed_whichever_scope_it_was_kept_in(left):
    """Ours: scopes share a store, and are made while something is yet to be removed."""
    left.begin()
    first = Results(KeptResults(minutes=0.002)).scoped_to(lambda _: "a")
    await first.keep("{}", ResultInfo("t"), REQUEST)
    second = first.scoped_to(lambda _: "b")
    await until_left(first, 0, left)
    await second.keep("{}", ResultInfo("t"), REQUEST)
    await until_left(second, 0, left)


@pytest.mark.anyio
async def test_what_is_kept_for_long_does_not_put_off_what_is_kept_shortly(left):
    """Ours: a server behind the gateway may say a day."""
    left.begin()
    results = Results(KeptResults(minutes=0.002))
    await results.keep_handle("louver://results/there", 3600, "it", REQUEST)
    await results.keep("{}", ResultInfo("t"), REQUEST)
    await until_left(results, 1, left)
    assert (await results.find("there", REQUEST))[0].upstream == "it"


@pytest.mark.anyio
async def test_what_could_not_be_removed_is_removed_later(tmp_path, left, monkeypatch):
    """Ours: another process may have the file for a moment."""
    monkeypatch.setattr("louver.steps.results.sqlite_store.SWEEP_AGAIN_S", 0.01)
    results = Results(KeptResults(minutes=0.002, store=tmp_path / "r.db"))
    left.begin()
    await results.keep('"canary-7f3a"', ResultInfo("t"), REQUEST)
    content = (tmp_path / "r.db").read_bytes()
    assert b"canary-7f3a" in content
    (tmp_path / "r.db").write_bytes(b"no database" * 100)
    with anyio.fail_after(FAILSAFE_S):
        await left.get()
        (tmp_path / "r.db").write_bytes(content)
        while await left.get() is not None:
            pass
    assert b"canary-7f3a" not in (tmp_path / "r.db").read_bytes()


def test_a_file_is_one_for_several_processes(tmp_path, clock):
    """Ours: what one has kept another finds."""
    FileStore(tmp_path / "r.db", clock).put("k", clock.now + 60, (b"{}", b"1"))
    assert FileStore(tmp_path / "r.db", clock).get("k") == (b"{}", b"1")


def test_a_file_that_goes_wrong_later_keeps_nothing(tmp_path, clock, caplog):
    """Ours: a call that has run is answered."""
    store = FileStore(tmp_path / "r.db", clock)
    (tmp_path / "r.db").write_bytes(b"no database" * 100)
    assert not store.put("k", clock.now + 60, (b"{}", b"canary"))
    assert store.get("k") is None
    assert store.sweep() == clock.now + SWEEP_AGAIN_S
    assert [record.message for record in caplog.records] == [
        "a result is not kept: SQLITE_NOTADB",
        "a result is not found: SQLITE_NOTADB",
        "results that have expired are not removed: SQLITE_NOTADB",
    ]


def test_a_place_that_cannot_be_is_refused_at_start(tmp_path):
    """Ours."""
    (tmp_path / "text").write_text("no database" * 100)
    (tmp_path / "text").chmod(0o600)
    for name, reason in (
        ("text", "it is no database of results"),
        ("nowhere/r.db", "No such file or directory"),
    ):
        with pytest.raises(LouverError, match=reason):
            open_store(tmp_path / name, Clock())


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


@pytest.mark.anyio
async def test_a_file_survives_its_server(tmp_path):
    """GATEWAY.md: memory or SQLite. In 2026-07-28 the handle is enough."""
    results = louver.KeptResults(store=tmp_path / "r.db")
    async with attached(issues().server, NEW, results=results) as wire:
        uri = uri_of(await wire.call("list_issues"))
    made = issues()
    async with attached(made.server, NEW, results=results, views={"list_issues": VIEWS}) as wire:
        value, said = await read(wire, f"{uri}?view=brief&page=1")
    assert len(value["issues"]) == 100
    assert said["_meta"]["dev.louver/result"]["items"] == COUNT
    assert made.calls == []


@pytest.mark.anyio
async def test_what_is_too_large_to_be_kept_is_sent(monkeypatch):
    """Ours."""
    bound(monkeypatch, "MAX_RESULTS_BYTES", 1_000_000)
    value = {"a": "x" * 1_000_001}
    async with attached(lowlevel(t=tool(None, structured(value))).server, NEW, results=louver.KeptResults()) as wire:
        assert (await wire.call("t"))["structuredContent"] == value
