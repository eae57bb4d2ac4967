"""Whose requests can be why an upstream asks something: those that are open, and those that were given up."""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager, suppress

import pytest

from fixtures.failsafe import FAILSAFE_S
from fixtures.forking import PYTHON
from gateway.links import FIXTURES, begun, fails, turns
from gateway.raw import HANDSHAKE, STATELESS
from louver.concurrency.budget import BudgetByKey
from louver.errors import UpstreamError, UpstreamTimeout, UpstreamTooLarge, UpstreamUnavailable
from louver.gateway.back import in_flight as module
from louver.gateway.back import session as session_module
from louver.gateway.back.fan_out.subscribers import Subscribers
from louver.gateway.back.in_flight import InFlight, InFlightCall
from louver.gateway.back.lists.tool_pins import ToolPins
from louver.gateway.back.session import Session, SessionSettings
from louver.gateway.back.transports.http import HttpTransport
from louver.gateway.back.transports.stdio import StdioTransport
from louver.gateway.back.transports.transport import Call, ignore_notification, refuse_request
from louver.gateway.clients.client import GatewayCaller, GatewayClient
from louver.gateway.clients.revisions import GATEWAY_IDENTITY, ClientIdentity
from louver.wire.jsonrpc.errors import JsonRpcError

pytestmark = pytest.mark.anyio


class Asking(GatewayClient):
    """A client of a connection that answers by its name."""

    def __init__(self, name):
        super().__init__(HANDSHAKE, ClientIdentity(HANDSHAKE, {}, {}))
        self.name = name

    async def ask(self, method, params):
        return {"by": self.name}


@asynccontextmanager
async def session_over(make_link, *clients, timeout_s=30, **options):
    """A session with a server of 2025-11-25, that these clients share."""

    async def told(method, params):
        pass

    audience = Subscribers()
    audience.clients.update(clients)
    settings = SessionSettings(
        "one", make_link, timeout_s, ToolPins("one", "warn"), lambda *end: None, lambda change: None, **options
    )
    session = Session(settings, GATEWAY_IDENTITY, audience, told)
    await session.open()
    try:
        yield session
    finally:
        await session.close()


def session_for(*clients, **options):
    """Likewise, over stdio."""
    command = [PYTHON, str(FIXTURES / "unruly.py")]
    return session_over(lambda listener: StdioTransport(command, listener=listener), *clients, **options)


@asynccontextmanager
async def session_over_http():
    """Likewise, over HTTP, and the process of the server."""
    command = [sys.executable, str(FIXTURES / "unruly.py"), "--http"]
    server = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        url = (await server.stdout.readline()).decode().strip()
        async with session_over(lambda listener: HttpTransport(url, listener=listener)) as session:
            yield session, server
    finally:
        with suppress(ProcessLookupError):
            server.kill()
        await server.wait()


async def gives_up(session, client):
    """Have a client call a tool that never answers, and go."""
    calling = await begun(session.call(GatewayCaller(client), "tools/call", {"name": "silent"}))
    calling.cancel()
    await asyncio.wait([calling])


async def refuses(session):
    with pytest.raises(JsonRpcError, match="the gateway cannot tell which client is asked"):
        await session.on_request("roots/list", None)


async def test_where_no_call_is_open_who_is_there_alone_is_not_asked_for_whoever_has_gone(monkeypatch):
    """GATEWAY.md: never put to another; ours: for a minute, then a server has given the call up as well."""
    ann, bob = GatewayClient(STATELESS, ClientIdentity(STATELESS, {}, {})), Asking("bob")
    async with session_for(bob) as session:
        assert await session.on_request("roots/list", None) == {"by": "bob"}
        await gives_up(session, ann)
        await refuses(session)
        monkeypatch.setattr(module, "ABANDONED_S", 0)
        assert await session.on_request("roots/list", None) == {"by": "bob"}


async def test_while_a_client_is_asked_no_time_of_its_calls_counts(monkeypatch):
    """GATEWAY.md: a deadline for the silence of the upstream; over one pipe no call tells why a client is asked."""
    loop = asyncio.get_running_loop()
    now = loop.time
    bob = Asking("bob")

    class Slow(GatewayCaller):
        """It takes longer to answer than the server may be silent."""

        async def ask(self, method, params):
            silent = await begun(session.call(GatewayCaller(bob), "tools/call", {"name": "silent"}))
            monkeypatch.setattr(loop, "time", lambda: now() + 2 * FAILSAFE_S)
            await fails(silent, UpstreamTimeout)
            return {"roots": []}

    async with session_for(bob, timeout_s=FAILSAFE_S) as session:
        result = await session.call(Slow(bob), "tools/call", {"name": "ask"})
        assert result["answered"]["result"] == {"roots": []}


class Thinking(GatewayCaller):
    """A request of a client that answers once it may."""

    asked: list[asyncio.Event]

    def __init__(self, client):
        super().__init__(client)
        object.__setattr__(self, "asked", [])

    async def ask(self, method, params):
        self.asked.append(asyncio.Event())
        await self.asked[-1].wait()
        return {"roots": []}


async def test_who_does_not_answer_takes_no_questions_from_others():
    """TRUST.md: 200 questions that one client left open were all that the upstream had, and others were not asked."""
    ann, bob = Asking("ann"), Asking("bob")
    ann.peer, bob.peer = "ann", "bob"
    thinks = Thinking(ann)
    async with session_for(ann, bob, peer_questions=BudgetByKey(1)) as session:
        first = asyncio.create_task(session._ask_client(ann, thinks.ask, "roots/list", None))
        await turns()
        with pytest.raises(JsonRpcError, match="has not answered 1 earlier requests"):
            await session._ask_client(ann, thinks.ask, "roots/list", None)
        assert await session._ask_client(bob, bob.ask, "roots/list", None) == {"by": "bob"}
        thinks.asked[0].set()
        assert await first == {"roots": []}
        assert len(session._settings.peer_questions) == 0


async def test_who_has_given_up_a_call_itself_is_asked():
    """Ours: it can be no other who is meant."""
    bob = Asking("bob")
    async with session_for(bob) as session:
        await gives_up(session, bob)
        assert await session.on_request("roots/list", None) == {"by": "bob"}


def clients(number):
    return [GatewayClient(STATELESS, ClientIdentity(STATELESS, {}, {})) for _ in range(number)]


def tracked(requests, caller):
    return InFlightCall(requests, Call("tools/call", None, ignore_notification, refuse_request), caller)


async def gave_up(requests, client):
    with pytest.raises(asyncio.CancelledError), tracked(requests, GatewayCaller(client)):
        raise asyncio.CancelledError


async def test_of_what_was_given_up_the_oldest_goes_that_of_the_same_client_first(monkeypatch):
    """Ours: a client that gives up much does not make what others have given up be forgotten."""
    monkeypatch.setattr(module, "MAX_ABANDONED", 2)
    ann, bob, cyd = clients(3)
    requests = InFlight(30)
    for client in (ann, bob, bob, bob):
        await gave_up(requests, client)
    assert requests.clients == {ann, bob}
    await gave_up(requests, cyd)
    assert requests.clients == {bob, cyd}


@pytest.mark.parametrize(("party", "is_meant"), [("ann", True), (None, False)])
async def test_a_request_is_meant_where_what_was_given_up_is_of_the_same_party(party, is_meant):
    """Ours: each request of 2026-07-28 is a client of its own, also of one host, or of one principal."""
    first, second = (GatewayClient(STATELESS, ClientIdentity(STATELESS, {}, {}), owner=party) for _ in range(2))
    requests, turn = InFlight(30), GatewayCaller(second)
    await gave_up(requests, first)
    with tracked(requests, turn):
        assert requests.only_caller is (turn if is_meant else None)
        with tracked(requests, GatewayCaller(first)):
            assert requests.only_caller is None


@pytest.mark.parametrize(
    "error",
    [JsonRpcError(code=-32600, message="no"), UpstreamUnavailable("HTTP 503", status=503), UpstreamTooLarge("no")],
)
async def test_what_fails_is_not_given_up(error):
    """Ours: an error is an answer, and what was refused or not sent is not begun."""
    (ann,) = clients(1)
    requests = InFlight(30)
    with pytest.raises(type(error)), tracked(requests, GatewayCaller(ann)):
        raise error
    assert requests.clients == set()


async def test_a_question_that_ends_after_its_call_sets_no_deadline():
    """Ours: nobody waits any more."""
    requests = InFlight(30)
    call = tracked(requests, None)
    with call.suspended(), call:
        await asyncio.sleep(0)
    assert requests.timer is None


class Named(GatewayCaller):
    """A request of a client that can be asked."""

    async def ask(self, method, params):
        return await self.client.ask(method, params)


@pytest.mark.parametrize(
    ("tool", "arguments", "goes_on"),
    [
        ("no_answer", {}, True),
        ("cut", {"stream": True}, True),
        ("endless", {}, True),
        ("half_gzip", {}, False),
        ("nan", {"stream": True}, False),
        ("status", {"status": 503}, False),
        ("die", {}, True),
    ],
)
async def test_a_call_whose_stream_breaks_off_is_given_up(tool, arguments, goes_on):
    """Ours: the upstream does not know that nobody hears it, and may ask because of it what another would get."""
    ann, bob = Asking("ann"), Asking("bob")
    async with session_over_http() as (session, _):
        with pytest.raises(UpstreamError):
            await session.call(GatewayCaller(ann), "tools/call", {"name": tool, "arguments": arguments})
        calling = await begun(session.call(Named(bob), "tools/call", {"name": "silent"}))
        if goes_on:
            await refuses(session)
        else:
            assert await session.on_request("roots/list", None) == {"by": "bob"}
        calling.cancel()


async def test_a_call_that_never_got_there_is_not_given_up():
    """Ours: nothing can be asked because of it."""
    ann, bob = Asking("ann"), Asking("bob")
    async with session_over_http() as (session, server):
        server.kill()
        await server.wait()
        for _ in range(2):
            with pytest.raises(UpstreamUnavailable) as failed:
                await session.call(GatewayCaller(ann), "tools/call", {"name": "echo"})
        assert "cannot be reached" in str(failed.value)
        calling = await begun(session.call(Named(bob), "tools/call", {"name": "silent"}))
        assert await session.on_request("roots/list", None) == {"by": "bob"}
        calling.cancel()


class Answering(GatewayCaller):
    """A request of a client; what it is asked is answered once it is let."""

    def __init__(self, client, *, answers):
        super().__init__(client)
        object.__setattr__(self, "is_asked", asyncio.Event())
        object.__setattr__(self, "may_answer", asyncio.Event())
        if answers:
            self.may_answer.set()

    async def ask(self, method, params):
        self.is_asked.set()
        await self.may_answer.wait()
        return {"roots": []}


async def test_a_client_that_answers_nothing_keeps_others_from_being_asked_for_a_while_only(monkeypatch):
    """GATEWAY.md: one client's fate is not that of others; it may have gone without a word."""
    monkeypatch.setattr(session_module, "PARKED_S", 0.01)
    ann, bob = Asking("ann"), Asking("bob")
    async with session_for(ann, bob) as session:
        result = await session.call(Answering(ann, answers=False), "tools/call", {"name": "ask"})
        assert result["answered"]["error"]["message"] == "the client has not answered in 0.01 s"
        result = await session.call(Answering(bob, answers=True), "tools/call", {"name": "ask"})
        assert result["answered"]["result"] == {"roots": []}


async def test_a_client_that_has_a_session_to_itself_may_take_its_time(monkeypatch):
    """Ours: nobody else waits for it, and people are slow."""
    monkeypatch.setattr(session_module, "PARKED_S", 0.0)
    ann = Asking("ann")
    async with session_for(ann) as session:
        turn = Answering(ann, answers=False)
        asking = await begun(session.call(turn, "tools/call", {"name": "ask"}))
        await turn.is_asked.wait()
        await turns()
        turn.may_answer.set()
        assert (await asking)["answered"]["result"] == {"roots": []}
