"""Upstreams over the older HTTP with SSE: a server of the SDK, and others that do what they should not."""

from __future__ import annotations

import asyncio
import json
import subprocess
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

import pytest

from fixtures.failsafe import FAILSAFE_S, until
from gateway.gateways import EVERYTHING
from gateway.links import Ears, call, fails, opened
from gateway.raw import raw
from gateway.served import config, serving
from louver import limits
from louver.errors import UpstreamInvalidOutput, UpstreamTimeout, UpstreamUnavailable
from louver.gateway.back.transports import sse as module
from louver.gateway.back.transports.http import HttpTransport
from louver.gateway.back.transports.sse import SseTransport
from louver.gateway.back.transports.transport import Call

pytestmark = pytest.mark.anyio

ABLE = {"elicitation": {"form": {}}, "sampling": {}, "roots": {}}
ANSWERS = {"elicitation/create": {"action": "accept", "content": {"response": "yes"}}}


@contextmanager
def everything(port="0"):
    """The URL of the fixture server over SSE, by a process of its own."""
    with subprocess.Popen([*EVERYTHING, "--sse", port], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline().strip(), process
        finally:
            process.kill()


@pytest.fixture(scope="module")
def urls(tmp_path_factory):
    """Gateways before the server over SSE, and before the same over stdio."""
    with everything() as (url, _):
        folders = [tmp_path_factory.mktemp("sse"), tmp_path_factory.mktemp("stdio")]
        servers = [{"type": "sse", "url": url}, {"command": EVERYTHING[0], "args": EVERYTHING[1:]}]
        options = [config(folder, {"it": server}) for folder, server in zip(folders, servers, strict=True)]
        with serving(*options[0]) as one, serving(*options[1]) as other:
            yield one.url, other.url


async def said(url, era):
    """What a client gets, in lists, answers, notes and questions."""
    async with raw(url, era, capabilities=ABLE, answers=ANSWERS) as client:
        got = [await client.result(f"{kind}/list") for kind in ("tools", "prompts", "resources")]
        got += [
            await client.call(name)
            for name in ("test_simple_text", "test_multiple_content_types", "test_error_handling")
        ]
        got.append(await client.request("tools/call", name="none", arguments={}))
        got.append(await client.result("resources/read", uri="test://static-text"))
        if era == "2025-11-25":
            meta = {"progressToken": "t"}
            got.append(await client.result("tools/call", name="test_tool_with_progress", arguments={}, _meta=meta))
            form = {"message": "Sure?"}
            got.append(await client.result("tools/call", name="test_elicitation", arguments=form))
            got += [client.notes, [question["method"] for question in client.questions]]
    return [
        {key: member for key, member in each.items() if key != "id"} if isinstance(each, dict) else each for each in got
    ]


@pytest.mark.parametrize("era", ["2025-11-25", "2026-07-28"])
async def test_a_client_gets_what_it_gets_over_stdio(urls, era):
    """MCP 2024-11-05, "HTTP with SSE": the transport is another one, the messages are the same."""
    assert await said(urls[0], era) == await said(urls[1], era)


async def test_the_end_of_the_server_is_told_and_a_new_one_is_found(tmp_path):
    """*Ours*: as over stdio, the session ends with its stream, and opens again on use."""
    with everything() as (url, process), serving(*config(tmp_path, {"it": {"type": "sse", "url": url}})) as served:
        async with raw(served.url) as client:
            assert "isError" not in await client.call("test_simple_text")
            process.kill()
            process.wait()
            served.says("upstream 'it': the connection has ended: ")
            with everything(url.split(":")[2].partition("/")[0]):
                async with asyncio.timeout(FAILSAFE_S):
                    while "isError" in await client.call("test_simple_text"):
                        pass


class Old(BaseHTTPRequestHandler):
    """A server over SSE; `events` is what its stream holds at first, `status` how it answers a POST."""

    def do_GET(self):
        self.server.seen.append(("GET", self.path, dict(self.headers)))
        if self.server.token is not None and self.headers.get("authorization") != self.server.token:
            self.send_error(401)
            return
        self.send_response(200)
        self.send_header("content-type", self.server.media_type)
        self.end_headers()
        self.wfile.write(self.server.events)
        self.server.stream = self.wfile
        self.server.goes_on.wait(FAILSAFE_S)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.seen.append(("POST", self.path, body))
        refused = self.server.status >= 300
        self.send_response(self.server.status)
        self.send_header("content-length", "0")
        self.end_headers()
        if "id" in body and not refused and self.server.answers:
            answer = {"jsonrpc": "2.0", "id": body["id"], "result": {"said": body["params"]["arguments"]}}
            self.server.stream.write(f"event: message\ndata: {json.dumps(answer)}\n\n".encode())

    def log_message(self, *_):
        """Nothing."""


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Old)
        self.media_type, self.status, self.answers, self.token = "text/event-stream", 202, True, None
        self.events = b"event: endpoint\ndata: /messages?session=5\n\n"
        self.goes_on, self.stream, self.seen = Event(), None, []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/sse"


@pytest.fixture
def old():
    with Server() as made:
        thread = Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.goes_on.set()
        made.shutdown()
        thread.join()


async def test_calls_share_the_stream(old):
    """MCP 2024-11-05: the endpoint is the one that the stream names; the headers are those of the configuration."""
    async with opened(SseTransport(old.url, headers={"X-A": "1"}, listener=Ears())) as link:
        answers = await asyncio.gather(*(call(link, "echo", number=n) for n in range(20)))
    assert [answer["said"]["number"] for answer in answers] == list(range(20))
    assert {path for verb, path, _ in old.seen if verb == "POST"} == {"/messages?session=5"}
    assert old.seen[0][2]["x-a"] == "1"


@pytest.mark.parametrize(
    ("events", "told"),
    [
        (b"event: endpoint\ndata: http://127.0.0.2:1/messages\n\n", "the upstream names an endpoint at another origin"),
        (b"event: endpoint\ndata: //other.example/m\n\n", "the upstream names an endpoint at another origin"),
        (b"event: endpoint\ndata: http://a:b/\n\n", "the upstream names an endpoint that is no URL"),
    ],
)
async def test_credentials_go_to_no_other_origin(old, events, told):
    """*Ours*, as in the SDK."""
    old.events = events
    error = await fails(SseTransport(old.url, listener=Ears()).open(), UpstreamInvalidOutput)
    assert error.message == told


async def test_a_stream_without_an_endpoint_is_not_waited_for(old, monkeypatch):
    """*Ours*."""
    monkeypatch.setattr(module, "UPSTREAM_CONNECT_SECONDS", 0.3)
    old.events = b": nothing\n\n"
    told = (await fails(SseTransport(old.url, listener=Ears()).open(), UpstreamUnavailable)).message
    assert told == "the upstream has not named its endpoint in 0.3 s"


async def test_what_is_no_stream_of_events_is_told(old):
    """*Ours*."""
    old.media_type = "text/html"
    told = (await fails(SseTransport(old.url, listener=Ears()).open(), UpstreamInvalidOutput)).message
    assert told == "the upstream answers with no stream of events"
    old.token = "t"
    told = (await fails(SseTransport(old.url, listener=Ears()).open(), UpstreamUnavailable)).message
    assert told == "the upstream does not take the gateway's credentials: HTTP 401"


async def test_over_streamable_http_the_refusal_names_the_older_transport(old):
    """*Ours*: a server over SSE takes no POST at the address of its stream."""
    old.status = 405
    async with opened(HttpTransport(old.url, listener=Ears())) as link:
        told = (await fails(call(link, "echo"), UpstreamUnavailable)).message
    assert told == 'the upstream takes no such request, as with the older SSE (then "type" is "sse"): HTTP 405'


async def test_a_message_that_is_refused_fails_its_call_alone(old):
    """*Ours*: at once, not at its timeout."""
    async with opened(SseTransport(old.url, listener=Ears())) as link:
        old.status = 400
        assert "HTTP 400" in (await fails(call(link, "echo"), UpstreamUnavailable)).message
        old.status = 202
        assert (await call(link, "echo", a=1))["said"] == {"a": 1}


async def test_the_end_of_the_stream_fails_all_calls(old):
    """*Ours*: nothing can answer them any more."""
    ears = Ears()
    old.answers = False
    async with opened(SseTransport(old.url, listener=ears)) as link:
        calls = [asyncio.create_task(call(link, "echo")) for _ in range(3)]
        await until(lambda: sum(verb == "POST" for verb, _, _ in old.seen) == 3)
        old.goes_on.set()
        for each in calls:
            await fails(each, UpstreamUnavailable)
        assert await ears.gone_for


async def test_a_call_that_is_cancelled_is_cancelled_at_the_server(old):
    """MCP, cancellation."""
    old.answers = False
    async with opened(SseTransport(old.url, listener=Ears())) as link:
        one = asyncio.create_task(call(link, "echo"))
        await until(lambda: any(verb == "POST" for verb, _, _ in old.seen))
        # Until its message is accepted, it is not sent.
        await asyncio.sleep(0.1)
        one.cancel()
        await until(lambda: "notifications/cancelled" in json.dumps(old.seen[-1][2]))


async def test_a_message_that_is_not_accepted_is_not_waited_for(old, monkeypatch):
    """*Ours*."""
    monkeypatch.setattr(module, "UPSTREAM_SEND_SECONDS", 0.0)
    async with opened(SseTransport(old.url, listener=Ears())) as link:
        ears = Ears()
        work = link.call(Call("tools/call", {"arguments": {}}, ears.on_notification, ears.on_request))
        assert "has not accepted a message" in (await fails(work, UpstreamTimeout)).message


async def test_a_flood_waits_for_those_who_read(old):
    """*Ours*: over `MAX_UPSTREAM_PENDING` of undelivered messages the stream is not read."""
    note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x" * 100_000}}
    old.events += f"data: {json.dumps(note)}\n\n".encode() * 30
    gate = asyncio.Event()

    class Slow(Ears):
        async def on_notification(self, method, params):
            await gate.wait()
            await super().on_notification(method, params)

    ears = Slow()
    async with opened(SseTransport(old.url, listener=ears)) as link:
        await until(lambda: not link._channel._has_room.is_set())
        assert link._channel._undelivered_bytes < limits.MAX_UPSTREAM_PENDING + 200_000
        gate.set()
        await ears.hears(30)
