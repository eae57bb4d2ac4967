"""Calls of an upstream of the handshake era that wait for the answers of a client of 2026-07-28."""

from __future__ import annotations

import asyncio
import gc
from functools import partial

import pytest

from gateway.links import turns
from gateway.raw import STATELESS
from louver.errors import UpstreamUnavailable
from louver.gateway.clients import input_required as module
from louver.gateway.clients.client import GatewayCaller, GatewayClient
from louver.gateway.clients.input_required import PendingCalls
from louver.gateway.clients.revisions import ClientIdentity
from louver.gateway.routing.dispatch import Dispatcher
from louver.wire.jsonrpc.errors import JsonRpcError

pytestmark = pytest.mark.anyio

ELICIT = {"message": "Who?", "requestedSchema": {"type": "object"}}
ANSWER = {"action": "accept", "content": {}}
OWNER = ("it", None)


def turn():
    return GatewayCaller(GatewayClient(STATELESS, ClientIdentity(STATELESS, {}, {"elicitation": {}})))


async def parked(calls, send):
    """What a client is asked, and how it comes again."""
    asked = await calls.call(turn(), "tools/call", {"name": "t"}, OWNER, send)
    (key,) = asked["inputRequests"]
    return {"name": "t", "requestState": asked["requestState"], "inputResponses": {key: ANSWER}}


async def ask_and_take_back(caller):
    asking = asyncio.create_task(caller.ask("elicitation/create", ELICIT))
    await asyncio.sleep(0)
    asking.cancel()
    await asyncio.wait([asking])


async def test_a_question_that_was_taken_back_takes_no_answer():
    """MCP, cancellation: the call goes on without; what it answers is the answer."""
    calls, dropped = PendingCalls(), asyncio.Event()

    async def send(caller):
        await ask_and_take_back(caller)
        dropped.set()
        return {"content": [], "without": True}

    again = await parked(calls, send)
    await dropped.wait()
    assert await calls.call(turn(), "tools/call", again, OWNER, send) == {"content": [], "without": True}


@pytest.mark.parametrize("method", ["ping", "tasks/get", "x.y/unknown"])
async def test_only_what_a_result_may_ask_for_is_asked(method):
    """MCP 2026-07-28: an input request is a form, a sample, or the roots; the upstream gets -32601 for all else."""

    async def send(caller):
        with pytest.raises(JsonRpcError) as refused:
            await caller.ask(method, None)
        return {"content": [], "code": refused.value.code}

    assert (await PendingCalls().call(turn(), "tools/call", {"name": "t"}, OWNER, send))["code"] == -32601


async def test_a_question_that_comes_while_another_is_answered_is_asked_next():
    """MCP 2026-07-28: a client answers what it was asked; ours: nothing else counts as refused."""
    calls, come = PendingCalls(), asyncio.Event()

    async def second(caller):
        await come.wait()
        return await caller.ask("elicitation/create", {**ELICIT, "message": "Where?"})

    async def send(caller):
        return {"got": await asyncio.gather(caller.ask("elicitation/create", ELICIT), second(caller))}

    again = await parked(calls, send)
    come.set()
    await turns()
    asked = await calls.call(turn(), "tools/call", again, OWNER, send)
    assert [question["params"]["message"] for question in asked["inputRequests"].values()] == ["Where?"]
    (key,) = asked["inputRequests"]
    last = {"name": "t", "requestState": asked["requestState"], "inputResponses": {key: {"action": "decline"}}}
    assert await calls.call(turn(), "tools/call", last, OWNER, send) == {"got": [ANSWER, {"action": "decline"}]}


async def test_a_question_that_comes_and_is_taken_back_meanwhile_is_not_asked():
    """MCP, cancellation; the answer to the other is not waited for again."""
    calls, come = PendingCalls(), asyncio.Event()

    async def send(caller):
        first = asyncio.create_task(caller.ask("elicitation/create", ELICIT))
        await come.wait()
        await ask_and_take_back(caller)
        answer = await first
        await turns()
        return {"got": answer}

    again = await parked(calls, send)
    come.set()
    await turns()
    assert await calls.call(turn(), "tools/call", again, OWNER, send) == {"got": ANSWER}


@pytest.mark.parametrize("other", [("another", None), ("it", object())], ids=["another server", "under a policy"])
async def test_only_where_it_was_begun_does_a_call_go_on(other):
    """PRIVACY.md: what a policy stands before is answered through it alone, and not by another server's tool."""

    async def send(caller):
        await caller.ask("elicitation/create", ELICIT)
        return {"content": []}

    calls = PendingCalls()
    again = await parked(calls, send)
    with pytest.raises(JsonRpcError, match="is not that of a call which waits"):
        await calls.call(turn(), "tools/call", again, other, send)
    assert await calls.call(turn(), "tools/call", again, OWNER, send) == {"content": []}


async def test_it_goes_on_only_as_it_was_begun():
    """Ours: the arguments that the upstream has are those of the beginning."""

    async def send(caller):
        await caller.ask("elicitation/create", ELICIT)
        return {"content": []}

    calls = PendingCalls()
    again = await parked(calls, send)
    for method, params in (("tools/call", {**again, "name": "u"}), ("prompts/get", again)):
        with pytest.raises(JsonRpcError, match="is not that of a call which waits"):
            await calls.call(turn(), method, params, OWNER, send)
    assert await calls.call(turn(), "tools/call", again, OWNER, send) == {"content": []}


async def test_how_a_call_was_begun_is_looked_at_only_if_it_waits(monkeypatch):
    """Ours: of four megabytes of arguments that takes as long as reading them."""
    monkeypatch.setattr(module, "digest", lambda _: pytest.fail("it does not wait"))

    async def send(_caller):
        return {"content": []}

    assert await PendingCalls().call(turn(), "tools/call", {"name": "t"}, OWNER, send) == {"content": []}


async def test_of_an_upstream_that_goes_meanwhile_who_comes_again_is_told():
    """Ours: in so many words, and not that something went wrong here."""

    async def send(caller):
        await ask_and_take_back(caller)
        raise UpstreamUnavailable("gone")

    calls = PendingCalls()
    again = await parked(calls, send)
    with pytest.raises(UpstreamUnavailable):
        await calls.call(turn(), "tools/call", again, OWNER, send)


async def test_a_call_that_has_waited_is_not_begun_again():
    """Ours: what it waited with is used up, and the client is told what has happened."""
    asked = []

    class Gone:
        name, guard = "gone", None

        def kept_for(self, client):
            return None

        def of(self, client):
            return self

        def session_to_use(self, client):
            return None

        def is_retryable(self, method, params):
            return True

        async def session(self, client):
            asked.append(client)
            raise UpstreamUnavailable("gone")

    result = await Dispatcher(PendingCalls(), {}).send(Gone(), turn(), "tools/call", {"name": "t", "requestState": "s"})
    assert result["isError"]
    assert len(asked) == 1
    with pytest.raises(JsonRpcError):
        await Dispatcher(PendingCalls(), {}).send(Gone(), turn(), "tools/list", {})
    assert len(asked) == 3


async def test_a_question_ends_with_its_call():
    """Ours: it would be open for ever, and an upstream has only so many."""
    asking = []

    async def send(caller):
        asking.append(asyncio.create_task(caller.ask("elicitation/create", ELICIT)))
        await asyncio.Event().wait()

    calls = PendingCalls()
    await parked(calls, send)
    calls.close()
    await turns()
    (asked,) = asking
    with pytest.raises(JsonRpcError, match="the call is over"):
        asked.result()


async def test_over_the_bound_the_oldest_call_goes_that_of_the_same_owner_first(monkeypatch):
    """Ours: whoever is asked much does not make the calls of others go."""
    monkeypatch.setattr(module, "MAX_PARKED", 2)

    async def send(caller):
        return {"got": await caller.ask("elicitation/create", ELICIT)}

    async def waits(owner):
        asked = await calls.call(turn(), "tools/call", {"name": "t"}, owner, send)
        (key,) = asked["inputRequests"]
        again = {"name": "t", "requestState": asked["requestState"], "inputResponses": {key: ANSWER}}
        return partial(calls.call, turn(), "tools/call", again, owner, send)

    async def is_gone(again):
        with pytest.raises(JsonRpcError, match="is not that of a call which waits"):
            await again()

    calls = PendingCalls()
    ann, bob, latest = [await waits(("it", name)) for name in ("ann", "bob", "bob")]
    await is_gone(bob)
    assert await ann() == {"got": ANSWER}
    cyd, dan = [await waits(("it", name)) for name in ("cyd", "dan")]
    await is_gone(latest)
    assert [await each() for each in (cyd, dan)] == [{"got": ANSWER}] * 2


async def test_of_a_call_that_nobody_comes_for_any_more_nothing_is_told():
    """Ours: no traceback, which would show what an upstream has said."""
    told, failed = [], asyncio.Event()
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context["message"]))

    async def send(caller):
        await ask_and_take_back(caller)
        failed.set()
        raise UpstreamUnavailable("gone")

    calls = PendingCalls()
    await parked(calls, send)
    await failed.wait()
    calls.close()
    del calls
    await turns()
    gc.collect()
    assert told == []
