"""Replicas behind a proxy that picks one by turns: a session of 2025-11-25 works at each of them."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import signal
import threading
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, suppress
from dataclasses import replace
from itertools import count, cycle
from pathlib import Path

import httpx2
import pytest

from fixtures.failsafe import A_WHILE_S, FAILSAFE_S, until
from fixtures.stores import free_port
from gateway.configs import mount
from gateway.front.test_endpoint import Heard, unanswered
from gateway.front.test_sessions import INITIALIZE, Answers, asks, send, session_of
from gateway.raw import HANDSHAKE, STATELESS, Http, raw
from gateway.served import at, config, fixture, serving
from louver.gateway.config.read import as_config
from louver.gateway.front import sessions
from louver.gateway.front.endpoint import McpEndpoint
from louver.gateway.front.exchange import HttpExchange
from louver.gateway.gateway import Gateway
from louver.limits import REPLICA_TAG_S
from louver.steps.request import in_order
from louver.steps.shared_state import StateUrl
from louver.team import replica_client, replicas
from louver.team.replica_client import ReplicaClient
from louver.team.session_seal import SessionSeal

pytestmark = pytest.mark.anyio

KEY = "k" * 32
ANN, BOB = "token-of-ann", "token-of-bob"


class Spread(Http):
    """A client each of whose requests goes to the next replica."""

    def __init__(self, urls, token=None, **options):
        super().__init__(urls[0], HANDSHAKE, **options)
        self._urls = cycle(urls)
        self._token = token

    @property
    def url(self):
        return next(self._urls)

    @url.setter
    def url(self, _):
        pass

    def headers(self, message=None):
        return {
            **super().headers(message),
            **({} if self._token is None else {"authorization": f"Bearer {self._token}"}),
        }


@asynccontextmanager
async def spread(urls, **options):
    client = Spread(urls, **options)
    try:
        await client.open()
        yield client
    finally:
        await client.close()


@pytest.fixture
def start(tmp_path):
    """Starts replicas, each with a configuration of its own."""
    numbers = count()
    with ExitStack() as stack:

        def replicas(servers, number=2, *, addressed=False, **louver):
            found = []
            for _ in range(number):
                folder = tmp_path / str(next(numbers))
                folder.mkdir()
                arguments = ["--http", f"127.0.0.1:{free_port()}"] if addressed else []
                if addressed:
                    louver["replicaUrl"] = f"http://{arguments[1]}/mcp"
                options = config(folder, servers, **{"keys": [KEY], **louver})
                no_auth = "auth" not in louver
                found.append(stack.enter_context(serving(*options, *arguments, no_auth=no_auth)))
            return found

        yield replicas


ROOT = {"uri": "file:///garden"}
ROOTS = {"capabilities": {"roots": {}}, "answers": {"roots/list": {"roots": [ROOT]}}}
SHARED = {"records": fixture("records", isolation="shared")}


async def test_each_replica_serves_a_session(start):
    urls = [replica.url for replica in start(SHARED, 3)]
    async with spread(urls) as client:
        assert client.session.startswith("v1.")
        for _ in range(6):
            assert [tool["name"] for tool in (await client.result("tools/list"))["tools"]]
            assert (await client.result("ping")) == {}


async def test_keys_rotate_by_their_files_under_load(start, tmp_path):
    """TEAM.md, "Second look", row 5: no call fails, sessions of the old key live on, and new ones have the new key."""
    old, new = KEY, "n" * 32
    mount(tmp_path / "secret", first=f"{old}\n", second=f"{new}\n")
    keys = [f"${{file:{tmp_path}/secret/{name}}}" for name in ("first", "second")]
    urls = [replica.url for replica in start(SHARED, keys=keys)]
    calls, is_over = [0] * 4, asyncio.Event()

    async def work(client, number):
        while not is_over.is_set():
            assert not (await client.call("find")).get("isError")
            calls[number] += 1

    async def has_rotated(url):
        async with raw(url, HANDSHAKE) as client:
            return SessionSeal([new]).unseal(client.session) is not None

    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(spread(urls)) for _ in calls]
        unseen = await stack.enter_async_context(raw(urls[0], HANDSHAKE))
        assert not any([await has_rotated(url) for url in urls])
        working = asyncio.gather(*(work(client, number) for number, client in enumerate(clients)))
        await until(lambda: all(calls))
        mount(tmp_path / "secret", first=f"{new}\n", second=f"{old}\n")
        for url in urls:
            await until(lambda url=url: has_rotated(url))
        before = list(calls)
        await until(lambda: all(after > earlier for after, earlier in zip(calls, before, strict=True)))
        is_over.set()
        await working
        # Its session was never open at this replica.
        unseen.url = urls[1]
        await unseen.call("find")


async def test_a_reload_takes_another_password_of_the_state_and_no_other_state():
    gateway, _ = alone(state="redis://:old@127.0.0.1:1/0")
    taken = "redis://:new@127.0.0.1:1/0"
    for text in (taken, "redis://:none@127.0.0.1:2/0"):
        await gateway.reconfigure(replace(gateway.config, state=StateUrl.read(text)))
        assert gateway.config.state.text == taken
        assert gateway.state._engine._login.words == ("new",)
    await gateway.close()


async def test_a_session_that_has_ended_at_a_replica_is_not_opened_there_again(start):
    first, second = start(SHARED)
    async with raw(first.url, HANDSHAKE) as client:
        headers = client.headers()
        # The second has never seen it.
        assert (await client.client.delete(second.url, headers=headers)).status_code == 200
        response = await client.client.post(second.url, json=_ping(1), headers=headers)
        assert response.status_code == 404


async def test_a_session_is_for_its_owner_alone(start, tmp_path):
    tokens = tmp_path / "tokens.json"
    digests = {hashlib.sha256(token.encode()).hexdigest(): {"subject": token} for token in (ANN, BOB)}
    tokens.write_text(json.dumps({"tokens": digests}))
    tokens.chmod(0o600)
    urls = [replica.url for replica in start(SHARED, auth={"tokens": str(tokens)})]
    async with spread(urls, token=ANN) as ann, spread(urls, token=BOB) as bob:
        ann.session, bob.session = bob.session, ann.session
        for client in (ann, bob):
            for _ in urls:
                response = await client.client.post(client.url, json=_ping(1), headers=client.headers())
                assert response.status_code == 404
        ann.session, bob.session = bob.session, ann.session
        for _ in urls:
            await ann.result("ping")


async def test_a_session_of_a_principal_that_is_not_admitted_any_more_opens_nothing(start, tmp_path):
    """Issue 43: a sealed id of a revoked principal."""
    urls = []
    for number, admitted in enumerate(((ANN, BOB), (BOB,))):
        tokens = tmp_path / f"tokens{number}.json"
        digests = {hashlib.sha256(token.encode()).hexdigest(): {"subject": token} for token in admitted}
        tokens.write_text(json.dumps({"tokens": digests}))
        tokens.chmod(0o600)
        urls += [replica.url for replica in start(SHARED, 1, auth={"tokens": str(tokens)})]
    async with spread(urls[:1], token=ANN) as ann:
        for url, token, status in ((urls[0], ANN, 200), (urls[1], ANN, 401), (urls[1], BOB, 404)):
            headers = {**ann.headers(), "authorization": f"Bearer {token}"}
            assert (await ann.client.post(url, json=_ping(1), headers=headers)).status_code == status


@pytest.mark.parametrize("session", ["v1.AAAA", "0" * 32, "v1." + "A" * 4000])
async def test_a_made_up_id_is_no_session(start, session):
    [replica] = start(SHARED, 1)
    async with raw(replica.url, HANDSHAKE) as client:
        client.session, own = session, client.session
        response = await client.client.post(client.url, json=_ping(1), headers=client.headers())
        assert response.status_code == 404
        client.session = own


async def test_events_of_two_replicas_differ(start):
    urls = [replica.url for replica in start(SHARED)]
    async with raw(urls[0], HANDSHAKE) as client:
        seen = []
        for url in urls:
            async with client.client.stream("GET", url, headers=client.headers()) as response:
                seen.append(await anext(line async for line in response.aiter_lines() if line.startswith("id:")))
        # What one has sent, the other does not resume.
        last = seen[0].removeprefix("id:").strip()
        response = await client.client.get(urls[1], headers={**client.headers(), "last-event-id": last})
        assert response.status_code == 400
        assert seen[0] != seen[1]


async def test_a_session_whose_server_keeps_state_is_passed_on_to_its_replica(start):
    replicas = start({"sticky": fixture("replica_state")}, 3, addressed=True)
    urls = [replica.url for replica in replicas]
    async with spread(urls, **ROOTS) as client, spread(urls, **ROOTS) as other:
        for number in range(1, 8):
            result = await client.call("count")
            assert result["structuredContent"] == {"count": number, "roots": [ROOT]}
        assert (await other.call("count"))["structuredContent"]["count"] == 1
        assert (await client.hears("notifications/message"))[0]["data"] == "counted"


async def test_a_session_whose_replica_is_gone_is_lost_in_plain_words(start):
    first, second = start({"sticky": fixture("replica_state")}, 2, addressed=True)
    async with raw(first.url, HANDSHAKE, **ROOTS) as client:
        assert (await client.call("count"))["structuredContent"]["count"] == 1
        first.kill()
        first.ends()
        response = await client.client.post(second.url, json=_ping(1), headers=client.headers())
        assert response.status_code == 404
        assert "keep state for it at a replica that is not reached" in response.text


def _ping(number):
    return {"jsonrpc": "2.0", "id": number, "method": "ping"}


def sockets(pid):
    found = []
    for each in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            found += [each] if str(each.readlink()).startswith("socket") else []
    return found


async def test_what_is_passed_on_to_a_replica_that_hangs_ends_with_its_client(start):
    """Each left a task and a connection, for as long as the replica hung."""
    first, second = start({"sticky": fixture("replica_state")}, addressed=True)
    async with raw(first.url, HANDSHAKE, **ROOTS) as client:
        headers = client.headers()
        before = len(sockets(second.pid))
        os.kill(first.pid, signal.SIGSTOP)
        try:
            for number in range(5):
                async with httpx2.AsyncClient(
                    timeout=httpx2.Timeout(FAILSAFE_S, read=A_WHILE_S), trust_env=False
                ) as leaving:
                    with pytest.raises(httpx2.ReadTimeout):
                        await leaving.post(second.url, json=_ping(number), headers=headers)
            await until(lambda: len(sockets(second.pid)) <= before)
        finally:
            os.kill(first.pid, signal.SIGCONT)


async def test_a_silent_replica_counts_as_not_reached(monkeypatch):
    monkeypatch.setattr(replica_client, "REPLICA_SILENT_S", 0.1)

    async def never():
        await asyncio.Event().wait()

    async def be_silent(reader, writer):
        await reader.read()
        writer.close()

    async with await asyncio.start_server(be_silent, "127.0.0.1", 0) as silent:
        url = f"http://127.0.0.1:{silent.sockets[0].getsockname()[1]}/mcp"
        exchange = HttpExchange({"type": "http", "method": "POST", "headers": []}, never, never, {})
        client = ReplicaClient()
        assert not await client.forward(exchange, url, b"{}")
        await client.close()


async def test_an_answer_and_a_resumption_reach_the_replica_that_waits_for_them(start):
    """Every request to the next replica, though one process behind serves all."""
    servers = {
        name: fixture(of, isolation="shared") for name, of in (("sticky", "replica_state"), ("all", "everything"))
    }
    urls = [each.url for each in start(servers, 3, addressed=True)]
    async with spread(urls, **ROOTS) as client:
        for _ in range(4):
            assert (await client.call("sticky__count"))["structuredContent"]["roots"] == [ROOT]
    async with raw(urls[0], HANDSHAKE) as client:
        params = {"name": "all__test_tool_with_progress", "arguments": {}, "_meta": {"progressToken": "p"}}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        response = await client.client.post(urls[0], json=call, headers=client.headers())
        first, *_, last = (line.removeprefix("id: ") for line in response.text.splitlines() if line.startswith("id: "))
        for url in urls:
            resumed = await client.client.get(url, headers={**client.headers(), "last-event-id": first})
            assert resumed.status_code == 200
            assert f"id: {last}" in resumed.text
        own, foreign = first.partition(":")[0], "v1.AAAA"
        for unknown in (f"{own}:1", f"{foreign}:1", f"{own}:", ":", "v1.:1"):
            refused = await client.client.get(urls[1], headers={**client.headers(), "last-event-id": unknown})
            assert refused.status_code == 400


async def test_an_answer_of_a_2026_client_reaches_the_replica_where_its_call_waits(start):
    """Ours: it was refused by all others, though any replica takes any request."""
    first, second = start({"sticky": fixture("replica_state", isolation="shared")}, addressed=True)
    async with raw(first.url, STATELESS, capabilities={"roots": {}}) as client:
        answers = {"name": "count", "arguments": {}, "inputResponses": {"q1": {"roots": [ROOT]}}}
        asked = await client.call("count")
        client.url = second.url
        result = await client.result("tools/call", requestState=asked["requestState"], **answers)
        assert result["structuredContent"] == {"count": 1, "roots": [ROOT]}
        client.url = first.url
        lost = await client.call("count")
        first.kill()
        client.url = second.url
        error = await client.error("tools/call", requestState=lost["requestState"], **answers)
        assert "is not that of a call which waits for answers" in error["message"]


async def test_a_request_is_never_passed_on_by_the_last_event_of_its_client():
    """Ours: a replica that died of it left it to be run again here."""
    asked = []

    async def die(_reader, writer):
        asked.append(writer)
        writer.transport.abort()

    app = McpEndpoint(alone(replicaUrl="http://127.0.0.1:1/mcp")[0])
    session = session_of(await send(app, INITIALIZE))
    async with await asyncio.start_server(die, "127.0.0.1") as other:
        url = f"http://127.0.0.1:{other.sockets[0].getsockname()[1]}/mcp"
        last = {"last-event-id": f"{SessionSeal([KEY]).seal_url(url)}:1"}
        assert (await send(app, asks("ping", 1), session=session, headers=last)).status == 200
        assert asked == []
        answer = {"jsonrpc": "2.0", "id": last["last-event-id"], "result": {}}
        assert (await send(app, answer, session=session)).status == 202
        assert len(asked) == 1


GROWING = {"it": fixture("growing", isolation="shared")}


async def test_what_a_replica_was_answering_is_lost_with_it_in_plain_words(start):
    first, second = start(GROWING, 2, addressed=True)
    async with raw(first.url, HANDSHAKE) as client:
        call = {"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": {"name": "wait"}}
        async with client.client.stream("POST", first.url, json=call, headers=client.headers()) as response:
            last = await first_event(response)
            first.kill()
        first.ends()
        resumed = await client.client.get(second.url, headers={**client.headers(), "last-event-id": last})
        [data] = [line.removeprefix("data: ") for line in resumed.text.splitlines() if line.startswith("data: ")]
        answer = json.loads(data)
        assert (answer["id"], answer["error"]["code"]) == ("a", -32000)
        assert "its answer is lost" in answer["error"]["message"]


async def test_a_client_that_listens_elsewhere_is_told_that_lists_may_have_changed(start):
    """A list that has changed meanwhile is not missed."""
    first, second, third = start(GROWING, 3, addressed=True)
    async with raw(first.url, HANDSHAKE) as client:
        async with client.client.stream("GET", second.url, headers=client.headers()) as response:
            last = await first_event(response)
            second.kill()
        second.ends()
        headers = {**client.headers(), "last-event-id": last}
        async with client.client.stream("GET", third.url, headers=headers) as response:
            client.begin(client._answer(response, None))
            for each in ("tools", "prompts", "resources"):
                await client.hears(f"notifications/{each}/list_changed")


async def first_event(response):
    async for line in response.aiter_lines():
        if line.startswith("id: "):
            return line.removeprefix("id: ")
    raise AssertionError("no event has come")


def alone(**louver):
    """A replica in this process, which answers by itself."""
    servers = {"it": at("http://127.0.0.1:1/mcp", isolation="shared")}
    gateway = Gateway(as_config({"mcpServers": servers, "louver": {"keys": [KEY], **louver}}))
    answers = Answers()
    gateway._pipeline.answer = in_order([answers], unanswered)
    return gateway, answers


async def test_keys_are_ready_before_the_first_session(monkeypatch):
    """The SDK with cryptography was imported while a client waited for its session, up to a second."""
    made = []
    monkeypatch.setattr(replicas, "SessionSeal", made.append)
    McpEndpoint(alone()[0])
    assert made == [(KEY,)]


async def test_the_first_keys_that_a_reload_brings_are_ready_before_the_next_request(monkeypatch):
    """They were imported in the event loop, while all clients waited."""
    made = []
    monkeypatch.setattr(replicas, "SessionSeal", lambda keys: made.append((keys, threading.current_thread())))
    async with alone(keys=[])[0] as gateway:
        await gateway.reconfigure(replace(gateway.config, keys=(KEY,)))
        ((keys, thread),) = made
    assert keys == (KEY,)
    assert thread is not threading.current_thread()


@pytest.mark.whole
@pytest.mark.parametrize("by", ["keys", "time"])
async def test_a_stream_is_resumed_though_the_tag_of_the_replica_has_changed(monkeypatch, by):
    """It does with its keys and in time: the replica took its own stream for one of a replica that had ended."""
    monkeypatch.setattr(replicas, "time", lambda: 0)
    gateway, answers = alone(replicaUrl="http://127.0.0.1:1/mcp")
    app = McpEndpoint(gateway)
    session = session_of(await send(app, INITIALIZE))
    stream = Heard()
    waiting = asyncio.create_task(send(app, asks("tools/call", 5, name="waits"), session=session, heard=stream))
    await answers.begun.wait()
    last = stream.body.decode().partition("id: ")[2].partition("\r\n")[0]
    before = app._sessions._replicas.tag
    if by == "keys":
        monkeypatch.setattr(gateway, "_config", replace(gateway.config, keys=("n" * 32, KEY)))
    else:
        monkeypatch.setattr(replicas, "time", lambda: REPLICA_TAG_S)
    assert app._sessions._replicas.tag != before
    resumed = Heard()
    resuming = asyncio.create_task(
        send(app, method="GET", session=session, headers={"last-event-id": last}, heard=resumed)
    )
    await resumed.began.wait()
    answers.go_on.set()
    await asyncio.gather(waiting, resuming)
    assert b'"name":"waits"' in resumed.body


async def test_what_comes_while_a_session_closes_does_not_open_it_again(monkeypatch):
    """It did where the shared state was away, and the session went on after its client had ended it."""
    app = McpEndpoint(alone()[0])
    session = session_of(await send(app, INITIALIZE))
    close, found = sessions.HttpSession.close, []

    async def closing(closed):
        found.append((await send(app, asks("ping"), session=session)).sent[0]["status"])
        await close(closed)

    monkeypatch.setattr(sessions.HttpSession, "close", closing)
    assert (await send(app, method="DELETE", session=session)).sent[0]["status"] == 200
    found.append((await send(app, asks("ping"), session=session)).sent[0]["status"])
    assert found == [404, 404]
    await app.close()


async def test_updates_that_wait_for_a_client_are_bounded(monkeypatch):
    """Each was a task for as long as the client did not read."""
    monkeypatch.setattr(sessions, "MAX_UNDELIVERED", 3)
    gateway, _ = alone()
    app = McpEndpoint(gateway)
    session = session_of(await send(app, INITIALIZE))
    listening, unread, go_on = asyncio.create_task(send(app, method="GET", session=session)), [], asyncio.Event()
    open_session = app._sessions._sessions[session]
    await until(lambda: None in open_session._streams)

    async def write(part):
        unread.append(part)
        await go_on.wait()

    monkeypatch.setattr(open_session._streams[None], "write", write)
    for _ in range(5):
        app._sessions.update_elsewhere(open_session.digest, "{}")
    await until(lambda: len(unread) == 3)
    go_on.set()
    await until(lambda: not len(app._sessions._undelivered))
    app._sessions.update_elsewhere(open_session.digest, "{}")
    await until(lambda: len(unread) == 4)
    await app.close()
    await listening
