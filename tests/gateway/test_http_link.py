"""A link to an HTTP endpoint: whatever that does, one call at most fails of it, and at once."""

import asyncio
import gzip
import logging
import os
import resource
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from mcp.shared.inbound import decode_header_value

from fixtures.failsafe import FAILSAFE_S, until
from fixtures.faulty import FAULT_OF_EACH_CLASS
from fixtures.forking import PYTHON, fork_of, kill
from fixtures.tables import in_turn
from gateway.links import EVERYTHING, FIXTURES, Ears, begun, call, fails, opened, turns
from louver.concurrency.budget import BudgetByKey, PeerBudget
from louver.errors import UpstreamError, UpstreamInvalidOutput, UpstreamTimeout, UpstreamTooLarge, UpstreamUnavailable
from louver.gateway.back.in_flight import InFlight, InFlightCall
from louver.gateway.back.transports import http
from louver.gateway.back.transports.budgets import MAX_UPSTREAM_SENDS
from louver.gateway.back.transports.http import HttpTransport
from louver.gateway.back.transports.transport import Call, RefusesAllRequests, refuse_request
from louver.http1 import pool
from louver.http1.connection import _Gzip
from louver.limits import MAX_READ_ON_LOOP, MAX_UPSTREAM_BYTES, MAX_UPSTREAM_QUESTIONS
from louver.wire.jsonrpc.errors import JsonRpcError

OLD, NEW = "2025-11-25", "2026-07-28"
NOT_ANSWERED = "a question of the upstream could not be answered: OSError"

pytestmark = pytest.mark.anyio


@pytest.fixture
def served():
    """Start a server that prints its URL; its process is ended with the test."""
    started = []

    def start(*command):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        started.append(process)
        return process, process.stdout.readline().strip()

    yield start
    for process in started:
        if process.poll() is None:
            kill(process)
        process.stdout.close()


@pytest.fixture
def faulty(served):
    return served(PYTHON, str(FIXTURES / "faulty_http.py"))


@pytest.fixture
def server(faulty):
    return faulty[0]


@pytest.fixture
async def ears():
    return Ears(**{"roots/list": {"roots": []}})


@pytest.fixture(params=[OLD, NEW])
def era(request):
    """Each protocol revision."""
    return request.param


@pytest.fixture
async def link(faulty, ears, era):
    """A link in each revision, without a session."""
    async with opened(HttpTransport(faulty[1], headers={"Authorization": "Bearer t"}, listener=ears)) as link:
        link.set_version(era)
        yield link


@pytest.fixture
async def session(faulty, ears):
    """A link of 2025 in a session."""
    async with opened(HttpTransport(faulty[1], listener=ears)) as link:
        await link.call(Call("initialize", {"protocolVersion": OLD}, ears.on_notification, ears.on_request))
        link.set_version(OLD)
        yield link


async def seen(link, kind, times=1):
    """What the server got of that kind, once it was so many."""
    return (await call(link, "wait_for", seen=kind, times=times))["seen"]


# What it is for


async def test_a_call_gets_its_result_as_it_stands(link):
    result = await call(link, "echo", a=None, b=[2**70, "é"], meta={"x.y/z": 1, "progressToken": "t"})
    assert result["params"]["arguments"] == {"a": None, "b": [2**70, "é"]}
    assert result["params"]["_meta"] == {"x.y/z": 1, "progressToken": "t"}
    assert result["headers"]["authorization"] == "Bearer t"
    assert not link.is_stateful


async def test_headers_say_what_the_revision_wants(link, era, ears):
    """2026-07-28: method and name for those who route; and what the call brings."""
    params = {"name": "echo", "arguments": {}}
    one = Call("tools/call", params, ears.on_notification, ears.on_request, {"Mcp-Param-Region": "here"})
    headers = (await link.call(one))["headers"]
    named = {name: headers[name] for name in ("mcp-method", "mcp-name") if name in headers}
    assert headers["mcp-protocol-version"] == era
    assert headers["mcp-param-region"] == "here"
    assert named == ({"mcp-method": "tools/call", "mcp-name": "echo"} if era == NEW else {})


async def test_a_configured_header_does_not_replace_the_protocols(faulty, ears):
    """Ours: names of headers are the same in any case."""
    async with opened(HttpTransport(faulty[1], headers={"Accept": "text/html"}, listener=ears)) as link:
        headers = (await call(link, "echo"))["headers"]
    assert headers["accept"] == "application/json, text/event-stream"


async def test_a_session_begins_with_initialize_and_ends_with_the_link(faulty, session, ears):
    """MCP 2025-11-25, session management; no cookie is kept."""
    await session.notify("notifications/initialized", None)
    assert session.is_stateful
    (opening,) = await seen(session, "initialize")
    (told,) = await seen(session, "notifications/initialized")
    assert "mcp-session-id" not in opening["headers"]
    assert "mcp-protocol-version" not in opening["headers"]
    assert told["headers"]["mcp-session-id"] == "session-1"
    assert told["headers"]["mcp-protocol-version"] == OLD
    assert "cookie" not in told["headers"]
    await session.close()
    await fails(call(session, "echo"), UpstreamUnavailable)
    async with opened(HttpTransport(faulty[1], listener=ears)) as other:
        (ended,) = await seen(other, "DELETE")
    assert ended["headers"]["mcp-session-id"] == "session-1"


async def test_a_name_that_is_no_header_is_encoded(link, era):
    """2026-07-28; as the SDK reads it."""
    for name in ("é", " x", "=?base64?eA==?="):
        headers = (await call(link, name))["headers"]
        assert decode_header_value(headers.get("mcp-name")) == (name if era == NEW else None)


@pytest.mark.parametrize(("end", "era"), in_turn(["\n", "\r\n", "\r"], [OLD, NEW]))
async def test_what_was_said_before_a_result_is_heard_before_it(link, ears, end):
    """The HTML standard, "Server-sent events": lines end in three ways, and chunks anywhere."""
    own = Ears()
    await call(link, "progress", ears=own, meta={"progressToken": "p"}, steps=50, end=end)
    assert [(params["progressToken"], params["progress"]) for _, params in own.notes] == [("p", n) for n in range(50)]
    assert ears.notes == []


async def test_a_question_with_the_id_zero_is_answered_by_whom_the_call_is_for(link, ears):
    """PRIVACY.md; a stream tells which call caused it, and goes on meanwhile."""
    own = Ears()

    async def after_the_next_note(params):
        await own.hears(1)
        return {"roots": [params]}

    own.answers["roots/list"] = after_the_next_note
    answered = (await call(link, "ask", ears=own, a=1))["answered"]
    assert answered == {"jsonrpc": "2.0", "id": 0, "result": {"roots": [{"of": {"a": 1}}]}}
    assert ears.questions == []


@pytest.mark.parametrize("tool", ["ask_and_take_back", "ask_and_answer"])
async def test_a_question_that_nobody_asks_any_more_is_dropped(link, tool):
    """MCP, cancellation; and so is one whose call has its result."""
    own = Ears()
    dropped = asyncio.Event()

    async def never(params):
        try:
            await asyncio.Event().wait()
        finally:
            dropped.set()

    own.answers["roots/list"] = never
    await call(link, tool, ears=own)
    if own.questions:
        async with asyncio.timeout(FAILSAFE_S):
            await dropped.wait()
    assert own.notes == []


@pytest.mark.parametrize("ends", [asyncio.CancelledError, OSError])
async def test_a_call_that_ends_while_its_question_is_open_is_no_fault(link, caplog, ends):
    """Ours: nothing is logged as failed but what has failed, and a question that fails at its end is not answered."""
    own, asked, over = Ears(), asyncio.Event(), asyncio.Event()

    async def never(params):
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            over.set()
            raise ends

    own.answers["roots/list"] = never
    ask = Call("tools/call", {"name": "ask", "arguments": {}}, own.on_notification, own.on_request)

    async def waiting():
        with InFlightCall(InFlight(FAILSAFE_S), ask, None) as open_call:
            await link.call(open_call.call)

    calling = await begun(waiting())
    await asked.wait()
    calling.cancel()
    await over.wait()
    await turns()
    errors = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    assert errors == ([] if ends is asyncio.CancelledError else [NOT_ANSWERED])
    assert "answer" not in (await call(link, "wait_for", seen="tools/call"))["kinds"]


async def test_cancelling_a_call_tells_the_upstream(link, era):
    """2026-07-28: the connection ends; before, that means nothing, so it is said too."""
    silent = await begun(call(link, "silent"))
    await seen(link, "tools/call", 2)
    silent.cancel()
    with pytest.raises(asyncio.CancelledError):
        await silent
    assert (await seen(link, "gone"))[0]["id"] == 1
    if era == OLD:
        (cancelled,) = await seen(link, "notifications/cancelled")
        assert cancelled["message"]["params"] == {"requestId": 1}
    else:
        assert "notifications/cancelled" not in (await call(link, "wait_for", seen="gone"))["kinds"]


@pytest.mark.parametrize("tool", ["no_answer", "endless"])
async def test_of_a_call_whose_stream_breaks_off_the_upstream_is_told_that_it_is_cancelled(session, tool):
    """2025-11-25: the end of a connection means nothing, and nobody hears the answer any more."""
    await fails(call(session, tool), UpstreamError)
    (cancelled,) = await seen(session, "notifications/cancelled")
    assert cancelled["message"]["params"] == {"requestId": 2}


@pytest.mark.parametrize("refusal", [{}, {"body": {"jsonrpc": "2.0", "id": 2, "error": {"code": 1, "message": "no"}}}])
async def test_of_a_call_that_is_refused_the_upstream_is_told_nothing_more(session, refusal):
    """2025-11-25, cancellation: of requests alone that are in progress."""
    await fails(call(session, "status", status=503, **refusal), (UpstreamError, JsonRpcError))
    while session._tasks._tasks:
        await asyncio.wait(session._tasks._tasks)
    assert "notifications/cancelled" not in (await call(session, "wait_for", seen="tools/call"))["kinds"]


async def test_connections_are_kept(link):
    """Ours: also after a stream, whose end comes after its answer."""
    for tool in ("echo", "progress", "echo"):
        await call(link, tool, meta={"progressToken": 1}, steps=3, end="\n")
        if link._tasks._tasks:
            await asyncio.wait(link._tasks._tasks)
    await link.notify("notifications/initialized", None)
    assert len(await seen(link, "connected")) == 1


# What nobody waits for


@pytest.mark.parametrize(("body", "era"), in_turn(["bomb", "endless"], [OLD, NEW]))
async def test_what_a_notification_is_answered_with_is_not_read(link, body):
    """TRUST.md: a body that nobody reads is not decompressed, and ends its connection if it is long."""
    await call(link, "configure", body_of_notifications=body)
    for _ in range(3):
        await link.notify("notifications/initialized", None)
    assert len(await seen(link, "connected")) == 4


async def test_a_notification_that_is_not_accepted_is_given_up(link, monkeypatch):
    """TRUST.md: a send has a deadline; its connection is closed, and its place is free."""
    monkeypatch.setattr(http, "UPSTREAM_SEND_SECONDS", 0.05)
    await call(link, "configure", status_of_notifications=None)
    error = await fails(link.notify("notifications/initialized", None), UpstreamTimeout)
    assert error.message == "the upstream has not accepted a message in 0.05 s"
    await seen(link, "notifications/initialized not taken")
    assert link._budgets.notifications.used == 0


async def test_notifications_over_the_budget_are_refused(link):
    """TRUST.md: the bound is named; calls go on."""
    link._budgets.notifications = PeerBudget(2)
    await call(link, "configure", status_of_notifications=None)
    sent = [await begun(link.notify("notifications/progress", {})) for _ in range(2)]
    error = await fails(link.notify("notifications/progress", {}), UpstreamUnavailable)
    assert error.message == "the upstream has not accepted 2 earlier notifications"
    assert error.fields["limit"] == 2
    await call(link, "echo")
    for each in sent:
        each.cancel()
    await asyncio.wait(sent)
    assert link._budgets.notifications.used == 0


async def test_calls_of_one_client_leave_connections_for_others(link):
    """TRUST.md: 400 calls of one client to a slow tool took all connections, and the calls of others failed."""
    link._budgets.calls = BudgetByKey(2)
    await call(link, "configure")
    held = [await begun(call(link, "silent", peer="ann")) for _ in range(2)]
    error = await fails(call(link, "echo", peer="ann"), UpstreamUnavailable)
    assert error.message == "one client has at most 2 calls of the upstream at once"
    assert error.fields["limit"] == 2
    assert (await call(link, "echo", peer="bob"))["params"]["name"] == "echo"
    for each in held:
        each.cancel()
    await asyncio.wait(held)
    assert (await call(link, "echo", peer="ann"))["params"]["name"] == "echo"
    assert len(link._budgets.calls) == 0


async def test_answers_that_are_not_accepted_take_few_connections(link):
    """TRUST.md, row 1: 1,000 pings of an upstream that takes no answers took all descriptors."""
    await call(link, "configure", status_of_notifications=None)
    for _ in range(3):
        await call(link, "ping", times=1000)
    assert link.stray_messages.count >= 3000 - MAX_UPSTREAM_QUESTIONS
    await seen(link, "answer", MAX_UPSTREAM_SENDS)
    # Besides: the calls', and those whose streams were not at their end yet.
    assert link._budgets.connections.used <= MAX_UPSTREAM_SENDS + 4


async def test_a_ping_is_answered_by_the_link(link, ears):
    """MCP, ping: at once, whatever the client is."""
    answered = (await call(link, "ask", asks="ping"))["answered"]
    assert (answered, ears.questions) == ({"jsonrpc": "2.0", "id": 0, "result": {}}, [])


async def test_a_method_that_no_client_has_is_refused_by_the_link(link, ears):
    """JSON-RPC: -32601; it is passed on to nobody."""
    answered = (await call(link, "ask", asks="x.y/unknown"))["answered"]
    assert (answered["error"]["code"], ears.questions) == (-32601, [])


async def test_requests_of_an_upstream_are_counted_over_all_its_streams(link, ears):
    """TRUST.md: a budget of the upstream; what is over it gets no answer."""
    human = asyncio.Event()

    async def later(params):
        await human.wait()
        return {}

    ears.answers["roots/list"] = later
    link._budgets.questions = PeerBudget(1)
    asking = [await begun(call(link, "ask", ears=ears)) for _ in range(2)]
    await until(lambda: link.stray_messages.count)
    human.set()
    await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
    assert len(ears.questions) == 1
    for each in asking:
        each.cancel()
    await asyncio.wait(asking)
    await until(lambda: not link._budgets.questions.used)


async def test_many_packed_answers_at_once_do_not_hold_up_others(link):
    """TRUST.md, row 2: decompression gives others a turn between pieces."""
    await asyncio.gather(*(call(link, "bombs", times=50) for _ in range(50)))


@pytest.mark.parametrize(("line", "era"), in_turn(["", ":", "data:{}\n", "id:1\n"], [OLD, NEW]))
async def test_a_stream_of_tiny_lines_does_not_hold_up_others(link, line):
    """Ours: a piece of a stream can have 250,000 lines."""
    await call(link, "lines", line=line, times=1_000_000 // (len(line) + 1))


# The stream of a session


async def test_a_session_is_heard(session, ears):
    """MCP 2025-11-25: what no call is about comes over a stream of its own."""
    await session.listen()
    await seen(session, "GET")
    await call(session, "change", times=3)
    await ears.hears(3)
    assert set(ears.methods) == {"notifications/tools/list_changed"}
    answered = (await call(session, "ask_unasked"))["answered"]
    assert answered == {"jsonrpc": "2.0", "id": 0, "result": {"roots": []}}


async def test_the_stream_of_a_session_is_opened_anew(session, ears):
    """Ours: when it ends."""
    await session.listen()
    await seen(session, "GET")
    await call(session, "end_stream")
    await seen(session, "GET", 2)
    await call(session, "change")
    await ears.hears(1)
    # In between nothing could be told.
    assert ears.open == [True, False, True]


async def test_an_upstream_need_have_no_such_stream(session, ears):
    """MCP 2025-11-25: 405."""
    await call(session, "configure", has_stream=False)
    await session.listen()
    while session._tasks._tasks:
        await asyncio.wait(session._tasks._tasks)
    assert len(await seen(session, "GET")) == 1
    assert not ears.gone_for.done()
    assert ears.open == []


async def test_an_answer_that_comes_too_late_harms_nobody(session, ears, server, caplog):
    """Ours: the upstream has gone while its question was asked."""

    async def end(params):
        kill(server)
        return {}

    ears.answers["roots/list"] = end
    await session.listen()
    await seen(session, "GET")
    with caplog.at_level(logging.INFO):
        await fails(call(session, "ask_unasked"), UpstreamUnavailable)
        while session._tasks._tasks and "have not reached the upstream: 1, the last: an answer" not in caplog.text:
            await asyncio.wait(session._tasks._tasks, return_when=asyncio.FIRST_COMPLETED)


async def test_a_listener_that_fails_hears_the_next(session, ears, caplog):
    """Ours: and the log tells no more than the kind of the error."""
    heard = ears.on_notification

    async def fail_once(method, params):
        ears.on_notification = heard
        raise ValueError("secret")

    ears.on_notification = fail_once
    await session.listen()
    await call(session, "change", times=2)
    await ears.hears(1)
    assert "ValueError" in caplog.text
    assert "secret" not in caplog.text


async def test_there_is_no_such_stream_in_the_new_era(link, era):
    """2026-07-28: `subscriptions/listen` is a call."""
    await link.listen()
    assert bool(link._tasks._tasks) == (era == OLD)


async def test_a_session_that_is_over_is_told_once(session, ears):
    """MCP 2025-11-25: 404 to a session id."""
    error = await fails(call(session, "status", status=404), UpstreamUnavailable)
    assert str(error) == await ears.gone_for == "the upstream knows the session no more: HTTP 404"
    await fails(call(session, "status", status=404), UpstreamUnavailable)


async def test_a_session_that_is_over_leaves_nothing_open(faulty, ears):
    """Ours: who opens a new one each time has no more connections than at first."""
    files, work = len(os.listdir("/proc/self/fd")), asyncio.all_tasks()
    link = HttpTransport(faulty[1], listener=ears)
    await link.open()
    await link.call(Call("initialize", {"protocolVersion": OLD}, ears.on_notification, ears.on_request))
    link.set_version(OLD)
    await link.listen()
    await seen(link, "GET")
    silent = await begun(call(link, "silent"))
    await seen(link, "tools/call", 3)
    await fails(call(link, "status", status=404), UpstreamUnavailable)
    assert str(await fails(silent, UpstreamUnavailable)) == await ears.gone_for
    await until(lambda: len(os.listdir("/proc/self/fd")) <= files and asyncio.all_tasks() <= work)
    await link.close()


# Streams that are taken up again


@pytest.mark.parametrize("cut", [False, True])
async def test_a_stream_is_taken_up_again_when_the_upstream_says(session, monkeypatch, cut):
    """SEP-1699, and the official scenario `sse-retry`: not before, and no other stream meanwhile."""
    await session.listen()
    await seen(session, "GET")
    own, waits = Ears(), []

    async def wait(seconds):
        waits.append(seconds)

    monkeypatch.setattr(http, "asyncio", SimpleNamespace(**{**vars(asyncio), "sleep": wait}))
    assert await call(session, "reconnect", ears=own, cut=cut, ends_session_stream=True) == {"value": "resumed"}
    assert waits == [0.5]
    _, resumed = (await seen(session, "GET", 2))[:2]
    assert resumed["headers"]["last-event-id"] == "event-3-0"
    assert [params["data"] for _, params in own.notes] == ["again"]


async def test_a_stream_may_be_closed_many_times(session):
    """SEP-1699: an upstream that lets its client poll; each time it says something new."""
    assert await call(session, "reconnect", times=12, retry=1) == {"value": "resumed"}


async def test_a_stream_on_which_nothing_new_comes_is_given_up(session):
    """Ours: five times in a row."""
    await fails(call(session, "reconnect", retry=1, answers=False), UpstreamUnavailable)


async def test_an_upstream_that_goes_while_a_stream_waits_is_told(session, server):
    """Ours: it may be there again after the first attempt, but not after the fifth."""
    waiting = await begun(call(session, "reconnect", retry=10))
    await seen(session, "closed")
    kill(server)
    await fails(waiting, UpstreamUnavailable)


@pytest.mark.parametrize("status", [400, 404, 503])
async def test_an_upstream_that_does_not_know_the_stream_any_more_is_told(session, status):
    """Ours: at once."""
    await call(session, "configure", status_of_resumption=status)
    error = await fails(call(session, "reconnect", retry=1), UpstreamUnavailable)
    assert error.fields == {"status": status}


async def test_cancelling_a_call_that_waits_lets_other_streams_go_on(session):
    waiting = asyncio.create_task(call(session, "reconnect", retry=60_000))
    await seen(session, "closed")
    waiting.cancel()
    await asyncio.wait([waiting])
    await session.listen()
    await seen(session, "GET")
    await seen(session, "notifications/cancelled")


async def test_in_the_new_era_a_stream_that_ends_is_lost(link, era):
    """2026-07-28 has no resumption."""
    if era == NEW:
        await fails(call(link, "reconnect", retry=1), UpstreamUnavailable)


# What it may do wrong


@pytest.mark.parametrize(("stream", "era"), [(False, OLD), (True, NEW)])
async def test_an_answer_that_is_not_strict_fails_its_call(link, stream):
    """GATEWAY.md, "JSON strictly"; `tests/wire/jsonrpc` has the other faults."""
    for fault in FAULT_OF_EACH_CLASS:
        error = await fails(call(link, fault, stream=stream), (UpstreamInvalidOutput, UpstreamTooLarge))
        assert isinstance(error, UpstreamTooLarge) == fault.startswith("brackets"), fault


async def test_an_integer_of_five_thousand_digits_is_kept(link):
    assert await call(link, "digits") == {"value": 1 - 10**5000}


@pytest.mark.parametrize(("stream", "era"), in_turn([False, True], [OLD, NEW]))
async def test_an_answer_just_below_the_bound_is_read(link, stream):
    size = MAX_UPSTREAM_BYTES - 200
    assert len((await call(link, "large", size=size, stream=stream))["text"]) == size


@pytest.mark.parametrize(
    ("tool", "arguments", "era"),
    in_turn(
        [
            ("large", {"size": 17 * 2**20}),
            ("large", {"size": 17 * 2**20, "stream": True}),
            ("endless", {}),
            ("bomb", {"size": 200 * 2**20}),
            ("members", {"size": 2**18, "each": 16}),
        ],
        [OLD, NEW],
    ),
)
async def test_an_answer_over_the_bound_fails_its_call_alone(link, tool, arguments):
    """GATEWAY.md: counted after decompression; other calls go on."""
    other = asyncio.create_task(call(link, "silent"))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    await fails(call(link, tool, **arguments), UpstreamTooLarge)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 40 * 1024
    assert not other.done()
    other.cancel()


@pytest.mark.parametrize(
    ("tool", "error", "era"),
    in_turn(
        [
            ("not_gzip", "the upstream's answer is not compressed as it says"),
            ("half_gzip", "the upstream's answer is not compressed as it says"),
            ("brotli", "the upstream's answer is compressed in a way that was not asked for"),
            ("html", "the upstream answers with neither JSON nor a stream of events"),
            ("wrong_id", "the upstream answers another request than it was sent"),
            ("without_id", "the upstream answers another request than it was sent"),
        ],
        [OLD, NEW],
    ),
)
async def test_what_is_no_answer_is_told(link, tool, error):
    assert str(await fails(call(link, tool), UpstreamInvalidOutput)) == error


async def test_the_number_of_a_request_may_come_back_as_a_text(link):
    """Both SDKs take it for the number."""
    assert await call(link, "as_text") == {}


@pytest.mark.parametrize(("tool", "era"), in_turn(["bomb", "to_the_end", "large"], [OLD, NEW]))
async def test_an_answer_may_be_compressed_and_end_with_its_connection(link, tool):
    """RFC 9112, 6.3; more than the gateway takes up before it is read."""
    size = 3 * 2**20
    for _ in range(2):
        assert len((await call(link, tool, size=size))["text"]) == size


@pytest.mark.parametrize(("each", "era"), in_turn([2**16, 2**19, 2**22], [OLD, NEW]))
async def test_an_answer_may_be_compressed_in_parts(link, each):
    """RFC 1952, section 2.2: block compressors write many members, the last one empty."""
    size = 3 * 2**20
    assert len((await call(link, "members", size=size, each=each))["text"]) == size


@pytest.mark.parametrize("size", [1, 7, 100])
def test_the_parts_of_a_compressed_answer_are_read_however_they_come(size):
    """Ours: the beginning of one may come apart."""
    body, read = b"".join(map(gzip.compress, (b"one", b"", b"two"))) + b"\0\0", _Gzip()
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    assert b"".join(made for piece in pieces for made in read.feed(piece)) == b"onetwo"
    read.end()


@pytest.mark.parametrize(("behind", "era"), in_turn(["\n", 1000 * "\0", "\x1f", 100_000 * "x"], [OLD, NEW]))
async def test_what_stands_behind_a_compressed_answer_is_left_out(link, behind):
    """As gzip itself does with padding."""
    assert len((await call(link, "members", size=1000, each=500, behind=behind))["text"]) == 1000


@pytest.mark.parametrize(
    ("stream", "tiny", "era"),
    [(False, False, OLD), (False, True, NEW), (True, False, NEW), (True, True, OLD)],
)
async def test_an_upstream_may_close_its_connection_after_an_answer(link, stream, tiny):
    """RFC 9112, 9.6: each answer is read, and the next call makes a connection of its own."""
    for _ in range(3):
        assert len((await call(link, "closes", stream=stream, tiny=tiny))["text"]) == 10


async def test_an_answer_in_tiny_pieces_holds_up_nobody(link):
    """PRIVACY.md: the event loop never stalls over 250 ms."""
    assert len((await call(link, "tiny", size=100_000))["text"]) == 100_000


async def test_a_host_that_there_cannot_be_is_told(ears):
    async with opened(HttpTransport("http://a..b/mcp", listener=ears)) as link:
        error = await fails(call(link, "echo"), UpstreamUnavailable)
    assert str(error) == "the upstream cannot be reached: its host is no name of one"


async def test_an_interim_answer_is_none(link):
    """RFC 9110, 15.2."""
    assert (await call(link, "interim"))["params"]["name"] == "interim"


async def test_what_is_not_http_is_told_without_it(link):
    error = await fails(call(link, "not_http"), UpstreamUnavailable)
    assert str(error) == "the upstream cannot be reached: its answer is not HTTP/1.1"


async def test_an_idle_connection_ends_by_itself(link, monkeypatch):
    """Ours: the upstream is about to end it, and it is a descriptor."""
    connections, budgets = link._endpoint._connections, link._budgets
    monkeypatch.setattr(pool, "UPSTREAM_IDLE_SECONDS", 0.01)
    await call(link, "echo")
    await until(lambda: not connections._connections)
    assert [budgets.connections.used, budgets.idle.used] == [0, 0]
    await call(link, "echo")
    assert len(await seen(link, "connected")) == 2


async def test_a_url_names_who_asks(faulty, ears):
    """RFC 7617; what the configuration says of its own accord counts more."""
    url = faulty[1].replace("http://", "http://ann:s%40cret@")
    async with opened(HttpTransport(url, listener=ears)) as link:
        assert (await call(link, "echo"))["headers"]["authorization"] == "Basic YW5uOnNAY3JldA=="
    async with opened(HttpTransport(url, headers={"Authorization": "Bearer t"}, listener=ears)) as link:
        assert (await call(link, "echo"))["headers"]["authorization"] == "Bearer t"


async def test_a_header_that_cannot_be_sent_is_told_without_it(faulty, ears):
    async with opened(HttpTransport(faulty[1], headers={"x-key": "a\nb"}, listener=ears)) as link:
        error = await fails(call(link, "echo"), UpstreamUnavailable)
    assert str(error) == "a header for the upstream cannot be sent over HTTP"


async def test_on_a_stream_what_is_for_nobody_is_dropped(link, caplog):
    """Ours: as over a pipe; of a doubled answer the first counts."""
    assert await call(link, "doubled") == {"which": "first"}
    assert link.stray_messages.count == 3
    assert "yours" not in caplog.text


@pytest.mark.parametrize(("status", "era"), in_turn([301, 302, 303, 307, 308], [OLD, NEW]))
async def test_no_redirect_is_followed(link, status):
    """GATEWAY.md: to another host a header with a secret would go."""
    error = await fails(call(link, "redirect", status=status), UpstreamUnavailable)
    assert str(error) == f"the upstream redirects, which is not followed: HTTP {status}"
    assert {one["path"] for one in await seen(link, "tools/call")} == {"/mcp"}
    assert len(await seen(link, "connected")) <= 2


@pytest.mark.parametrize(
    ("status", "said", "era"),
    in_turn(
        [
            (401, "the upstream does not take the gateway's credentials: HTTP 401"),
            (403, "the upstream does not take the gateway's credentials: HTTP 403"),
            (404, "the upstream answers with HTTP 404"),
            (429, "the upstream answers with HTTP 429"),
            (503, "the upstream answers with HTTP 503"),
        ],
        [OLD, NEW],
    ),
)
async def test_a_status_is_told_without_the_body(link, status, said):
    assert str(await fails(call(link, "status", status=status), UpstreamUnavailable)) == said


@pytest.mark.parametrize(("number", "era"), in_turn([None, 1], [OLD, NEW]))
async def test_an_error_in_a_refusal_is_that_error(link, number):
    """2026-07-28: -32021 comes with 400, -32601 with 404."""
    body = {"jsonrpc": "2.0", "id": number, "error": {"code": -32021, "message": "m", "data": {"a": 1}}}
    error = await fails(call(link, "status", status=400, body=body), JsonRpcError)
    assert (error.code, error.message, error.data) == (-32021, "m", {"a": 1})


@pytest.mark.parametrize(
    ("status", "of_all", "era"),
    in_turn([(401, True), (429, True), (503, True), (400, False), (500, False)], [OLD, NEW]),
)
async def test_an_error_that_says_nothing_of_the_request_tells_so(link, status, of_all):
    """Ours: 401 and 403 are of the gateway's credentials, 429 and 502 to 504 of how the server fares."""
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "m", "data": 1}}
    error = await fails(call(link, "status", status=status, body=body), JsonRpcError)
    assert (error.code, error.message, error.data) == (-32000, "m", 1)
    assert isinstance(error, RefusesAllRequests) is of_all
    assert not of_all or error.problem.endswith(f" HTTP {status}")


async def test_a_request_that_is_only_accepted_has_no_answer(link):
    await fails(call(link, "status", status=202), UpstreamInvalidOutput)


@pytest.mark.parametrize(("stream", "era"), in_turn([False, True], [OLD, NEW]))
async def test_an_answer_that_is_cut_off_fails_its_call(link, stream):
    await fails(call(link, "cut", stream=stream), UpstreamUnavailable)
    await call(link, "echo")


async def test_a_stream_that_ends_without_an_answer_fails_its_call(link):
    own = Ears()
    error = await fails(call(link, "no_answer", ears=own), UpstreamUnavailable)
    assert str(error) == "the upstream's stream has ended without an answer"
    assert len(own.notes) == 1


async def test_a_stream_that_stays_open_after_its_answer_holds_up_nobody(link):
    await call(link, "lingers")


@pytest.mark.parametrize(("stream", "era"), in_turn([False, True], [OLD, NEW]))
async def test_a_killed_server_fails_its_calls_at_once(link, server, stream):
    """GATEWAY.md: in-flight calls are answered; the link itself has no deadline."""
    silent = await begun(call(link, "silent", stream=stream))
    await seen(link, "tools/call", 2)
    await fails(call(link, "die"), UpstreamUnavailable)
    await fails(silent, UpstreamUnavailable)
    await fails(call(link, "echo"), UpstreamUnavailable)


async def test_a_stopped_server_blocks_nobody(link, server):
    """SIGSTOP: a deadline is the caller's, and closing does not wait."""
    stopping = await begun(call(link, "stop"))
    await until(lambda: Path(f"/proc/{fork_of(server.pid)}/stat").read_text().rpartition(")")[2].split()[0] == "T")
    stopped, given_up = [await begun(call(link, "echo")) for _ in range(2)]
    for each in (stopping, given_up):
        each.cancel()
    await asyncio.wait([stopping, given_up])
    await link.close()
    await fails(stopped, UpstreamUnavailable)


async def test_closing_fails_what_is_open(link):
    silent = await begun(call(link, "silent"))
    await seen(link, "tools/call", 2)
    await link.close()
    await fails(silent, UpstreamUnavailable)


async def test_a_notification_that_is_not_taken_is_told(link):
    await call(link, "configure", status_of_notifications=400)
    await fails(link.notify("notifications/initialized", None), UpstreamUnavailable)


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/", "not a url", "http:///mcp", "http://[::", ""])
async def test_a_url_that_is_none_is_told(ears, url):
    await fails(HttpTransport(url, listener=ears).open(), UpstreamUnavailable)


async def test_an_upstream_that_is_not_there_is_told_without_its_url(ears):
    """Ours: a URL may hold a secret."""
    async with opened(HttpTransport("http://127.0.0.1:1/?key=secret", listener=ears)) as link:
        error = await fails(call(link, "echo"), UpstreamUnavailable)
    assert str(error) == "the upstream cannot be reached: connection refused"


async def test_no_proxy_is_taken_from_the_environment(faulty, ears, monkeypatch):
    """Ours: it would see what is said."""
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    async with opened(HttpTransport(faulty[1], listener=ears)) as link:
        assert await call(link, "echo")


# A server of the SDK


@pytest.fixture
def everything(served):
    return served(*EVERYTHING, "--http", "0")[1]


async def test_a_server_of_the_sdk_is_spoken_to(everything, ears):
    """2025: a session, progress, a question, a stream that is closed and taken up again."""
    async with opened(HttpTransport(everything, listener=ears)) as link:
        hello = {
            "protocolVersion": OLD,
            "capabilities": {"sampling": {}},
            "clientInfo": {"name": "t", "version": "1"},
        }
        result = await link.call(Call("initialize", hello, ears.on_notification, ears.on_request))
        link.set_version(result["protocolVersion"])
        await link.notify("notifications/initialized", None)
        await link.listen()
        own = Ears(**{"sampling/createMessage": sampled})
        progress = await call(link, "test_tool_with_progress", ears=own, meta={"progressToken": 0})
        model = await call(link, "test_sampling", ears=own, prompt="Hi")
        resumed = await call(link, "test_reconnection", ears=own)
    texts = [result["content"][0]["text"] for result in (progress, model, resumed)]
    assert texts[1:] == ["LLM response: HI", "Reconnection test completed"]
    steps = [params["progress"] for method, params in own.notes if method == "notifications/progress"]
    assert steps == [0, 50, 100]


async def test_a_server_of_the_sdk_is_spoken_to_without_a_session(everything, ears):
    """2026-07-28."""
    envelope = {
        "io.modelcontextprotocol/protocolVersion": NEW,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
    }
    async with opened(HttpTransport(everything, listener=ears)) as link:
        link.set_version(NEW)
        own = Ears()
        discovered = await link.call(Call("server/discover", {"_meta": envelope}, own.on_notification, own.on_request))
        progress = await call(link, "test_tool_with_progress", ears=own, meta={**envelope, "progressToken": "p"})
        refused = await fails(call(link, "test_sampling", prompt="Hi", meta=envelope), JsonRpcError)
    assert NEW in discovered["supportedVersions"]
    assert progress["resultType"] == "complete"
    assert [params["progress"] for _, params in own.notes] == [0, 50, 100]
    assert refused.code == -32021


async def sampled(params):
    words = params["messages"][0]["content"]["text"].upper()
    return {"role": "assistant", "content": {"type": "text", "text": words}, "model": "none"}


class Pieces:
    """A response with these pieces."""

    def __init__(self, *pieces):
        self.left = list(pieces)

    async def piece(self):
        return self.left.pop(0) if self.left else None


async def test_large_events_are_read_a_turn_each(link):
    """GATEWAY.md: the event loop never stalls over 250 ms; one of 256 KiB may take 100, and four came in a row."""
    heard, seen = [], set()

    async def hears(method, params):
        heard.append(method)

    async def others():
        while True:
            seen.add(len(heard))
            await asyncio.sleep(0)

    # As large as what is read on the event loop.
    note = b'{"jsonrpc":"2.0","method":"m","params":{"text":"%b"}}'
    event = b"data: " + note % (b"x" * (MAX_READ_ON_LOOP - len(note) + 2)) + b"\n\n"
    going = asyncio.create_task(others())
    assert await link._event_stream(1, hears, refuse_request).answer(Pieces(3 * event)) is None
    going.cancel()
    assert {1, 2} <= seen
    assert len(heard) == 3
