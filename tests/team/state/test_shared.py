"""State on real engines: values, messages and counts, while the store is there, slow, full, or away."""

from __future__ import annotations

import asyncio
import logging
import secrets
import signal
import sys
from contextlib import asynccontextmanager, suppress

import anyio
import pytest
from redis.asyncio import Redis

from fixtures import stores
from fixtures.failsafe import A_WHILE_S, FAILSAFE_S, until
from fixtures.stores import store as store
from louver.errors import LouverError, StateUnavailable
from louver.limits import MAX_SHARED_RESULT_BYTES
from louver.steps.results.store import SharedStore
from louver.steps.shared_state import StateUrl
from louver.team.state import shared
from louver.team.state.redis_engine import RedisEngine
from louver.team.state.shared import SharedState

pytestmark = pytest.mark.anyio

KEY, OTHER = "k" * 32, "o" * 32


@asynccontextmanager
async def connected(url, *keys):
    state = SharedState(StateUrl.read(url), keys)
    try:
        yield state
    finally:
        await state.close()


@asynccontextmanager
async def listening(state):
    """The messages of the kind `it`, once the replica is subscribed."""
    messages, is_subscribed = asyncio.Queue(), asyncio.Event()
    state.on("it", lambda *params: messages.put_nowait(params))
    state.listen(is_subscribed.set)
    async with asyncio.timeout(FAILSAFE_S):
        await is_subscribed.wait()
    yield messages


async def back(state):
    """Wait until a store is used again."""

    async def is_back():
        with suppress(StateUnavailable):
            await state.get("none")
            return True

    await until(is_back)


async def gone(state, key):
    async def is_gone():
        return await state.get(key) is None

    await until(is_gone)


async def test_a_value_is_found_by_every_replica_until_it_expires(store):
    async with connected(store.url, KEY) as one, connected(store.url, OTHER, KEY) as two:
        await one.put("k1", b"\x00value", 30)
        await one.put("k2", b"short", 0.05)
        assert await two.get("k1") == b"\x00value"
        await gone(two, "k2")
        assert await two.get("k3") is None


async def test_a_reader_of_the_store_sees_nothing_and_can_move_nothing(store):
    """TEAM.md: sealed with the keys that replicas share. Another key: unknown, not an error."""
    async with connected(store.url, KEY) as one, connected(store.url, OTHER) as foreign:
        await one.put("k4", b"canary " * 100, 30)
        sealed = await one._engine.get("k4")
        assert b"canary" not in sealed
        assert await foreign.get("k4") is None
        await one._engine.put("k5", sealed, 30)
        await one._engine.put("k6", b"v1.none", 30)
        await one._engine.put("k7", b"\xff", 30)
        assert [await one.get(key) for key in ("k4", "k5", "k6", "k7")] == [b"canary " * 100, None, None, None]


async def test_without_keys_values_are_shared_all_the_same(store):
    async with connected(store.url) as one, connected(store.url) as two, connected(store.url, KEY) as sealed:
        await one.put("k8", b"value", 30)
        assert await two.get("k8") == b"value"
        assert await sealed.get("k8") is None
        await one._engine.put("k9", b"made up by somebody", 30)
        assert await two.get("k9") is None


async def test_a_message_reaches_every_other_replica_once(store):
    async with (
        connected(store.url, KEY) as one,
        connected(store.url, KEY) as two,
        connected(store.url, OTHER) as odd,
        listening(one) as own,
        listening(two) as messages,
    ):
        odd.publish("it", "of other keys")
        one.publish("another kind")
        one.publish("it", secrets.token_hex(8000))
        one.publish("it", 1, "a", [2])
        async with asyncio.timeout(FAILSAFE_S):
            assert await messages.get() == (1, "a", [2])
            one.publish("it", 2)
            assert await messages.get() == (2,)
        assert own.empty()


async def test_what_a_store_says_that_is_no_message_is_passed_over(store):
    async with connected(store.url, KEY) as one, connected(store.url, KEY) as two, listening(two) as messages:
        for text in ("", "no base 64", "AAAA", b"\xff" if store.url.startswith("redis") else "\xff"):
            await one._engine.publish(text)
        one.publish("it", 1)
        async with asyncio.timeout(FAILSAFE_S):
            assert await messages.get() == (1,)


async def test_a_store_that_is_away_is_refused_at_once_and_used_again_when_it_is_back(store, caplog, monkeypatch):
    """TEAM.md: one warning, and recovery without restart."""
    async with connected(store.url, KEY) as one, connected(store.url, KEY) as two, listening(two) as messages:
        await one.put("k10", b"value", 30)
        asked, get = [], one._engine.get
        monkeypatch.setattr(one._engine, "get", lambda key: asked.append(key) or get(key))
        with caplog.at_level(logging.WARNING):
            store.end(signal.SIGINT)
            with monkeypatch.context() as later:
                later.setattr(shared, "STATE_RETRY_S", FAILSAFE_S)
                for _ in range(20):
                    with pytest.raises(StateUnavailable, match=r"127\.0\.0\.1:\d+/\w+ is not available") as refused:
                        await one.get("k10")
                    assert stores.PASSWORD not in refused.value.message
            assert asked == ["k10"]
            one._retry_at = 0.0
            store.start()
            await back(one)
            await back(two)
            await one.put("k11", b"value", 30)
            assert await two.get("k11") == b"value"
        said = [record.message for record in caplog.records]
        assert stores.PASSWORD not in "".join(said)
        # Each of the two replicas.
        assert sum("is not available" in message for message in said) == 2
        async with asyncio.timeout(FAILSAFE_S):
            while messages.empty():
                one.publish("it", 3)
                await asyncio.sleep(0.05)


async def test_a_store_that_does_not_answer_is_waited_for_only_so_long(store, monkeypatch):
    """What was to be sent meanwhile is sent later: the other replicas may not have noticed anything."""
    async with connected(store.url, KEY) as one, connected(store.url, KEY) as other, listening(other) as messages:
        # One has no connection yet, the other one has several.
        await asyncio.gather(*(other.put("k12", b"value", 30) for _ in range(8)))
        store.pause()
        try:
            with monkeypatch.context() as impatient:
                impatient.setattr(shared, "STATE_ANSWER_S", A_WHILE_S)
                impatient.setattr(shared, "STATE_RETRY_S", 0.0)
                one.publish("it", 1)
                for state in (one, other, other):
                    with pytest.raises(StateUnavailable, match="TimeoutError"):
                        await state.put("k12", b"value", 30)
        finally:
            store.resume()
        await back(one)
        await back(other)
        async with asyncio.timeout(FAILSAFE_S):
            assert await messages.get() == (1,)


async def test_messages_that_wait_for_a_slow_store_are_bounded(store, caplog, monkeypatch):
    monkeypatch.setattr(shared, "MAX_UNSENT_MESSAGES", 3)
    async with connected(store.url, KEY) as one, connected(store.url, KEY) as two, listening(two) as messages:
        for number in range(5):
            one.publish("it", number)
        async with asyncio.timeout(FAILSAFE_S):
            assert [await messages.get() for _ in range(3)] == [(0,), (1,), (2,)]
            one.publish("it", 5)
            assert await messages.get() == (5,)
    assert sum("too slow: messages to other replicas are dropped" in text for text in caplog.messages) == 1


async def test_a_store_that_was_never_there_is_named_without_its_password(store):
    port = stores.free_port()
    url = store.url.replace(str(store.port), str(port))
    async with connected(url, KEY) as one:
        with pytest.raises(StateUnavailable) as refused:
            await one.get("k")
        assert str(port) in refused.value.message
        assert stores.PASSWORD not in refused.value.message + repr(one.url)


async def test_a_wrong_password_is_a_reason(store):
    async with connected(store.url.replace(stores.PASSWORD, "canary-of-another"), KEY) as one:
        with pytest.raises(StateUnavailable, match=r"\((AuthenticationError|InvalidPasswordError)\)"):
            await one.get("k")


async def test_another_password_is_used_from_the_next_connection_on(store):
    """TEAM.md, "Second look", row 5: what is under way goes on, and nothing is started again."""
    async with Redis.from_url(store.url) as admin, connected(store.url, KEY) as one:
        await one.put("k13", b"value", 30)
        await admin.config_set("requirepass", "another")
        try:
            assert await one.get("k13") == b"value"
            await one._engine._client.connection_pool.disconnect()
            with pytest.raises(StateUnavailable, match="AuthenticationError"):
                await one.get("k13")
            one.use(StateUrl.read(store.url.replace(stores.PASSWORD, "another")), [KEY])
            await back(one)
            assert await one.get("k13") == b"value"
        finally:
            await admin.config_set("requirepass", stores.PASSWORD)


async def test_a_redis_that_is_full_keeps_nothing_more_and_is_read_all_the_same(caplog):
    with stores.redis("--maxmemory", "3mb") as store:
        async with connected(store.url, KEY) as one:
            await one.put("small", b"value", 30)
            large = b"".join(number.to_bytes(8) for number in range(2**18))
            for _ in range(2):
                with pytest.raises(StateUnavailable, match="OutOfMemoryError"):
                    await fill(one, large)
                assert await one.get("small") == b"value"
            assert "refuses: OutOfMemoryError" in caplog.text
            assert "is not available" not in caplog.text


async def fill(state, value):
    for number in range(20):
        await state.put(f"large{number}", value, 30)


async def test_requests_are_counted_once_for_all_replicas():
    """Whatever their clocks say: Redis counts by its own."""
    with stores.redis() as store:
        async with connected(store.url, KEY) as one, connected(store.url, KEY) as two:
            waits = [await state.count("ann", 5) for state in (one, two, one, two, one, two, one)]
            assert waits[:5] == [None] * 5
            assert all(59 < wait_s <= 60 for wait_s in waits[5:])
            assert await two.count("ben", 5) is None


async def test_a_result_too_large_to_be_sent_in_time_is_not_kept(store):
    async with connected(store.url, KEY) as one:
        results = SharedStore(one)
        assert await results.put("r1", 30, (b"{}", b"[1]"))
        assert await results.get("r1") == (b"{}", b"[1]")
        assert not await results.put("r2", 30, (b"{}", bytes(MAX_SHARED_RESULT_BYTES)))


@pytest.mark.parametrize("url", ["redis://", "redis://[::1", "redis://h:x", "redis://h/x", "mysql://h", "", "memory"])
def test_a_url_of_no_store_is_refused_without_being_repeated(url):
    with pytest.raises(LouverError) as refused:
        StateUrl.read(url)
    assert refused.value.message == ("expected the URL of Redis or Valkey, as redis://10.0.0.7:6379/0")


@pytest.mark.parametrize("option", ["socket_timeout=canary", "canary=1"])
def test_an_option_that_the_client_does_not_take_is_refused_at_the_start(option):
    with pytest.raises(LouverError, match=r"the state at redis://h/0 has a parameter") as refused:
        SharedState(StateUrl.read(f"redis://h/0?{option}"))
    assert "canary" not in refused.value.message


@pytest.mark.parametrize("url", ["postgres://h/louver", "postgresql://h", "file:state.db"])
def test_a_store_that_there_was_is_told(url):
    with pytest.raises(LouverError, match="state is on Redis or Valkey alone now"):
        StateUrl.read(url)


def test_a_missing_package_is_named_by_its_extra(monkeypatch):
    monkeypatch.delitem(sys.modules, "louver.team.state.redis_engine", raising=False)
    monkeypatch.setitem(sys.modules, "redis", None)
    monkeypatch.delitem(sys.modules, "redis.asyncio", raising=False)
    with pytest.raises(LouverError, match=r"uv sync --inexact --extra redis"):
        SharedState(StateUrl.read("redis://h"))


async def test_a_key_is_taken_though_the_connection_ends_before_the_answer():
    """Ours: the client asks again, found it taken, by itself, and nobody had it until it ended."""
    with stores.redis() as store, anyio.fail_after(FAILSAFE_S):
        broken = []

        async def pass_on(reader, writer):
            behind, to_store = await asyncio.open_connection("127.0.0.1", store.port)
            while said := await reader.read(65536):
                to_store.write(said)
                answer = await behind.read(65536)
                if b"holder" in said and not broken:
                    broken.append(said)
                    break
                writer.write(answer)
            for each in (writer, to_store):
                each.close()

        async with await asyncio.start_server(pass_on, "127.0.0.1") as proxy:
            port = proxy.sockets[0].getsockname()[1]
            engine = RedisEngine(store.url.replace(str(store.port), str(port)))
            assert await engine.take("key", b"holder", 30)
            assert len(broken) == 1
            assert not await engine.take("key", b"another", 30)
            await engine.remove("key", b"holder")
            assert await engine.take("key", b"another", 30)
            await engine.close()


async def test_a_state_that_is_closed_opens_no_connection(store):
    """Ours: what is under way ends before, else its connection is opened again; what comes later is refused."""
    state = SharedState(StateUrl.read(store.url))
    await state.put("key", b"value", 60)
    store.pause()
    under_way = asyncio.create_task(state.get("key"))
    await asyncio.sleep(0)
    closing = asyncio.create_task(state.close())
    await asyncio.sleep(0)
    store.resume()
    await closing
    assert await under_way == b"value"
    with pytest.raises(StateUnavailable, match="closed"):
        await state.get("key")


async def test_a_request_that_is_cancelled_while_it_looks_leaves_that_to_the_next_one():
    """Ours: everything was refused for `STATE_ANSWER_S` more, though the store was back."""
    async with connected("redis://127.0.0.1:9/0") as state:
        with pytest.raises(StateUnavailable, match="ConnectionError"):
            await state.get("key")
        state._retry_at = 0.0
        asked, answers = asyncio.Event(), asyncio.Event()

        async def get(_key):
            asked.set()
            await answers.wait()

        state._engine.get = get
        looking = asyncio.create_task(state.get("key"))
        await asked.wait()
        with pytest.raises(StateUnavailable, match="ConnectionError"):
            await state.get("key")
        looking.cancel()
        with suppress(asyncio.CancelledError):
            await looking
        answers.set()
        assert await state.get("key") is None


async def test_deployments_with_databases_of_one_redis_hear_nothing_of_each_other():
    """Ours: a channel of Redis belongs to no database: replicas without keys, or with the same, heard the others."""
    with stores.redis() as store:
        other = store.url.removesuffix("/0") + "/1"
        async with (
            connected(store.url) as one,
            connected(store.url) as two,
            connected(other) as foreign,
            listening(two) as messages,
        ):
            foreign.publish("it", 1)
            await foreign._sending
            one.publish("it", 2)
            async with asyncio.timeout(FAILSAFE_S):
                assert await messages.get() == (2,)
