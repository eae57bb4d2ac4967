"""The sessions with one upstream."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest
from mcp_types import METHOD_NOT_FOUND

from fixtures.failsafe import FAILSAFE_S, until
from gateway.links import begun, fails, turns
from gateway.raw import HANDSHAKE, STATELESS
from louver.concurrency import backoff
from louver.errors import UpstreamTimeout, UpstreamUnavailable
from louver.gateway.back import negotiation
from louver.gateway.back import session as session_module
from louver.gateway.back import upstream as module
from louver.gateway.back.availability import AvailabilityListeners
from louver.gateway.back.fan_out.subscriptions import Subscriptions
from louver.gateway.back.policy_guard import Guard
from louver.gateway.back.transports.transport import RefusesAllRequests
from louver.gateway.back.upstream import Upstream, UpstreamSettings
from louver.gateway.clients.client import GatewayCaller, GatewayClient
from louver.gateway.clients.revisions import GATEWAY_IDENTITY, ClientIdentity
from louver.gateway.routing.dispatch import watching
from louver.policy.policy import Policy
from louver.steps.policy.enforcer import PolicyEnforcer
from louver.wire.jsonrpc.errors import JsonRpcError

pytestmark = pytest.mark.anyio


class Telling:
    """A link to a server of 2026-07-28 that tells of changes. What it is asked to tell of is kept."""

    wants_headers = False

    def __init__(self):
        self.listened = []

    async def open(self):
        pass

    def set_version(self, version):
        pass

    async def call(self, call):
        if call.method == "subscriptions/listen":
            self.listened.append(call.params["notifications"].get("resourceSubscriptions", []))
            await asyncio.Event().wait()
        changing = {"tools": {"listChanged": True}, "resources": {"subscribe": True}}
        return {"supportedVersions": [STATELESS], "capabilities": changing}

    async def close(self):
        pass


class Silent:
    """A link to a server that does not answer."""

    async def open(self):
        await asyncio.Event().wait()

    async def close(self):
        pass


class Living:
    """A link to a server of 2025-11-25 that has nothing to say. What it is asked is kept."""

    wants_headers = False

    def __init__(self):
        self.asked = []
        self.held = asyncio.Event()
        self.held.set()

    async def open(self):
        pass

    def set_version(self, version):
        pass

    async def call(self, call):
        self.asked.append((call.method, call.params))
        if call.method.startswith("resources/"):
            await self.held.wait()
        return {"protocolVersion": HANDSHAKE, "capabilities": {}, "serverInfo": {"name": "it", "version": "1"}}

    async def notify(self, method, params):
        pass

    async def listen(self):
        pass

    async def close(self):
        pass


class OverHttp(Living):
    """One over HTTP, which begins sessions or not."""

    is_stateful = False


class Asking(Living):
    """One that asks the client before it answers what it is asked of logs or resources."""

    async def call(self, call):
        result = await super().call(call)
        if call.method.startswith(("logging/", "resources/")):
            await call.on_request("roots/list", None)
        return result


class Thinking(GatewayCaller):
    """A client that is asked, and takes its time: the deadline of its request stands still."""

    async def ask(self, method, params):
        await asyncio.Event().wait()


def terms(link, *, isolated=True, guard=None, timeout_s=FAILSAFE_S):
    return UpstreamSettings(
        lambda listener: link(), timeout_s=timeout_s, isolated=isolated, per_revision=False, guard=guard
    )


def upstream(link, *, single_client=False, **how):
    """An upstream, with a session for each client if nothing else is said."""

    async def told(method, params):
        pass

    return Upstream(
        "it",
        terms(link, **how),
        shared_identity=GATEWAY_IDENTITY,
        single_client=single_client,
        publish=told,
        availability_listeners=AvailabilityListeners(told),
    )


async def end(made):
    made.close()
    await made.wait_closed()


def client(era=HANDSHAKE, name="a client", peer=None):
    return GatewayClient(era, ClientIdentity(era, {"name": name}, {}), peer=peer)


def rooms(monkeypatch, made=2):
    """Have an upstream take so many sessions, and any that is not used make room."""
    monkeypatch.setattr(module, "MAX_SESSIONS", made)
    monkeypatch.setattr(module, "UNUSED_S", 0.0)


async def test_who_has_not_used_a_session_for_longest_makes_room_for_another(monkeypatch):
    """Ours: clients that crash say no goodbye, and would shut out all others."""
    rooms(monkeypatch)
    made = upstream(Living)
    ann, bob, eve = client(name="ann"), client(name="bob"), client(name="eve")
    first, second = await made.session(ann), await made.session(bob)
    await first.call(GatewayCaller(ann), "tools/call", {"name": "t"})
    assert await made.session(eve)
    assert await made.session(ann) is first
    # Who comes again gets another one, for which somebody else makes room.
    assert await made.session(bob) is not second
    await end(made)


async def test_a_session_that_is_in_use_makes_no_room(monkeypatch):
    """Ours: neither one with an open call, nor one over which a resource is watched."""
    rooms(monkeypatch)
    made = upstream(Living)
    ann, bob = client(name="ann"), client(name="bob")
    first, second = await made.session(ann), await made.session(bob)
    await second.subscriptions.watch(GatewayCaller(bob), {"uri": "test://a"})
    first._transport.held.clear()
    reading = await begun(first.call(GatewayCaller(ann), "resources/read", {"uri": "test://a"}))
    with pytest.raises(UpstreamUnavailable, match="has 2 sessions already"):
        await made.session(client(name="eve"))
    first._transport.held.set()
    await reading
    assert await made.session(client(name="eve"))
    await end(made)


async def test_a_session_that_was_used_lately_makes_no_room(monkeypatch):
    """Ours: its client may think meanwhile."""
    rooms(monkeypatch)
    monkeypatch.setattr(module, "UNUSED_S", 3600.0)
    made = upstream(Living)
    for name in ("ann", "bob"):
        await made.session(client(name=name))
    with pytest.raises(UpstreamUnavailable, match="has 2 sessions already"):
        await made.session(client(name="eve"))
    await end(made)


async def test_one_client_has_so_many_sessions_with_an_upstream(monkeypatch):
    """Ours: `MAX_PEER_UPSTREAM_SESSIONS`, each a process; 199 `initialize`s of one left nothing for the others."""
    monkeypatch.setattr(module, "MAX_PEER_UPSTREAM_SESSIONS", 2)
    made = upstream(Living)
    many = [client(peer="ann") for _ in range(3)]
    for each in many[:2]:
        await made.session(each)
    with pytest.raises(UpstreamUnavailable, match="one client has at most 2 sessions with upstream 'it'"):
        await made.session(many[2])
    assert await made.session(client(peer="bob"))
    await made.remove_client(many[0])
    assert await made.session(many[2])
    monkeypatch.setattr(module, "UNUSED_S", 0.0)
    assert await made.session(client(peer="ann"))
    assert sum(made.open_session(each) is not None for each in many) == 1
    await end(made)


async def test_who_has_no_room_is_tried_again_once_there_is_some(monkeypatch):
    """Ours: all of the hundreds that a client may have were tried in one turn of the loop, each by a look at all."""
    monkeypatch.setattr(module, "MAX_PEER_UPSTREAM_SESSIONS", 1)
    made = upstream(Living)
    made._availability_listeners.is_enabled = True
    first, *others = (client(peer="ann") for _ in range(3))
    await made.session(first)
    for each in others:
        with pytest.raises(UpstreamUnavailable, match="one client has at most 1"):
            await made.session(each)
        made.notify_when_available(each)
    assert made._waiting_clients() == []
    await made.remove_client(first)
    await until(lambda: any(made.open_session(each) is not None for each in others))
    await end(made)


async def test_a_session_counts_until_its_process_has_ended(monkeypatch):
    """Ours: else to open and to leave at once would start any number."""
    monkeypatch.setattr(module, "MAX_PEER_UPSTREAM_SESSIONS", 1)
    ends = asyncio.Event()

    class Slow(Living):
        async def close(self):
            await ends.wait()
            await super().close()

    made = upstream(Slow)
    first = client(peer="ann")
    await made.session(first)
    leaving = asyncio.create_task(made.remove_client(first))
    await asyncio.sleep(0)
    with pytest.raises(UpstreamUnavailable, match="one client has at most 1"):
        await made.session(client(peer="ann"))
    ends.set()
    await leaving
    assert await made.session(client(peer="ann"))
    await end(made)


class Mute(Living):
    """One that takes everything, and answers nothing."""

    async def call(self, call):
        await asyncio.Event().wait()


@pytest.mark.parametrize(("least_s", "timeout_s", "waited_s"), [(0.01, 0.02, 0.02), (0.02, 0.01, 0.02)])
async def test_a_server_may_take_as_long_to_open_as_to_answer(monkeypatch, least_s, timeout_s, waited_s):
    """Ours: one that is downloaded first may need more than the least, and says nothing meanwhile."""
    monkeypatch.setattr(session_module, "OPENING_TIMEOUT_S", least_s)
    made = upstream(Mute, timeout_s=timeout_s)
    with pytest.raises(UpstreamUnavailable, match=f"'initialize' within {waited_s} s"):
        await made.session(client())
    await end(made)


async def test_a_server_that_ignores_what_comes_before_its_handshake_is_opened_by_that(monkeypatch):
    """MCP 2025-11-25: it need not answer a request before `initialize`."""
    monkeypatch.setattr(negotiation, "DISCOVER_TIMEOUT_S", 0.0)

    class Ignoring(Living):
        async def call(self, call):
            answer = await super().call(call)
            return answer if call.method == "initialize" else await asyncio.Event().wait()

    made = upstream(lambda: link)
    link = Ignoring()
    await made.session(client(STATELESS))
    assert [method for method, _ in link.asked] == ["server/discover", "initialize"]
    await end(made)


async def test_an_opening_that_never_began_does_not_count(monkeypatch):
    """Ours: its client has gone before its first step."""
    monkeypatch.setattr(module, "MAX_SESSIONS", 1)
    made = upstream(Silent)
    gone = client()
    asking = asyncio.create_task(made.session(gone))
    await asyncio.sleep(0)
    await made.remove_client(gone)
    with pytest.raises(UpstreamUnavailable, match="has been closed"):
        await asking
    another = asyncio.create_task(made.session(client()))
    await asyncio.wait([another], timeout=0)
    assert not another.done()
    await end(made)
    with pytest.raises(UpstreamUnavailable):
        await another


async def test_sessions_that_are_opening_count_among_those_that_there_are(monkeypatch):
    """GATEWAY.md: capped, also where all clients come at once."""
    monkeypatch.setattr(module, "MAX_SESSIONS", 2)
    opened, all_asked = [], asyncio.Event()

    class Asked(Silent):
        async def open(self):
            opened.append(self)
            await all_asked.wait()
            raise UpstreamUnavailable("it is silent")

    made = upstream(Asked)
    asking = [asyncio.create_task(made.session(client())) for _ in range(5)]
    refused = await asyncio.gather(*asking[2:], return_exceptions=True)
    assert [str(error) for error in refused] == ["upstream 'it' has 2 sessions already"] * 3
    all_asked.set()
    await asyncio.gather(*asking, return_exceptions=True)
    assert len(opened) == 2


async def test_what_opens_and_what_is_open_end_side_by_side():
    """Ours: one after the other would take longer than 10 s."""
    ended = asyncio.Event()

    class Lives(Living):
        async def close(self):
            ended.set()

    class Opens(Silent):
        async def close(self):
            await ended.wait()

    links = [Lives(), Opens()]
    made = upstream(lambda: links.pop(0))
    await made.session(client())
    asking = asyncio.create_task(made.session(client()))
    await turns()
    async with asyncio.timeout(FAILSAFE_S):
        await end(made)
    with pytest.raises(UpstreamUnavailable):
        await asking


async def test_who_waits_while_the_terms_change_is_served_by_the_new_ones():
    """Ours: whoever opens the gateway, or begins to listen, at that moment too."""
    made = upstream(Silent)
    asking = asyncio.create_task(made.session(client()))
    await turns()
    made.reconfigure(terms(Living))
    assert (await asking).negotiation.name == "it"
    await end(made)


async def sessions_of(made, clients):
    return [await made.session(each) for each in clients]


def over_http(link):
    """An upstream at a URL, of which the configuration does not say whether clients share it."""
    made = upstream(link)
    made.reconfigure(replace(terms(link), per_revision=True, shared_if_stateless=True))
    return made


async def test_a_server_that_keeps_nothing_is_shared_by_all_but_the_first_client(monkeypatch):
    """Ours: 201 clients of 2025-11-25 were one too many. A server that begins sessions is not shared."""
    for is_stateful, different in ((False, 2), (True, 3)):
        monkeypatch.setattr(OverHttp, "is_stateful", is_stateful)
        made, clients = over_http(OverHttp), [client() for _ in range(3)]
        found = await sessions_of(made, clients)
        assert len({*found}) == different
        assert await sessions_of(made, clients) == found
        assert made.is_isolated is is_stateful
        await end(made)


async def test_a_server_that_begins_to_keep_state_is_shared_no_more(monkeypatch):
    """Ours: after another start of it, say. Nobody gets another's state, and what was subscribed stays so."""
    monkeypatch.setattr(session_module, "STAYED_S", 0)
    made, clients = over_http(OverHttp), [client() for _ in range(3)]
    _, shared, _ = await sessions_of(made, clients)
    made.store_level(clients[1], "error")
    monkeypatch.setattr(OverHttp, "is_stateful", True)
    shared.on_closed("it has ended")
    found = await sessions_of(made, clients)
    assert len({shared, *found}) == 4
    assert made.is_isolated
    assert made._slots[clients[1]].subscribers.levels == {clients[1]: "error"}
    await end(made)


async def test_who_leaves_while_the_terms_change_is_served_no_more():
    """Ours: it can be asked nothing, and wants nothing."""
    left = asyncio.Event()

    class Slow(Living):
        async def close(self):
            await left.wait()

    made, gone = upstream(Slow), client()
    session = await made.session(gone)
    await session.subscriptions.watch(GatewayCaller(gone), {"uri": "test://a"})
    leaving = asyncio.create_task(made.remove_client(gone))
    await turns()
    made.reconfigure(terms(Living, isolated=False))
    assert made.clients == set()
    assert not made.is_watched(gone, "test://a")
    left.set()
    await leaving


async def test_one_that_serves_one_client_is_opened_as_that_client_after_a_change_too():
    """GATEWAY.md, "Sharing and eras": also where the gateway is the first to need it."""
    link = Living()
    made = upstream(Living, single_client=True, isolated=False)
    await made.session(client())
    made.reconfigure(terms(lambda: link, isolated=False))
    await made.session()
    assert link.asked[0][1]["clientInfo"] == {"name": "a client"}
    await end(made)


async def test_who_watches_no_more_before_that_is_asked_again_can_watch_again():
    """Ours: a stream ends while a new session takes up what was wanted."""
    link, watching = Living(), client(STATELESS)
    made = upstream(Living)
    await (await made.session(watching)).subscriptions.watch(GatewayCaller(watching), {"uri": "test://a"})
    made.reconfigure(terms(lambda: link))
    link.held.clear()
    session = await made.session(watching)
    await turns()
    unwatching = asyncio.create_task(made.remove_client(watching))
    await turns()
    link.held.set()
    await unwatching
    await turns()
    await session.subscriptions.watch(GatewayCaller(watching), {"uri": "test://a"})
    asked = [method for method, _ in link.asked if method.startswith("resources/")]
    assert asked == ["resources/subscribe", "resources/unsubscribe", "resources/subscribe"]
    await end(made)


async def test_many_resources_are_watched_at_once():
    """GATEWAY.md: the event loop never stalls over 250 ms. The stream is opened anew once for all, not for each."""
    link, listening = Telling(), GatewayCaller(client(STATELESS))
    made = upstream(lambda: link)
    await made.session(listening.client)
    await turns()
    uris = [f"file:///{number:05}" for number in range(10_000)]
    async with watching(listening, dict.fromkeys(uris, made)):
        await turns()
    await turns()
    assert link.listened == [[], uris, []]
    await end(made)


async def test_a_stream_goes_on_where_others_watch_the_same():
    """Ours: what changes while it is opened anew would be told to nobody."""
    link, first, second = Telling(), GatewayCaller(client(STATELESS)), GatewayCaller(client(STATELESS))
    made = upstream(lambda: link)
    async with watching(first, {"test://a": made}):
        await turns()
        before = list(link.listened)
        async with watching(second, {"test://a": made}):
            await turns()
        await turns()
        assert link.listened == before
    await end(made)


async def test_who_goes_while_resources_are_being_watched_watches_none():
    """Ours: nothing grows with those who have gone; what a server was asked for is taken back."""
    reached = asyncio.Event()

    class Slow(Living):
        async def call(self, call):
            if call.method == "resources/subscribe" and call.params["uri"] == "test://b":
                reached.set()
                await asyncio.Event().wait()
            return await super().call(call)

    link, gone = Slow(), client(STATELESS)
    made = upstream(lambda: link)

    async def listen():
        async with watching(GatewayCaller(gone), dict.fromkeys(["test://a", "test://b"], made)):
            pass

    listening = asyncio.create_task(listen())
    await reached.wait()
    assert made.is_watched(gone, "test://a")
    listening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await listening
    assert not made.is_watched(gone, "test://a")
    assert link.asked[-1] == ("resources/unsubscribe", {"uri": "test://a"})
    await end(made)


def subscribed(link):
    """What a server has been told to tell of, and not to tell of any more."""
    uris = set()
    for method, params in link.asked:
        if method == "resources/subscribe":
            uris.add(params["uri"])
        elif method == "resources/unsubscribe":
            uris.discard(params["uri"])
    return uris


def refusing(error):
    """Makes links to a server that answers the client `unwelcome` with an error; and a list of those that were made."""
    links = []

    class Refuses(Living):
        def __init__(self):
            super().__init__()
            links.append(self)

        async def call(self, call):
            if "unwelcome" in json.dumps(call.params):
                raise error
            return await super().call(call)

    return Refuses, links


async def test_who_is_refused_waits_also_where_it_comes_as_another_client(monkeypatch):
    """Ours: each that opens a connection anew would else begin a process at once. Others are served."""
    monkeypatch.setattr(backoff, "MAX_REFUSED", 2)
    link, links = refusing(JsonRpcError(code=-32602, message="no"))
    made = upstream(link)

    async def tries(name):
        trying = client(name=name)
        error = await fails(made.session(trying), UpstreamUnavailable)
        await made.remove_client(trying)
        return str(error)

    said = "it refuses this client, with error -32602"
    assert await tries("unwelcome") == f"upstream 'it' is not there: {said}"
    assert f"({said}); it is tried again in" in await tries("unwelcome")
    assert len(links) == 1
    await made.session(client())
    assert made.problem is None
    # Only so many are known, and none once there are other terms.
    for name in ("unwelcome 1", "unwelcome 2", "unwelcome"):
        assert "is not there: it refuses" in await tries(name)
    made.reconfigure(terms(link))
    assert "is not there: it refuses" in await tries("unwelcome")
    await end(made)


async def test_an_error_that_is_of_nobody_s_request_is_a_failure_of_the_server():
    """Ours: with credentials that have expired each client would else ask for itself."""
    link, links = refusing(RefusesAllRequests(JsonRpcError(code=-32000, message="no"), "it is busy: HTTP 429"))
    made = upstream(link)
    await fails(made.session(client(name="unwelcome")), UpstreamUnavailable)
    assert made.problem == "it is busy: HTTP 429"
    assert "(it is busy: HTTP 429); it is tried again in" in str(
        await fails(made.session(client()), UpstreamUnavailable)
    )
    assert len(links) == 1
    await end(made)


async def shared(link, number=2, **how):
    """An upstream whose session clients share, that session, and for whom each of them asks."""
    made = upstream(lambda: link, isolated=False, **how)
    turns_of = [GatewayCaller(client()) for _ in range(number)]
    for turn in turns_of:
        session = await made.session(turn.client)
    return made, session.subscriptions, turns_of


async def test_who_watches_what_another_gives_up_by_leaving_is_told():
    """GATEWAY.md, "Sharing and eras"; ours: also while the server is still to answer the first."""
    link, uris = Living(), ["test://a", "test://b"]
    made, subscriptions, (first, second) = await shared(link)
    for uri in uris:
        await subscriptions.watch(first, {"uri": uri})
    link.held.clear()
    leaving = asyncio.create_task(made.remove_client(first.client))
    await turns()
    watching = [asyncio.create_task(subscriptions.watch(second, {"uri": uri})) for uri in uris]
    await turns()
    link.held.set()
    await asyncio.gather(leaving, *watching)
    assert subscribed(link) == set(uris)
    await end(made)


async def test_who_watches_what_another_gives_up_at_once_is_told():
    """Likewise, while the server is still to answer the second."""

    class Slow(Living):
        def __init__(self):
            super().__init__()
            self.answers_again = asyncio.Event()

        async def call(self, call):
            is_again = call.method == "resources/subscribe" and subscribed(self)
            result = await super().call(call)
            if is_again:
                await self.answers_again.wait()
            return result

    link, params = Slow(), {"uri": "test://a"}
    made, subscriptions, (first, second) = await shared(link)
    link.held.clear()
    watching = [asyncio.create_task(subscriptions.watch(each, params)) for each in (first, second)]
    await turns()
    link.held.set()
    await turns()
    await subscriptions.unwatch(first, params)
    link.answers_again.set()
    await asyncio.gather(*watching)
    assert subscribed(link) == {"test://a"}
    await subscriptions.unwatch(second, params)
    assert subscribed(link) == set()
    await end(made)


async def test_who_is_refused_watches_nothing_and_whoever_waits_asks_for_itself():
    """Ours: a refusal is of one client's request."""

    class Refuses(Living):
        async def call(self, call):
            result = await super().call(call)
            if call.method == "resources/subscribe":
                raise JsonRpcError(code=METHOD_NOT_FOUND, message="no")
            return result

    link, params = Refuses(), {"uri": "test://a"}
    made, subscriptions, both = await shared(link)
    link.held.clear()
    watching = [asyncio.create_task(subscriptions.watch(each, params)) for each in both]
    await turns()
    link.held.set()
    for refused in watching:
        with pytest.raises(JsonRpcError):
            await refused
    assert [method for method, _ in link.asked].count("resources/subscribe") == 2
    assert not any(made.is_watched(each.client, "test://a") for each in both)
    await end(made)


WANTED = [
    pytest.param(Subscriptions.set_level, {"level": "debug"}, id="logging/setLevel"),
    pytest.param(Subscriptions.watch, {"uri": "test://a"}, id="resources/subscribe"),
    pytest.param(Subscriptions.unwatch, {"uri": "test://a"}, id="resources/unsubscribe"),
]


@pytest.mark.parametrize(("want", "params"), WANTED)
async def test_who_waits_for_the_answer_to_another_waits_no_longer_than_for_its_own(want, params):
    """Ours: the other may be asked something because of it, and be a person."""
    made, subscriptions, (first, second) = await shared(Asking(), timeout_s=0.05)
    held = await begun(want(subscriptions, Thinking(first.client), params))
    await turns()
    error = await fails(want(subscriptions, second, params), UpstreamTimeout)
    assert "others who ask it for the same" in str(error)
    async with asyncio.timeout(FAILSAFE_S):
        await made.remove_client(second.client)
    assert not held.done()
    held.cancel()
    await end(made)


@pytest.mark.parametrize(("want", "params"), WANTED)
async def test_who_has_gone_while_it_waited_for_the_answer_to_another_asks_for_nothing(want, params):
    """Ours: nobody would take that back."""
    made, subscriptions, (first, second) = await shared(link := Asking())
    held = await begun(want(subscriptions, Thinking(first.client), params))
    await turns()
    asking = await begun(want(subscriptions, second, params))
    second.client.close()
    leaving = await begun(made.remove_client(second.client))
    before = list(link.asked)
    held.cancel()
    with pytest.raises(UpstreamUnavailable, match="connected again meanwhile"):
        await asking
    await leaving
    assert link.asked == before
    assert second.client not in made._slots[None].subscribers.all_clients
    await end(made)


async def test_what_is_logged_in_the_stream_of_a_call_is_heard_from_the_default_on():
    """Ours: over HTTP too a client that has asked for no level does not hear what others ask for."""

    class Logs(Living):
        async def call(self, call):
            if call.method == "tools/call":
                for level in ("debug", "info"):
                    await call.on_notification("notifications/message", {"level": level, "data": "logged"})
            return await super().call(call)

    class Hears(GatewayCaller):
        async def notify(self, method, params):
            heard.append(params["level"])

    made, subscriptions, (first, second) = await shared(Logs())
    session = await made.session(second.client)
    for wanted in (["debug", "info"], ["info"]):
        heard = []
        await session.call(Hears(second.client), "tools/call", {"name": "t"})
        assert heard == wanted
        await subscriptions.set_level(first, {"level": "debug"})
    await end(made)


async def test_who_leaves_waits_for_no_server_that_another_has_for_itself():
    """GATEWAY.md: whoever hangs keeps nobody else out."""
    made = upstream(Asking)
    first, second = Thinking(client()), GatewayCaller(client())
    session = await made.session(first.client)
    await made.session(second.client)
    held = await begun(session.subscriptions.set_level(first, {"level": "debug"}))
    await turns()
    leaving = await begun(made.remove_client(second.client))
    await turns()
    assert leaving.done()
    held.cancel()
    await end(made)


async def test_who_leaves_while_it_is_waited_for_again_is_served_no_more():
    """Ours: though the terms change meanwhile."""
    made, gone = upstream(Living), client()
    await (await made.session(gone)).subscriptions.watch(GatewayCaller(gone), {"uri": "test://a"})
    made.reconfigure(terms(Silent, isolated=False))
    resuming = asyncio.create_task(made.resume())
    await turns()
    await made.remove_client(gone)
    made.reconfigure(terms(Living, isolated=False))
    await resuming
    assert made.clients == set()
    await end(made)


async def opened_just_before(made, then):
    """The session that whoever waits gets where something happens before it goes on."""
    asking = asyncio.create_task(made.session(client()))
    await asyncio.sleep(0)
    (opening,) = [slot.opening for slot in made._slots.values()]
    opening.task.add_done_callback(lambda _: then())
    return await asking


async def test_a_session_that_opens_just_before_the_terms_change_is_not_used():
    """Ours: what is asked of it would be lost."""
    made = upstream(Living)
    session = await opened_just_before(made, lambda: made.reconfigure(terms(Living)))
    assert session in made._sessions
    await end(made)


async def test_a_session_that_opens_just_before_the_end_is_not_used():
    """Ours: it has ended."""
    made = upstream(Living)
    with pytest.raises(UpstreamUnavailable, match="has been closed"):
        await opened_just_before(made, made.close)
    await made.wait_closed()


async def test_what_servers_of_before_say_of_their_tools_does_not_count():
    """GATEWAY.md: a call is sent again only where the server says that it does no harm."""

    class Lists(Living):
        async def call(self, call):
            if call.method != "tools/list":
                return await super().call(call)
            await held.wait()
            safe = {"name": "t", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
            return {"tools": [safe]}

    held, made = asyncio.Event(), upstream(Lists)
    session = await made.session(client())
    listing = asyncio.create_task(session.tools())
    await turns()
    made.reconfigure(terms(Living))
    held.set()
    await listing
    assert not made.is_retryable("tools/call", {"name": "t"})
    await end(made)


async def test_an_opening_that_fails_has_its_time_to_end_the_link():
    """Ours: also where it is given up meanwhile."""
    ended, closing = asyncio.Event(), asyncio.Event()

    class Refuses(Silent):
        async def open(self):
            raise UpstreamUnavailable("no")

        async def close(self):
            closing.set()
            await turns()
            ended.set()

    made = upstream(Refuses)
    asking = asyncio.create_task(made.session(client()))
    await closing.wait()
    await end(made)
    assert ended.is_set()
    with pytest.raises(UpstreamUnavailable):
        await asking


async def test_what_a_policy_does_not_let_through_is_not_asked_for_again(tmp_path):
    """PRIVACY.md: a server under a policy is asked for what that covers, also after a change."""
    link, watching = Living(), client()
    made = upstream(Living)
    subscriptions = (await made.session(watching)).subscriptions
    for uri in ("test://a", "test://b"):
        await subscriptions.watch(GatewayCaller(watching), {"uri": uri})
    await subscriptions.set_level(GatewayCaller(watching), {"level": "debug"})
    rules = {"*": {"rules": [{"name": "all", "deny": ["**.ssn"]}]}}
    (tmp_path / "it.policy.json").write_text(json.dumps({"version": "1", "tools": rules, "resources": ["test://b"]}))
    policy = Policy.read(tmp_path / "it.policy.json")
    made.reconfigure(terms(lambda: link, guard=Guard(PolicyEnforcer("it", policy))))
    await made.resume()
    await turns()
    assert [said for said in link.asked if said[0] not in ("initialize", "notifications/initialized")] == [
        ("resources/subscribe", {"uri": "test://b"})
    ]
    await end(made)
