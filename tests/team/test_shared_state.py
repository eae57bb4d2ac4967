"""Replicas that share a store: what one of them keeps, ends, hears and counts holds at all."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from types import SimpleNamespace

import httpx2
import pytest

from fixtures import stores
from fixtures.failsafe import FAILSAFE_S, OF_FORKS, until
from fixtures.stores import store as store
from gateway.front.test_endpoint import unanswered
from gateway.front.test_sessions import INITIALIZE, Answers, asks, send, session_of
from gateway.gateways import everything
from gateway.raw import HANDSHAKE, STATELESS, raw
from gateway.served import at, fixture
from louver.gateway.back.fan_out.notifications import CALM_S
from louver.gateway.config.read import as_config
from louver.gateway.front.endpoint import McpEndpoint
from louver.gateway.gateway import Gateway
from louver.steps.request import in_order
from louver.team import replica_news
from team.test_replicas import KEY, spread
from team.test_replicas import start as start

pytestmark = pytest.mark.anyio

SERVERS = {"it": fixture("growing", isolation="shared")}
CHANGED = "notifications/tools/list_changed"
UPDATED = "notifications/resources/updated"
TOUCHED = "file:///touched"
RESULT = "dev.louver/result"


@pytest.fixture(scope="module")
def redis():
    with stores.redis() as store:
        yield store


def urls_of(replicas):
    return [replica.url for replica in replicas]


async def subscribed(urls):
    """Wait until the replicas hear each other: a session that ends at one is gone at the other."""
    async with asyncio.timeout(FAILSAFE_S):
        for url, other in zip(urls, reversed(urls), strict=True):
            while True:
                async with raw(url, HANDSHAKE) as client:
                    headers = client.headers()
                    await client.client.post(other, json=ping(2), headers=headers)
                    await client.end()
                    if await ends(client, other, headers, 0.3):
                        break


async def ends(client, url, headers, seconds=FAILSAFE_S):
    """Whether a session is refused at a replica within a time."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while (await client.client.post(url, json=ping(3), headers=headers)).status_code != 404:
                pass
            return True
    return False


def ping(number):
    return {"jsonrpc": "2.0", "id": number, "method": "ping"}


@pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])
async def test_a_kept_result_is_read_at_every_replica(start, store, era):
    urls = urls_of(start(SERVERS, state=store.url, keepResults=10_000))
    async with spread(urls) if era == HANDSHAKE else raw(urls[0], era) as client:
        result = await client.call("rows")
        uri = result["_meta"][RESULT]["uri"]
        for number in range(4):
            if era == STATELESS:
                client.url = urls[number % 2]
            read = await client.result("resources/read", uri=f"{uri}?page=3")
            assert len(json.loads(read["contents"][0]["text"])["rows"]) == 100
    async with raw(urls[0], HANDSHAKE) as other:
        assert (await other.error("resources/read", uri=uri))["data"]["error"]["code"] == "UNKNOWN_RESULT"


async def test_a_session_that_one_replica_ends_is_refused_by_all(start, store):
    urls = urls_of(start(SERVERS, state=store.url))
    await subscribed(urls)
    async with raw(urls[0], HANDSHAKE) as client:
        headers = client.headers()
        # It is open there too.
        assert (await client.client.post(urls[1], json=ping(1), headers=headers)).status_code == 200
        await client.end()
        assert await ends(client, urls[1], headers)
        [later] = urls_of(start(SERVERS, 1, state=store.url))
        assert (await client.client.post(later, json=ping(1), headers=headers)).status_code == 404


async def test_the_first_requests_of_a_session_at_a_replica_open_it_once(redis):
    """SDK clients open their stream beside `notifications/initialized`: each took a place, and one was given back."""
    louver = {"keys": [KEY], "state": redis.url}
    configured = as_config({"mcpServers": {"it": at("http://127.0.0.1:1/mcp", isolation="shared")}, "louver": louver})
    async with Gateway(configured) as one, Gateway(configured) as other:
        for gateway in (one, other):
            gateway._pipeline.answer = in_order([Answers()], unanswered)
        first, second = McpEndpoint(one), McpEndpoint(other)
        session = session_of(await send(first, INITIALIZE))
        found = await asyncio.gather(*(send(second, asks("ping", number), session=session) for number in range(3)))
        assert [each.status for each in found] == [200] * 3
        await send(second, method="DELETE", session=session)
        assert len(second._sessions._by_peer) == 0


async def test_clients_of_all_replicas_are_notified_once_of_a_changed_list(start, store):
    urls = urls_of(start(SERVERS, state=store.url))
    await subscribed(urls)
    async with (
        raw(urls[0], HANDSHAKE) as caller,
        raw(urls[1], HANDSHAKE) as old,
        raw(urls[1], STATELESS) as new,
    ):
        listening = new.begin(new.request("subscriptions/listen", notifications={"toolsListChanged": True}))
        await new.hears("notifications/subscriptions/acknowledged")
        await old.result("tools/list")
        await caller.call("grow")
        await old.hears(CHANGED)
        await new.hears(CHANGED)
        await old.call("grow")
        await caller.hears(CHANGED, 2)
        await calm(caller, old)
        assert [len(client.heard(CHANGED)) for client in (caller, old, new)] == [2, 2, 2]
        listening.cancel()


async def test_an_update_reaches_the_replica_where_its_client_listens(start, store):
    urls = urls_of(start(SERVERS, state=store.url))
    await subscribed(urls)
    async with raw(urls[0], HANDSHAKE) as client, raw(urls[0], HANDSHAKE) as other:
        await client.call("grow")
        for each in (client, other):
            await each.hears(CHANGED)
        client.url = urls[1]
        await client.result("resources/subscribe", uri=TOUCHED)
        await client.call("touch")
        assert await client.hears(UPDATED) == [{"uri": TOUCHED}]
        await calm(client, other)
        assert (len(client.heard(UPDATED)), len(other.heard(UPDATED))) == (1, 0)


@pytest.mark.parametrize("differ", [True, False])
async def test_replicas_that_differ_for_long_are_logged(store, monkeypatch, caplog, differ):
    """Issue 43: two replicas with different configurations."""
    settled = asyncio.Event()
    monkeypatch.setattr(
        replica_news, "asyncio", SimpleNamespace(create_task=asyncio.create_task, sleep=lambda _: settled.wait())
    )
    louver = {"keys": [KEY], "state": store.url}
    servers = {"mcpServers": {"it": at("http://127.0.0.1:1/mcp")}}
    one, other = (as_config({**servers, "louver": louver | more}) for more in ({}, {"exposure": "minimal"}))
    async with Gateway(one) as first, Gateway(other) as second:
        states = [first._state._news, second._state._news]
        await until(lambda: all(state._comparing is not None for state in states))
        if not differ:
            await second.reconfigure(one)
            await until(lambda: all(state._version_elsewhere == state._version for state in states))
        settled.set()
        await until(lambda: all(state._comparing.done() for state in states))
    assert len([text for text in caplog.messages if "another configuration or policy" in text]) == (2 if differ else 0)


async def test_a_replica_with_an_older_configuration_is_not_ready(start, store, monkeypatch):
    """Issue 59: `generation` says which of two is older, and whoever is replaced last stands alone for no time."""
    for name, seconds in {"CONFIG_SETTLED_S": 0, "GENERATION_S": 0.05}.items():
        monkeypatch.setenv(OF_FORKS.format(name), str(seconds))
    [old], [new] = (start(SERVERS, 1, state=store.url, generation=number) for number in (41, 42))
    ready, newer = (each.url.replace("/mcp", "/readyz") for each in (old, new))
    async with httpx2.AsyncClient(trust_env=False) as http:
        await until_answers(http, ready, 503, "outdated")
        report = await http.get(f"{ready}?verbose")
        assert (report.status_code, report.json()["status"]) == (503, "outdated")
        assert (await http.get(newer)).text == "ok"
        # It serves whoever comes.
        async with raw(old.url, HANDSHAKE) as client:
            assert await client.result("tools/list")
        new.process.kill()
        await until_answers(http, ready, 200, "ok")


async def until_answers(http, url, status, text):
    async with asyncio.timeout(FAILSAFE_S):
        while ((answer := await http.get(url)).status_code, answer.text) != (status, text):
            pass


async def test_a_generation_counts_once_the_rollout_has_had_its_time(redis, monkeypatch):
    now = 1000.0
    monkeypatch.setattr(replica_news, "monotonic", lambda: now)
    louver = {"keys": [KEY], "state": redis.url}
    servers = {"mcpServers": {"it": at("http://127.0.0.1:1/mcp")}}
    older, newer = (as_config({**servers, "louver": louver | more}) for more in ({}, {"generation": 2}))

    async def is_heard():
        await until(lambda: first._state._news._newer_at == now)

    async with Gateway(older) as first, Gateway(newer) as second:
        await first.open()
        await second.open()
        await is_heard()
        now += replica_news.CONFIG_SETTLED_S
        assert not first.is_outdated
        now += 1
        assert not first.is_outdated, "the other replica has not been heard of for long"
        heard = now
        while now <= heard + replica_news.CONFIG_SETTLED_S:
            second._state._news._announce()
            await is_heard()
            now += replica_news.GENERATION_S
        assert (first.is_outdated, second.is_outdated) == (True, False)
        await first.reconfigure(newer)
        assert not first.is_outdated


async def calm(*clients):
    """Until an echo, or a second notification, would have come."""
    over = asyncio.create_task(asyncio.sleep(3 * CALM_S))
    while not over.done():
        for client in clients:
            await client.result("tools/list")


async def test_a_change_that_every_replica_hears_by_itself_is_no_news(start, redis):
    with everything() as url:
        urls = urls_of(start({"it": at(url, isolation="shared")}, state=redis.url))
        await subscribed(urls)
        async with raw(urls[0], STATELESS) as caller, raw(urls[1], STATELESS) as new:
            listening = new.begin(new.request("subscriptions/listen", notifications={"toolsListChanged": True}))
            await new.hears("notifications/subscriptions/acknowledged")
            await caller.call("test_trigger_tool_change")
            await new.hears(CHANGED)
            await calm(caller, new)
            assert len(new.heard(CHANGED)) == 1
            listening.cancel()


async def test_a_request_is_cancelled_at_the_replica_that_answers_it(start, store):
    urls = urls_of(start(SERVERS, state=store.url))
    await subscribed(urls)
    async with raw(urls[0], HANDSHAKE) as client:
        waiting = client.begin(client.request("tools/call", name="wait", arguments={}))
        async with asyncio.timeout(FAILSAFE_S):
            while (await client.call("waiting"))["structuredContent"]["waiting"] != 1:
                pass
            cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}}
            response = await client.client.post(urls[1], json=cancelled, headers=client.headers())
            assert response.status_code == 202
            assert (await waiting)["error"]["message"] == "Request cancelled"
            while (await client.call("waiting"))["structuredContent"]["waiting"] != 0:
                pass


async def test_calls_are_counted_once_for_all_replicas(start, redis):
    """A model reads when it can go on; other tools have their own count."""
    urls = urls_of(start(SERVERS, state=redis.url, toolsPerMinute={"grow": 3}, callsPerMinute=6))
    async with spread(urls) as client:
        answers = [await client.call("grow") for _ in range(5)]
        assert [answer.get("isError", False) for answer in answers] == [False] * 3 + [True] * 2
        error = answers[3]["_meta"]["dev.louver/error"]
        assert (error["code"], error["limit"]) == ("RATE_LIMITED", 3)
        assert error["message"].startswith("a caller may make 3 calls of 'grow' a minute: ask again in ")
        answers = [await client.call("waiting") for _ in range(4)]
        assert [answer.get("isError", False) for answer in answers] == [False] * 3 + [True]


async def commands(store):
    """How many commands a Redis has had that were for a caller, by their names."""
    import redis.asyncio

    async with redis.asyncio.Redis.from_url(store.url) as client:
        found = await client.info("commandstats")
        await client.config_resetstat()
    ours = ("info", "config", "client", "auth", "hello", "select", "ping")
    return {name: each["calls"] for name, each in found.items() if not name.removeprefix("cmdstat_").startswith(ours)}


async def test_a_plain_call_makes_no_round_trip_to_the_store(start, redis):
    """#43: 2026-07-28 none, 2025-11-25 one at most: one for each replica that opens its session."""
    urls = urls_of(start(SERVERS, state=redis.url, keepResults=100_000))
    await subscribed(urls)
    async with raw(urls[0], STATELESS) as new, spread(urls) as old:
        await asyncio.sleep(0.1)
        await commands(redis)
        for number in range(20):
            new.url = urls[number % 2]
            await new.call("waiting")
        assert await commands(redis) == {}
        for _ in range(20):
            await old.call("waiting")
        assert (await commands(redis)).get("cmdstat_get", 0) <= 1
        for _ in range(20):
            await old.call("waiting")
        assert await commands(redis) == {}


async def test_without_its_store_a_replica_answers_plain_calls(start):
    """TEAM.md: what needs the store is refused with that reason; limits are counted here."""
    with stores.redis() as store:
        options = {"keepResults": 10_000, "toolsPerMinute": {"grow": 2}}
        replicas = start(SERVERS, state=store.url, **options)
        urls = urls_of(replicas)
        async with raw(urls[0], STATELESS) as new, spread(urls) as old:
            uri = (await new.call("rows"))["_meta"][RESULT]["uri"]
            store.end()
            for _ in range(5):
                await new.call("waiting")
                await old.call("waiting")
            error = (await new.error("resources/read", uri=uri))["data"]["error"]
            assert error["code"] == "STATE_UNAVAILABLE"
            assert "is not available" in error["message"]
            assert stores.PASSWORD not in error["message"]
            # It has run: the answer is sent, though it is large.
            assert len((await new.call("rows"))["structuredContent"]["rows"]) == 300
            assert [(await new.call("grow")).get("isError", False) for _ in range(3)] == [False, False, True]
            # A session ends here at least, and a new one opens.
            async with raw(urls[1], HANDSHAKE) as client:
                await client.call("waiting")
                headers = client.headers()
                await client.end()
                assert (await client.client.post(urls[1], json=ping(1), headers=headers)).status_code == 404
            store.start()
            async with asyncio.timeout(FAILSAFE_S):
                while RESULT not in (result := await new.call("rows")).get("_meta", {}):
                    pass
            await new.result("resources/read", uri=result["_meta"][RESULT]["uri"] + "?page=1")
        for replica in replicas:
            said = "".join(replica.said)
            assert said.count("is not available") <= 1
            assert stores.PASSWORD not in said
