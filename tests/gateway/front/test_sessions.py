"""Sessions of 2025-11-25 over HTTP: what is refused is refused as by the SDK, and no session is another's."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace

import pytest

from fixtures.failsafe import FAILSAFE_S
from gateway.front.test_endpoint import Heard, served
from louver.gateway.front import event_streams, sessions
from louver.gateway.front.endpoint import McpEndpoint
from louver.gateway.front.exchange import IDENTITY
from louver.gateway.front.sessions import MAX_OPENING_BYTES
from louver.gateway.in_process import sdk_server
from louver.policy.principal import Principal
from louver.steps.request import Identity
from louver.wire.jsonrpc.errors import JsonRpcError
from steps.kept import Clock
from steps.threads import turns

pytestmark = pytest.mark.anyio

OLD = "2025-11-25"
WHO = {"protocolVersion": OLD, "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
HEADERS = {
    "host": "127.0.0.1:8080",
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": OLD,
}


def asks(method, number=1, **params):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


INITIALIZE = asks("initialize", 0, **WHO)


async def send(app, message=None, method="POST", session=None, heard=None, headers=(), **scope):
    """The exchange of a message, or of none; it ends by itself, or when the client leaves."""
    heard = heard or Heard()
    body = b"" if message is None else message if isinstance(message, bytes) else json.dumps(message).encode()
    left = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive():
        if left:
            return left.pop()
        await heard.left.wait()
        return {"type": "http.disconnect"}

    async def note(sent):
        heard.sent.append(sent)
        if method == "GET" or sent["type"] == "http.response.body":
            heard.began.set()

    every = {**HEADERS, "content-length": str(len(body)), **({} if session is None else {"mcp-session-id": session})}
    pairs = [(name.encode(), value.encode()) for name, value in {**every, **dict(headers)}.items() if value is not None]
    given = {"type": "http", "method": method, "path": "/mcp", "root_path": "", "query_string": b"", "headers": pairs}
    async with asyncio.timeout(FAILSAFE_S):
        await app({**given, "client": ("127.0.0.9", 1), **scope}, receive, note)
    return heard


def session_of(heard):
    return dict(heard.sent[0]["headers"])[b"mcp-session-id"].decode()


def events(heard):
    """The events of a stream: their ids, and their messages; a response alone has no id."""
    if heard.body.startswith(b"{"):
        return [(None, json.loads(heard.body))]
    found = []
    for event in heard.body.decode().split("\r\n\r\n"):
        lines = dict(line.split(": ", 1) for line in event.splitlines() if not line.startswith(":"))
        if "data" in lines:
            found.append((int(lines["id"]), json.loads(lines["data"]) if lines["data"] else None))
    return found


STREAMED = ("streams", "less", "more")
"""Calls that are answered after a notification."""


class Answers:
    """The end of all steps: it opens, and answers as it is told."""

    def __init__(self):
        self.go_on, self.begun, self.closed = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def __call__(self, request, call_next):
        if request.method == "initialize":
            request.connection.when_closed(self._note_closed)
            return {"protocolVersion": request.params["protocolVersion"], "capabilities": {}, "serverInfo": {}}
        name = request.params.get("name")
        if name == "waits":
            self.begun.set()
            await request.connection.notify("x/waiting", None, request.id)
            await self.go_on.wait()
        if name == "is slow":
            await self.go_on.wait()
        if name == "pauses":
            await request.pause()
            self.begun.set()
            await self.go_on.wait()
        if name in STREAMED:
            await request.connection.notify("x/first", None, request.id)
        if name == "who":
            return {"scopes": sorted(request.identity.principal.scopes)}
        if name == "asks":
            return {"answered": await request.connection.ask("roots/list", None, request.id)}
        return {"name": name}

    async def _note_closed(self):
        self.closed.set()


@pytest.fixture
def answers():
    return Answers()


@pytest.fixture
def gateway(answers):
    return served(answers)


@pytest.fixture
async def app(gateway):
    return McpEndpoint(gateway)


async def opened(app, **scope):
    heard = await send(app, INITIALIZE, **scope)
    assert events(heard)[-1][1]["result"]["protocolVersion"] == OLD
    session = session_of(heard)
    await send(app, {"jsonrpc": "2.0", "method": "notifications/initialized"}, session=session, **scope)
    return session


async def resume(app, answers, session, stream):
    """The rest of a stream after its first event; the call is answered once its client has come back."""
    last = {"last-event-id": str(events(stream)[0][0])}
    resumed = Heard()
    resuming = asyncio.create_task(send(app, method="GET", session=session, headers=last, heard=resumed))
    await resumed.began.wait()
    answers.go_on.set()
    await resuming
    return resumed


REFUSED = {
    "no session": {"message": asks("tools/list")},
    "an unknown session": {"message": asks("tools/list"), "session": "unknown"},
    "a notification of none": {"message": {"jsonrpc": "2.0", "method": "x/y"}},
    "a stream of none": {"method": "GET"},
    "a stream of an unknown one": {"method": "GET", "session": "unknown"},
    "the end of an unknown one": {"method": "DELETE", "session": "unknown"},
    "another method": {"method": "PUT"},
    "another host": {"message": INITIALIZE, "headers": {"host": "example.com"}},
    "another origin": {"message": INITIALIZE, "headers": {"origin": "http://example.com"}},
    "accepts less": {"message": INITIALIZE, "headers": {"accept": "application/json"}},
    "content of another type": {"message": INITIALIZE, "headers": {"content-type": "text/plain"}},
    "too large": {"message": INITIALIZE, "headers": {"content-length": "5000000"}},
    "no JSON": {"message": b"{"},
}
OTHERWISE = {"a stream of none", "a notification of none", "another method"}
"""What the SDK opens a session for before it refuses it."""


@pytest.mark.parametrize("refused", REFUSED)
async def test_what_is_refused_is_refused_as_by_the_sdk(app, refused):
    """2025-11-25, "Session Management"; ours: the SDK is the reference of clients."""
    reference = sdk_server(served().answer).streamable_http_app()
    async with reference.router.lifespan_context(reference):
        expected = await send(reference, **REFUSED[refused])
    found = await send(app, **REFUSED[refused])
    assert found.status == expected.status
    if found.body.startswith(b"{") and refused not in OTHERWISE:
        assert json.loads(found.body)["error"]["code"] == json.loads(expected.body)["error"]["code"]


async def test_a_request_is_answered_in_a_stream_that_can_be_resumed(app):
    """2025-11-25, "Resumability and Redelivery": the first event has an id and no message."""
    session = await opened(app)
    heard = await send(app, asks("tools/call", 7, name="streams"), session=session)
    (first, nothing), (second, told), (third, answer) = events(heard)
    assert nothing is None
    assert first < second < third
    assert (told["method"], answer) == ("x/first", {"jsonrpc": "2.0", "id": 7, "result": {"name": "streams"}})
    assert b"retry: 500\r\n" in heard.body
    again = await send(app, method="GET", session=session, headers={"last-event-id": str(first)})
    assert events(again) == [(second, told), (third, answer)]
    assert not again.sent[-1].get("more_body")


async def test_a_quick_answer_is_json(app):
    """2025-11-25, "Sending Messages to the Server": a stream, or one JSON object; nothing of it is kept."""
    session = await opened(app)
    kept = dict(app._sessions._sessions[session].events.sent)
    heard = await send(app, asks("tools/call", 7, name="t"), session=session)
    assert json.loads(heard.body) == {"jsonrpc": "2.0", "id": 7, "result": {"name": "t"}}
    head = dict(heard.sent[0]["headers"])
    assert (head[b"content-type"], session_of(heard)) == (b"application/json", session)
    assert app._sessions._sessions[session].events.sent == kept


async def test_the_stream_of_a_slow_call_begins_before_its_answer(answers, monkeypatch):
    """Ours: `BEGIN_AFTER_S`; its client can resume it from then on."""
    monkeypatch.setattr(sessions, "BEGIN_AFTER_S", 0.001)
    app = McpEndpoint(served(answers))
    session = await opened(app)
    heard = Heard()
    calling = asyncio.create_task(send(app, asks("tools/call", 7, name="is slow"), session=session, heard=heard))
    await heard.began.wait()
    assert [message for _, message in events(heard)] == [None]
    resumed = await resume(app, answers, session, heard)
    await calling
    assert events(resumed)[-1][1]["result"] == {"name": "is slow"}


async def test_older_revisions_get_no_event_without_a_message(app):
    """2025-06-18 knows none, and clients of it may not read one."""
    opening = asks("initialize", 0, **{**WHO, "protocolVersion": "2025-06-18"})
    session, old = session_of(await send(app, opening)), {"mcp-protocol-version": "2025-06-18"}
    heard = await send(app, asks("tools/call", 7, name="streams"), session=session, headers=old)
    assert [message.get("method") for _, message in events(heard)] == ["x/first", None]


async def test_a_call_goes_on_though_its_stream_breaks(app, answers):
    """2025-11-25, "Resumability and Redelivery": the client resumes the stream, and gets what it has missed."""
    session = await opened(app)
    broken = Heard()
    calling = asyncio.create_task(send(app, asks("tools/call", 7, name="waits"), session=session, heard=broken))
    await answers.begun.wait()
    broken.left.set()
    resumed = await resume(app, answers, session, broken)
    await calling
    methods = [message.get("method") for _, message in events(resumed) if message]
    assert methods == ["x/waiting", None]
    assert events(resumed)[-1][1]["result"] == {"name": "waits"}


async def test_a_stream_that_is_paused_ends_and_is_resumed(app, answers):
    """2025-11-25, "Resumability and Redelivery": the server may close a stream before the response."""
    session = await opened(app)
    paused = Heard()
    calling = asyncio.create_task(send(app, asks("tools/call", 7, name="pauses"), session=session, heard=paused))
    await answers.begun.wait()
    assert not paused.sent[-1].get("more_body")
    resumed = await resume(app, answers, session, paused)
    await calling
    assert events(resumed)[-1][1]["result"] == {"name": "pauses"}


async def test_who_resumes_a_stream_takes_it_over(app, answers):
    """Ours: the server may not know yet that the first connection is lost."""
    session = await opened(app)
    first = Heard()
    calling = asyncio.create_task(send(app, asks("tools/call", 7, name="waits"), session=session, heard=first))
    await answers.begun.wait()
    resumed = await resume(app, answers, session, first)
    await calling
    assert [message for _, message in events(first) if message and "result" in message] == []
    assert events(resumed)[-1][1]["result"] == {"name": "waits"}


async def test_failures_without_a_response_are_logged_by_their_type_alone(caplog):
    """Ours: no log holds a value of a tool's output, and the message of an error may quote one."""

    async def fails():
        raise RuntimeError("a secret")

    async def answer(request, call_next):
        if request.method == "initialize":
            request.connection.when_closed(fails)
            return {"protocolVersion": OLD, "capabilities": {}, "serverInfo": {}}
        return await fails()

    app = McpEndpoint(served(answer))
    session = await opened(app)
    await send(app, method="DELETE", session=session)
    assert "a notification cannot be forwarded: RuntimeError" in caplog.text
    assert "a connection is not closed cleanly: RuntimeError" in caplog.text
    assert "a secret" not in caplog.text


@pytest.mark.parametrize("last", ["", "x", "-1", "²", "9" * 5000, "999"])
async def test_an_event_that_is_none_resumes_nothing(app, last):
    """Ours: Python reads no number of so many digits."""
    session = await opened(app)
    heard = Heard()
    heard.left.set()
    found = await send(app, method="GET", session=session, headers={"last-event-id": last}, heard=heard)
    assert (found.status, found.body.count(b"id: ")) == ((400, 0) if last else (200, 1))


async def test_a_stream_that_nobody_reads_is_pinged_once(monkeypatch, answers):
    """Ours: pings that cannot be written would pile up."""
    monkeypatch.setattr(sessions, "PING_S", 0.001)
    app = McpEndpoint(served(answers))
    session = await opened(app)
    pings, full = [], asyncio.Event()

    async def note(sent):
        if sent.get("body", b"").startswith(b": ping"):
            pings.append(sent)
            full.set()
            await asyncio.Event().wait()

    async def receive():
        await asyncio.Event().wait()

    headers = [(name.encode(), value.encode()) for name, value in {**HEADERS, "mcp-session-id": session}.items()]
    scope = {"type": "http", "method": "GET", "path": "/mcp", "headers": headers, "client": ("127.0.0.9", 1)}
    listening = asyncio.create_task(app(scope, receive, note))
    await full.wait()
    for _ in range(5):
        await send(app, asks("tools/list"), session=session)
        await turns()
    assert len(pings) == 1
    await app._sessions.close()
    listening.cancel()
    await asyncio.wait([listening])


async def test_a_cancelled_request_ends_with_an_error(app, answers):
    """Ours, as the SDK: the stream of a request ends only with a response."""
    session = await opened(app)
    calling = asyncio.create_task(send(app, asks("tools/call", 7, name="waits"), session=session))
    await answers.begun.wait()
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
    assert (await send(app, cancelled, session=session)).status == 202
    assert events(await calling)[-1][1]["error"]["code"] == -32800


async def test_a_question_is_asked_in_the_stream_of_its_request(app):
    """2025-11-25, "Sending Messages to the Server"."""
    session = await opened(app)
    heard = Heard()
    calling = asyncio.create_task(send(app, asks("tools/call", 7, name="asks"), session=session, heard=heard))
    while not (asked := [message for _, message in events(heard) if message]):
        heard.began.clear()
        await heard.began.wait()
    assert asked[0]["method"] == "roots/list"
    answer = {"jsonrpc": "2.0", "id": asked[0]["id"], "result": {"roots": []}}
    assert (await send(app, answer, session=session)).status == 202
    assert events(await calling)[-1][1]["result"] == {"answered": {"roots": []}}


async def test_a_session_has_one_stream_besides(app):
    """2025-11-25, "Listening for Messages from the Server"."""
    session = await opened(app)
    heard = Heard()
    listening = asyncio.create_task(send(app, method="GET", session=session, heard=heard))
    await heard.began.wait()
    assert (await send(app, method="GET", session=session)).status == 409
    heard.left.set()
    await listening


async def test_a_session_that_is_deleted_ends_its_calls_and_streams(app, answers):
    """2025-11-25, "Session Management": from then on it is not found."""
    session = await opened(app)
    listening = asyncio.create_task(send(app, method="GET", session=session))
    calling = asyncio.create_task(send(app, asks("tools/call", 7, name="waits"), session=session))
    await answers.begun.wait()
    assert (await send(app, method="DELETE", session=session)).status == 200
    await asyncio.gather(listening, calling)
    assert (await send(app, asks("tools/list"), session=session)).status == 404


ANN, BOB = (Identity(Principal(client=name), (name, None, None)) for name in ("ann", "bob"))


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
async def test_to_another_caller_a_session_does_not_exist(app, method):
    """2025-11-25, "Session Hijacking"."""
    session = await opened(app, **{IDENTITY: ANN})
    message = asks("tools/list") if method == "POST" else None
    for scope in ({IDENTITY: BOB}, {}):
        refused = await send(app, message, method=method, session=session, **scope)
        unknown = await send(app, message, method=method, session="unknown", **scope)
        assert (refused.status, refused.body) == (unknown.status, unknown.body) == (404, unknown.body)
    assert (await send(app, asks("tools/list"), session=session, **{IDENTITY: ANN})).status == 200


async def test_each_request_has_the_rights_of_its_own_token(app):
    """Ours: another token of the same caller may have fewer of them."""
    session = await opened(app, **{IDENTITY: ANN})
    for scopes in (["read", "write"], ["read"]):
        caller = Identity(Principal(client="ann", scopes=frozenset(scopes)), ANN.key)
        heard = await send(app, asks("tools/call", 7, name="who"), session=session, **{IDENTITY: caller})
        assert events(heard)[-1][1]["result"] == {"scopes": scopes}


LESS = Identity(Principal(client="ann", roles=frozenset({"few"})), ANN.key)


async def waiting(app, answers, session, number=7):
    """A call of Ann that waits for its answer, and how it has begun."""
    heard = Heard()
    calling = asyncio.create_task(
        send(app, asks("tools/call", number, name="waits"), session=session, heard=heard, **{IDENTITY: ANN})
    )
    await answers.begun.wait()
    return calling, heard


def resuming(app, session, last, who, heard=None):
    return send(
        app, method="GET", session=session, headers={"last-event-id": str(last)}, heard=heard, **{IDENTITY: who}
    )


@pytest.mark.parametrize("change", ["roles", "policy"])
async def test_what_was_sent_is_for_whom_it_was_sent(app, gateway, answers, change):
    """Ours: to another token of the same subject, or under another policy, it is as an event that never was."""
    session = await opened(app, **{IDENTITY: ANN})
    heard = await send(app, asks("tools/call", 7, name="streams"), session=session, **{IDENTITY: ANN})
    first = events(heard)[0][0]
    assert events(await resuming(app, session, first, ANN))[-1][1]["result"] == {"name": "streams"}
    who = LESS
    if change == "policy":
        who = ANN
        gateway._pipeline.audience = lambda _: "others"
    foreign = await resuming(app, session, first, who)
    unknown = await resuming(app, session, 999, who)
    assert (foreign.status, foreign.body) == (unknown.status, unknown.body) == (400, unknown.body)


@pytest.mark.parametrize("change", ["roles", "policy"])
async def test_a_stream_is_taken_over_by_nobody_else(app, gateway, answers, change):
    """Ours: nor is an answer that is still to come for another token of the same subject."""
    session = await opened(app, **{IDENTITY: ANN})
    calling, heard = await waiting(app, answers, session)
    if change == "policy":
        gateway._pipeline.audience = lambda _: "others"
    refused = await resuming(app, session, events(heard)[0][0], LESS if change == "roles" else ANN)
    assert refused.status == 400
    answers.go_on.set()
    assert events(await calling)[-1][1]["result"] == {"name": "waits"}


async def test_an_id_is_used_once_at_a_time(app, answers):
    """MCP: not twice in a session. The answer to one came in the stream of the other, whoever's that was."""
    session = await opened(app, **{IDENTITY: ANN})
    calling, _heard = await waiting(app, answers, session)
    refused = await send(app, asks("tools/call", 7, name="t"), session=session, **{IDENTITY: LESS})
    assert refused.status == 400
    answers.go_on.set()
    assert events(await calling)[-1][1]["result"] == {"name": "waits"}
    again = await send(app, asks("tools/call", 7, name="t"), session=session, **{IDENTITY: LESS})
    assert events(again)[-1][1]["result"] == {"name": "t"}


async def test_what_was_answered_before_under_an_id_is_not_of_its_later_stream(app, answers):
    """Ours: a client may use an id again, and another token's answer came with it."""
    session = await opened(app, **{IDENTITY: ANN})
    mine = await send(app, asks("tools/call", 7, name="less"), session=session, **{IDENTITY: LESS})
    await send(app, asks("tools/call", 7, name="more"), session=session, **{IDENTITY: ANN})
    found = await resuming(app, session, events(mine)[0][0], LESS)
    assert [message["result"] for _, message in events(found) if "result" in message] == [{"name": "less"}]


async def listens(app, session, who, last=None):
    """A stream besides, once it is open, and its task."""
    heard = Heard()
    headers = {} if last is None else {"last-event-id": str(last)}
    task = asyncio.create_task(
        send(app, method="GET", session=session, heard=heard, headers=headers, **{IDENTITY: who})
    )
    await heard.began.wait()
    await turns()
    return task, heard


async def test_the_stream_besides_begins_anew_for_another(app, gateway):
    """Ours: it is for messages to come; nothing of its past is sent."""
    session = await opened(app, **{IDENTITY: ANN})
    connection, kept = app._sessions._sessions[session].connection, app._sessions._sessions[session].events
    await connection.notify("x/past", None)
    task, heard = await listens(app, session, LESS, last=max(kept.sent))
    await connection.notify("x/now", None)
    heard.left.set()
    await task
    assert [message and message["method"] for _, message in events(heard)] == [None, "x/now"]
    again, heard = await listens(app, session, LESS, last=events(heard)[0][0])
    heard.left.set()
    await again
    assert heard.status == 200


async def test_a_stream_ends_with_its_token(app):
    """Ours: what comes later needs a token that is valid then."""
    session = await opened(app, **{IDENTITY: ANN})
    expired = Identity(ANN.principal, ANN.key, expires=1.0)
    heard = await send(app, method="GET", session=session, **{IDENTITY: expired})
    assert (heard.status, heard.left.is_set()) == (200, False)


async def test_a_stream_ends_with_its_token_though_the_clock_jumps(app, monkeypatch):
    """TRUST.md: likewise with logins; loops count no time in which a machine sleeps."""
    clock = Clock()
    monkeypatch.setattr(event_streams, "EXPIRY_LOOK_S", 0)
    monkeypatch.setattr(event_streams, "time", SimpleNamespace(time=clock))
    session = await opened(app, **{IDENTITY: ANN})
    task, heard = await listens(app, session, Identity(ANN.principal, ANN.key, expires=clock.now + 3600))
    clock.now += 366 * 86_400
    async with asyncio.timeout(FAILSAFE_S):
        await task
    assert (heard.status, heard.left.is_set()) == (200, False)


async def test_requests_wait_until_a_session_is_open(app, gateway):
    """MCP, lifecycle: only pings before. What came with `initialize` was served as if it had been answered."""
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def answer(request):
        if request.method == "initialize":
            begun.set()
            await go_on.wait()
            return {"protocolVersion": OLD, "capabilities": {}, "serverInfo": {}}
        return {}

    gateway._pipeline.answer = answer
    heard = Heard()
    opening = asyncio.create_task(send(app, INITIALIZE, heard=heard))
    await begun.wait()
    assert not heard.sent
    [session] = app._sessions._sessions
    assert (await send(app, asks("tools/list"), session=session)).status == 400
    assert (await send(app, {**INITIALIZE, "id": 2}, session=session)).status == 400
    assert events(await send(app, asks("ping", 3), session=session))[-1][1]["result"] == {}
    go_on.set()
    await opening
    assert (await send(app, asks("tools/list"), session=session)).status == 200


async def test_an_answer_that_cannot_be_read_is_one(app):
    """Ours, as over stdio: the question would wait for ever."""
    session = await opened(app)
    connection = app._sessions._sessions[session].connection
    asking = asyncio.create_task(connection.ask("roots/list", None))
    await turns()
    unread = b'{"jsonrpc":"2.0","id":1,"result":{"roots":[' + b"[" * 500 + b"]" * 500 + b"]}}"
    assert (await send(app, unread, session=session)).status == 400
    with pytest.raises(JsonRpcError, match="nested at most"):
        await asking


async def test_one_client_has_so_many_sessions(answers, monkeypatch):
    """Ours: `MAX_PEER_SESSIONS`; the next is refused, and nobody else is. Unused ones make room."""
    monkeypatch.setattr(sessions, "MAX_PEER_SESSIONS", 2)
    app = McpEndpoint(served(answers))
    first, _ = [await opened(app, **{IDENTITY: ANN}) for _ in range(2)]
    refused = await send(app, INITIALIZE, **{IDENTITY: ANN})
    assert (refused.status, dict(refused.sent[0]["headers"])[b"retry-after"]) == (429, b"1")
    await opened(app, **{IDENTITY: BOB})
    await opened(app)
    monkeypatch.setattr(sessions, "UNUSED_S", -1)
    await opened(app, **{IDENTITY: ANN})
    assert (await send(app, asks("tools/list"), session=first, **{IDENTITY: ANN})).status == 404
    assert app._sessions._by_peer.used(ANN.key) == 2


async def test_notifications_of_one_client_are_forwarded_in_order_and_bounded(answers, gateway, monkeypatch):
    """Ours: `MAX_UNFORWARDED`; to a slow server each was another connection. The next is refused."""
    monkeypatch.setattr(sessions, "MAX_UNFORWARDED", 3)
    app = McpEndpoint(gateway)
    session = await opened(app, **{IDENTITY: ANN})
    other = await opened(app, **{IDENTITY: BOB})
    taken, go_on = [], asyncio.Event()

    async def answer(request):
        taken.append(request.params.get("n"))
        await go_on.wait()
        return {}

    gateway._pipeline.answer = answer
    heard = [Heard() for _ in range(4)]
    sent = [
        asyncio.create_task(
            send(
                app,
                {"jsonrpc": "2.0", "method": "notifications/x", "params": {"n": number}},
                session=session,
                heard=each,
                **{IDENTITY: ANN},
            )
        )
        for number, each in enumerate(heard)
    ]
    await heard[3].began.wait()
    await turns()
    assert ([each.status for each in heard], taken) == ([202, 202, 202, 429], [0])
    message = {"jsonrpc": "2.0", "method": "notifications/x"}
    note = asyncio.create_task(send(app, message, session=other, **{IDENTITY: BOB}))
    go_on.set()
    assert (await note).status == 202
    await asyncio.gather(*sent)
    assert [each for each in taken if each is not None] == [0, 1, 2]


@pytest.mark.parametrize("number", ["standalone", "", "7", 7])
async def test_a_request_has_a_stream_whatever_its_id(app, number):
    """JSON-RPC: an id is any text or number."""
    session = await opened(app)
    listening = Heard()
    stream = asyncio.create_task(send(app, method="GET", session=session, heard=listening))
    await listening.began.wait()
    heard = await send(app, asks("tools/call", number, name="t"), session=session)
    assert events(heard)[-1][1]["id"] == number
    assert [message for _, message in events(listening)] == [None]
    listening.left.set()
    await stream


async def test_a_number_and_its_text_are_two_requests(app, answers):
    """JSON-RPC: 7 and "7" are two ids; each has its own answer."""
    session = await opened(app)
    first = asyncio.create_task(send(app, asks("tools/call", 7, name="waits"), session=session))
    await answers.begun.wait()
    second = await send(app, asks("tools/call", "7", name="t"), session=session)
    answers.go_on.set()
    assert [events(heard)[-1][1]["id"] for heard in (await first, second)] == [7, "7"]


async def test_so_many_sessions_are_open(app, monkeypatch):
    """Ours: `MAX_HTTP_SESSIONS`; those that are open stay."""
    monkeypatch.setattr(sessions, "MAX_HTTP_SESSIONS", 2)
    first = await opened(app)
    second = await opened(app)
    assert (await send(app, INITIALIZE)).status == 503
    await send(app, method="DELETE", session=second)
    await opened(app)
    assert (await send(app, asks("tools/list"), session=first)).status == 200


async def test_a_session_that_is_not_opened_is_none(app, answers, monkeypatch):
    """Ours: whoever is refused holds no place."""
    monkeypatch.setattr(sessions, "MAX_HTTP_SESSIONS", 1)
    refused = await send(app, asks("initialize", 0))
    assert b'"error"' in refused.body
    await opened(app)


@pytest.mark.whole
@pytest.mark.parametrize("refusal", ["by the server", "cancelled"])
async def test_an_initialize_that_is_refused_names_no_session(gateway, answers, refusal):
    """Step 19, row 21: its session has ended, and a client that went on with the id got 404."""

    async def answer(request):
        await request.connection.notify("x/opening", None, request.id)
        if refusal == "by the server":
            raise JsonRpcError(-32000, "no more sessions")
        if refusal == "cancelled":
            request.connection.cancel(request.id)
            await asyncio.Event().wait()
        return await answers(request, None)

    app = McpEndpoint(gateway)
    gateway._pipeline.answer = answer
    refused = await send(app, INITIALIZE)
    assert b'"error"' in refused.body
    assert b"mcp-session-id" not in dict(refused.sent[0]["headers"])
    assert not app._sessions._sessions
    # What was sent before the answer is not lost.
    refusal = ""
    heard = await send(app, INITIALIZE)
    assert [message.get("method") for _, message in events(heard)] == ["x/opening", None]
    assert session_of(heard) in app._sessions._sessions


async def test_what_a_session_keeps_of_its_opening_is_bounded(app):
    """Ours: `MAX_OPENING_BYTES`; 1,000 sessions that keep 4 MB each would take more memory than there is."""
    large = {**WHO, "clientInfo": {"name": "x" * MAX_OPENING_BYTES, "version": "1"}}
    refused = await send(app, asks("initialize", 0, **large))
    assert (refused.status, json.loads(refused.body)["error"]["message"]) == (
        413,
        "Content Too Large: 'initialize' has at most 16384 bytes",
    )
    session = await opened(app)
    assert (await send(app, asks("initialize", 0, **large), session=session)).status == 413


async def test_a_session_without_requests_ends_in_time(answers, monkeypatch):
    """Ours: `HTTP_SESSION_IDLE_S`; clients that crash do not end theirs. An open stream holds it."""
    monkeypatch.setattr(sessions, "HTTP_SESSION_IDLE_S", 0.01)
    app = McpEndpoint(served(answers))
    held = await opened(app)
    heard = Heard()
    listening = asyncio.create_task(send(app, method="GET", session=held, heard=heard))
    await heard.began.wait()
    idle = await opened(app)
    async with asyncio.timeout(FAILSAFE_S):
        await answers.closed.wait()
    assert (await send(app, asks("tools/list"), session=idle)).status == 404
    assert (await send(app, asks("tools/list"), session=held)).status == 200
    heard.left.set()
    await listening
