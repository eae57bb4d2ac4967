"""What comes out of the HTTP endpoint for 2026-07-28 is what the SDK's own would give."""

from __future__ import annotations

import asyncio
import json
import weakref
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from types import SimpleNamespace
from typing import Any

import anyio
import anyio.lowlevel
import mcp_types as types
import pytest
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.requests import ClientDisconnect

from louver.concurrency.offload import in_thread
from louver.gateway.clients.client import client_of
from louver.gateway.config.model import Config
from louver.gateway.front import endpoint
from louver.gateway.front.endpoint import McpEndpoint
from louver.gateway.front.exchange import IDENTITY
from louver.gateway.gateway import Gateway
from louver.gateway.in_process import sdk_server
from louver.sdk.adapter import identity_of
from louver.steps.recipient import client_capabilities, client_name
from louver.steps.request import in_order
from louver.wire.jsonrpc import codec
from louver.wire.jsonrpc.errors import JsonRpcError
from louver.wire.jsonrpc.inbound import MAX_CLIENT_CONTAINERS
from steps.threads import Work, turns

pytestmark = pytest.mark.anyio

ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
HEADERS = {
    "host": "127.0.0.1:8080",
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
}
RESULT = {"resultType": "complete", "content": [], "structuredContent": {"big": 2**70, "none": None, "text": "é😀"}}


@dataclass
class Heard:
    """What an application sent, and what it was sent."""

    scope: dict[str, Any] = field(default_factory=dict)
    sent: list[dict[str, Any]] = field(default_factory=list)
    began: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def status(self):
        return self.sent[0]["status"]

    @property
    def content_type(self):
        return dict(self.sent[0]["headers"])[b"content-type"]

    @property
    def body(self):
        return b"".join(message["body"] for message in self.sent[1:])


def body(name="tool", number=1, **others):
    params = {"name": name, "arguments": {}, "_meta": ENVELOPE, **others}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}).encode()


async def post(app, content, headers=None, heard=None, parts=1, named="tool", **more):
    """What an application answers to a request, which comes in several parts."""
    heard = heard or Heard()
    step = -(-len(content) // parts)
    chunks = [content[start : start + step] for start in range(0, len(content), step)] or [b""]
    left = [{"type": "http.request", "body": chunk, "more_body": chunk is not chunks[-1]} for chunk in chunks]

    async def receive():
        if left:
            return left.pop(0)
        await heard.left.wait()
        return {"type": "http.disconnect"}

    async def send(message):
        heard.sent.append(message)
        if message["type"] == "http.response.body":
            heard.began.set()

    every = {**HEADERS, "mcp-name": named, "content-length": str(len(content)), **(headers or {})}
    pairs = [(name.encode(), value.encode()) for name, value in every.items() if value is not None]
    scope = {"type": "http", "method": "POST", "path": "/mcp", "root_path": "", "query_string": b"", "headers": pairs}
    scope |= {"client": ("127.0.0.9", 1234), **more}
    heard.scope = scope
    await app(scope, receive, send)
    return heard


async def answer(request, call_next):
    """A step that answers all by itself, as the gateway's do."""
    name = request.params.get("name")
    if request.method == "tools/list":
        return {"resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private"}
    if name == "refuses":
        raise JsonRpcError(types.INVALID_PARAMS, "no", {"why": None})
    if name == "lacks":
        raise JsonRpcError(-32021, "a capability is missing")
    if name == "breaks":
        raise RuntimeError("a secret")
    if name == "passes":
        return await call_next(request)
    if name == "tells":
        await request.connection.notify("x/y", {"n": None}, request.id)
    return dict(RESULT)


CAME = b'{"jsonrpc":"2.0","id":99,"result":{"resultType":"complete","content":[], "n": 1e2}}'


def came(change):
    """A step that sends on what came, as the gateway does, after a change."""

    async def step(request, call_next):
        request.record.received = result = codec.read(CAME).result()
        return change(result)

    return step


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda result: result, b'{"resultType":"complete","content":[], "n": 1e2}'),
        (dict, b'{"resultType":"complete","content":[], "n": 1e2}'),
        (lambda result: {**result, "n": 5}, b'{"resultType":"complete","content":[],"n":5}'),
        (lambda result: {**result, "content": []}, b'{"resultType":"complete","content":[],"n":100.0}'),
        (lambda result: {**result, "m": None}, b'{"resultType":"complete","content":[],"n":100.0,"m":null}'),
        (lambda result: {"content": result["content"]}, b'{"content":[]}'),
        (
            lambda result: {"content": result["resultType"], "resultType": result["content"], "n": result["n"]},
            b'{"content":"complete","resultType":[],"n":100.0}',
        ),
    ],
    ids=["nothing", "a copy", "a value", "an equal value", "one more", "less", "exchanged"],
)
async def test_what_came_is_sent_on_in_its_own_text_where_nothing_changes_it(change, text):
    """GATEWAY.md, "Fast path"; only the id is the client's."""
    found = await post(McpEndpoint(served(came(change))), body(number="own"))
    assert found.body == b'{"jsonrpc":"2.0","id":"own","result":%b}' % text


async def test_what_came_is_gone_once_it_is_answered():
    """Ours: a request is kept with its connection, which may long be idle, and answers are large."""
    answers = []

    def change(result):
        answers.append(weakref.ref(result))
        return {"content": []}

    heard = await post(McpEndpoint(served(came(change))), body())
    assert heard.scope
    assert [answer() for answer in answers] == [None]


async def test_in_a_stream_what_came_is_on_one_line():
    """HTML, "Event streams": a line that does not begin with `data:` is none of the data."""
    lines = CAME.replace(b"[], ", b"[],\r\n\n").replace(b"1e2", b'"a\\nb"')

    async def step(request, call_next):
        await request.connection.notify("x/y", None, request.id)
        request.record.received = result = codec.read(lines).result()
        return result

    found = await post(McpEndpoint(served(step)), body())
    assert _messages(found.body)[-1]["result"] == {"resultType": "complete", "content": [], "n": "a\nb"}
    assert b'"content":[],   "n": "a\\nb"}' in found.body


def served(*steps):
    """A gateway with other steps in place of its own."""
    gateway = Gateway(Config(()), single_client=False)
    gateway._pipeline.answer = in_order(list(steps) or [answer], unanswered)
    return gateway


async def unanswered(request):
    """The end of all steps."""
    raise JsonRpcError(types.METHOD_NOT_FOUND, "Method not found", request.method)


@pytest.mark.parametrize("name", ["tool", "refuses", "lacks", "breaks", "tells", "passes"])
@pytest.mark.parametrize("number", [0, "a"])
async def test_the_answer_is_the_one_that_the_sdk_gives(name, number):
    """Ours: value by value, with its status and its kind."""
    gateway = served()
    app = sdk_server(gateway.answer).streamable_http_app()
    content = body(name, number)
    async with app.router.lifespan_context(app):
        expected = await post(app, content, named=name)
        found = await post(McpEndpoint(gateway), content, named=name)
    assert (found.status, found.content_type) == (expected.status, expected.content_type)
    assert _messages(found.body) == _messages(expected.body)


async def test_a_failure_is_logged_by_its_type_alone(caplog):
    """Ours: no log holds a value of a tool's output, and the message of an error may quote one."""
    found = await post(McpEndpoint(served()), body("breaks"), named="breaks")
    assert b"Internal server error" in found.body
    assert "a request cannot be answered: RuntimeError" in caplog.text
    assert "a secret" not in caplog.text


async def both(step, content, **scope):
    """Send a request first by way of the SDK, then by the faster way."""
    gateway = served(step)
    app = sdk_server(gateway.answer).streamable_http_app()
    async with app.router.lifespan_context(app):
        await post(AuthContextMiddleware(app), content, **scope)
    user = scope.pop("user", None)
    if isinstance(user, AuthenticatedUser):
        scope[IDENTITY] = identity_of(user.access_token)
    await post(McpEndpoint(gateway), content, **scope)


async def test_who_asks_is_known_as_the_sdk_knows_it():
    """Ours: what it can do, and what there is of a connection that is one POST."""
    seen = []

    async def looks(request, call_next):
        client, connection = client_of(request), request.connection
        with pytest.raises(JsonRpcError):
            await connection.ask("roots/list", None, request.id)
        own = [
            client_capabilities(request),
            client_name(request),
            client.version,
            client.identity.digest,
            request.lasts,
        ]
        connection.on_tools_changed(lambda: pytest.fail("nobody tells of it here"))
        seen.append((own, connection.shared, connection.is_open, connection.state, request.read_before()))
        connection.state["mine"] = True
        return dict(RESULT)

    said = {**ENVELOPE, "io.modelcontextprotocol/clientCapabilities": {"roots": {"listChanged": True}}}
    await both(looks, body(_meta=said))
    sdk, fast = ((own, shared, is_open, read) for own, shared, is_open, _, read in seen)
    assert sdk == fast
    assert fast[0][0] == {"roots": {"listChanged": True}}
    assert fast[1:] == (None, True, None)
    states = [state for *_, state, _ in seen]
    assert states == [{"mine": True}] * 2
    assert states[0] is not states[1]


USER = AuthenticatedUser(AccessToken(token="t", client_id="desk", scopes=["read"], subject="ann"))


@pytest.mark.parametrize("scope", [{}, {"client": None}, {"user": USER}, {"user": SimpleNamespace(name="x")}])
@pytest.mark.parametrize(
    "beside",
    [
        {},
        {"x": [1]},
        {"progressToken": 5},
        {"progressToken": [5]},
        {"progressToken": None},
        {"io.modelcontextprotocol/logLevel": "warning"},
        {"io.modelcontextprotocol/logLevel": ["warning"]},
    ],
)
async def test_steps_get_what_the_sdk_gives_them(beside, scope):
    """Ours: all that a request is, and whose it is."""
    seen = []

    async def looks(request, call_next):
        own = {each.name: getattr(request, each.name) for each in fields(request) if each.name != "connection"}
        seen.append((own, request.counted_as, request.holder, client_of(request).log_level))
        return dict(RESULT)

    await both(looks, body(_meta={**ENVELOPE, **beside}), **scope)
    assert seen[0] == seen[1]
    assert seen[1][0]["identity"].key == (("desk", None, "ann") if scope.get("user") is USER else None)
    assert seen[1][0]["address"] == ("none" if "client" in scope else "127.0.0.9")


async def test_callers_over_http_are_kept_apart_though_their_address_is_not_known():
    """Ours: only over stdio all requests are of one host."""
    parties = []

    async def looks(request, call_next):
        parties.append(client_of(request)._owner)
        return dict(RESULT)

    await both(looks, body(), client=None)
    await both(looks, body(), client=None, user=USER)
    assert parties == [None, None, ("desk", None, "ann"), ("desk", None, "ann")]


async def test_steps_stand_in_their_order_until_there_are_others():
    """Ours: the outermost first; a change of the configuration has others stand there."""
    went = []

    def passing(name):
        async def step(request, call_next):
            went.append((name, request.params["name"]))
            return await call_next(replace(request, params={**request.params, "name": name}))

        return step

    gateway = served(passing("a"), passing("b"), answer)
    app = McpEndpoint(gateway)
    await post(app, body())
    await post(app, body())
    assert went == [("a", "tool"), ("b", "a")] * 2
    gateway._pipeline.answer = in_order([passing("a"), passing("c"), answer], unanswered)
    await post(app, body())
    assert went[4:] == [("a", "tool"), ("c", "a")]


async def test_a_body_may_come_in_parts():
    """Ours."""
    heard = await post(McpEndpoint(served()), body(), parts=3)
    assert json.loads(heard.body)["result"] == RESULT


UNUSUAL = {
    "another host": ({"host": "example.com"}, body()),
    "an origin": ({"origin": "http://127.0.0.1:8080"}, body()),
    "no host": ({"host": None}, body()),
    "accepts less": ({"accept": "application/json"}, body()),
    "content of another type": ({"content-type": "text/plain"}, body()),
    "another era": ({"mcp-protocol-version": "2025-11-25"}, body()),
    "another method": ({"mcp-method": "prompts/get"}, body()),
    "no size": ({"content-length": None}, body()),
    "too large": ({"content-length": "5000000"}, body()),
    "another name": ({"mcp-name": "other"}, body()),
    "a header that must fit": ({"mcp-param-x": "1"}, body()),
    "no JSON": ({}, b"{"),
    "NaN": ({}, body().replace(b'"arguments": {}', b'"arguments": {"a": NaN}')),
    "half a surrogate pair": ({}, body().replace(b'"arguments": {}', rb'"arguments": {"a": "\ud83d"}')),
    "too deep": ({}, b"[" * 5000),
    "too many arrays": ({}, body(_meta={**ENVELOPE, "x": [[]] * (MAX_CLIENT_CONTAINERS + 1)})),
    "a batch": ({}, b"[" + body() + b"]"),
    "a notification": ({}, body().replace(b'"id": 1, ', b"")),
    "an id that is none": ({}, body(number=True)),
    "no params": ({}, b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call"}'),
    "no envelope": ({}, body(_meta={})),
}


def refusal(found):
    """The status of a refusal, and the code of its error, if it has one."""
    return found.status, json.loads(found.body)["error"]["code"] if found.body.startswith(b"{") else None


STRICTER = {"NaN", "half a surrogate pair", "too deep", "too many arrays"}
"""What the SDK serves, or tells otherwise."""


@pytest.mark.parametrize("unusual", UNUSUAL)
async def test_what_is_refused_is_refused_as_by_the_sdk(unusual):
    """Ours: the SDK is the reference of clients."""
    headers, content = UNUSUAL[unusual]
    gateway = served()
    app = sdk_server(gateway.answer).streamable_http_app()
    async with app.router.lifespan_context(app):
        expected = await post(app, content, headers)
    found = await post(McpEndpoint(gateway), content, headers, parts=2)
    if unusual in STRICTER:
        assert refusal(found)[0] == 400
    elif expected.status == 200:
        assert _messages(found.body) == _messages(expected.body)
    else:
        assert refusal(found) == refusal(expected)


@pytest.mark.parametrize("said", ["eu", "us"])
async def test_a_header_that_repeats_an_argument_must_say_the_same(said):
    """2026-07-28, "Mcp-Param": the SDK refuses what does not fit."""
    region = {"type": "string", "x-mcp-header": "Region"}
    gateway = served()
    schemas = {"tool": {"type": "object", "properties": {"region": region}}}
    gateway._pipeline.input_schema = lambda tool, _principal: schemas.get(tool)
    heard = await post(McpEndpoint(gateway), body(arguments={"region": "eu"}), {"mcp-param-region": said})
    assert (heard.status, "error" in json.loads(heard.body)) == ((200, False) if said == "eu" else (400, True))


def waiting():
    """A step that answers nothing; and when it has begun, and is cancelled."""
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def waits(request, call_next):
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
            await asyncio.sleep(0)

    return waits, started, cancelled


@pytest.mark.parametrize("coding", ["gzip", "GZIP", "br", "identity, gzip", ""])
async def test_a_body_in_a_coding_is_refused(coding):
    """RFC 9110, section 8.4: it was read as if it had none."""
    found = await post(McpEndpoint(served()), body(), {"content-encoding": coding})
    assert found.status == 415
    assert (await post(McpEndpoint(served()), body(), {"content-encoding": "identity"})).status == 200


async def test_one_client_has_so_many_open_requests(monkeypatch):
    """Ours: half of the connections for clients; the next is refused, and nobody else is."""
    monkeypatch.setattr(endpoint, "client_connections", lambda: 4)
    begun, go_on, count = asyncio.Event(), asyncio.Event(), 0

    async def waits(request, call_next):
        nonlocal count
        count += 1
        if count == 2:
            begun.set()
        await go_on.wait()
        return dict(RESULT)

    app = McpEndpoint(served(waits))
    calls = [asyncio.create_task(post(app, body())) for _ in range(2)]
    await begun.wait()
    refused = await post(app, body())
    assert (refused.status, dict(refused.sent[0]["headers"])[b"retry-after"]) == (429, b"1")
    calls.append(asyncio.create_task(post(app, body(), client=("127.0.0.8", 1))))
    go_on.set()
    assert [each.status for each in await asyncio.gather(*calls)] == [200] * 3
    assert (await post(app, body())).status == 200


async def test_the_unanswered_requests_of_one_client_have_so_many_bytes(monkeypatch):
    """Ours: `MAX_PEER_UNANSWERED_BYTES`; 12 calls of 2 MB that an upstream did not answer took 330 MB."""
    monkeypatch.setattr(endpoint, "MAX_PEER_UNANSWERED_BYTES", 2 * len(body()))
    begun, go_on, count = asyncio.Event(), asyncio.Event(), 0

    async def waits(request, call_next):
        nonlocal count
        count += 1
        if count == 2:
            begun.set()
        await go_on.wait()
        return dict(RESULT)

    app = McpEndpoint(served(waits))
    calls = [asyncio.create_task(post(app, body())) for _ in range(2)]
    await begun.wait()
    refused = await post(app, body())
    assert (refused.status, dict(refused.sent[0]["headers"])[b"retry-after"]) == (429, b"1")
    calls.append(asyncio.create_task(post(app, body(), client=("127.0.0.8", 1))))
    go_on.set()
    assert [each.status for each in await asyncio.gather(*calls)] == [200] * 3
    assert (await post(app, body())).status == 200
    assert len(app._unanswered) == 0


async def test_the_unfinished_bodies_of_one_client_are_bounded(monkeypatch):
    """Ours: `MAX_PEER_BODY_BYTES`; what is whole at once does not count."""
    content = body(arguments={"text": "x" * 1000})
    monkeypatch.setattr(endpoint, "MAX_PEER_BODY_BYTES", 1000)
    app = McpEndpoint(served())
    go_on = asyncio.Event()

    async def half(address):
        """What a client is answered that sends no more than half of a body."""
        sent, left = [], [{"type": "http.request", "body": content[:600], "more_body": True}]

        async def receive():
            if left:
                return left.pop()
            await go_on.wait()
            return {"type": "http.disconnect"}

        async def send(message):
            sent.append(message)

        pairs = [(name.encode(), value.encode()) for name, value in {**HEADERS, "mcp-name": "tool"}.items()]
        scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": pairs, "client": (address, 1)}
        with suppress(ClientDisconnect):
            await app(scope, receive, send)
        return sent

    first = asyncio.create_task(half("127.0.0.9"))
    await asyncio.sleep(0)
    assert (await half("127.0.0.9"))[0]["status"] == 429
    other = asyncio.create_task(half("127.0.0.8"))
    assert (await post(app, content)).status == 200
    go_on.set()
    assert (await first, await other) == ([], [])
    assert len(app._bodies) == 0


async def test_a_client_that_goes_takes_its_call_with_it():
    """2026-07-28: closing the response is the cancellation."""
    waits, started, cancelled = waiting()
    heard = Heard()
    calling = asyncio.create_task(post(McpEndpoint(served(waits)), body(), heard=heard))
    await started.wait()
    heard.left.set()
    await calling
    assert cancelled.is_set()
    assert heard.sent == []


@pytest.mark.parametrize("has_left", [False, True])
async def test_a_server_that_ends_takes_its_calls_with_it(has_left):
    """Ours: as asyncio has it, also where the client has gone as well."""
    waits, started, cancelled = waiting()
    heard = Heard()
    calling = asyncio.create_task(post(McpEndpoint(served(waits)), body(), heard=heard))
    await started.wait()
    if has_left:
        heard.left.set()
        await cancelled.wait()
    calling.cancel()
    await asyncio.wait([calling])
    assert calling.cancelled()
    assert heard.sent == []


async def test_what_a_thread_does_for_a_client_that_goes_is_waited_for(monkeypatch):
    """Ours: else the next request would begin the same beside it, and another one."""
    monkeypatch.setattr(endpoint, "WATCH_AFTER_S", 0)
    work, ended = Work("thread"), []

    async def works(request, call_next):
        ended.append(await in_thread(work))
        ended.append("kept")
        await anyio.lowlevel.checkpoint()
        ended.append("answered")

    heard = Heard()
    calling = asyncio.create_task(post(McpEndpoint(served(works)), body(), heard=heard))
    await work.begun.wait()
    heard.left.set()
    await turns()
    assert not calling.done()
    work.go_on.set()
    await calling
    assert ended == ["thread", "kept"]
    assert heard.sent == []


async def test_who_goes_during_the_last_wait_is_sent_nothing(monkeypatch):
    """Ours: it ends as if its call had been cancelled before."""
    monkeypatch.setattr(endpoint, "WATCH_AFTER_S", 0)
    work = Work()

    async def works(request, call_next):
        await in_thread(work)
        return dict(RESULT)

    heard = Heard()
    calling = asyncio.create_task(post(McpEndpoint(served(works)), body(), heard=heard))
    await work.begun.wait()
    heard.left.set()
    await turns()
    work.go_on.set()
    await calling
    assert heard.sent == []
    assert calling.cancelling() == 0


async def test_who_goes_is_not_told_of_what_fails_then(monkeypatch):
    """Ours: what ends because of that may fail at it."""
    monkeypatch.setattr(endpoint, "WATCH_AFTER_S", 0)
    started = asyncio.Event()

    async def works(request, call_next):
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            raise OSError

    heard = Heard()
    calling = asyncio.create_task(post(McpEndpoint(served(works)), body(), heard=heard))
    await started.wait()
    heard.left.set()
    await calling
    assert heard.sent == []


@pytest.mark.parametrize("has_left", [False, True])
async def test_a_server_that_ends_does_not_wait_for_threads(monkeypatch, has_left):
    """Ours: it ends within seconds, whatever they do."""
    monkeypatch.setattr(endpoint, "WATCH_AFTER_S", 0)
    work = Work()

    async def works(request, call_next):
        await in_thread(work)

    heard = Heard()
    calling = asyncio.create_task(post(McpEndpoint(served(works)), body(), heard=heard))
    await work.begun.wait()
    if has_left:
        heard.left.set()
        await turns()
    calling.cancel()
    await asyncio.wait([calling])
    work.go_on.set()
    assert calling.cancelled()
    assert heard.sent == []


async def test_an_answer_that_takes_long_shows_life(monkeypatch):
    """As the SDK does: else what stands between would close the connection."""
    monkeypatch.setattr(endpoint, "PING_S", 0)
    heard = Heard()

    async def waits(request, call_next):
        await heard.began.wait()
        return dict(RESULT)

    await post(McpEndpoint(served(waits)), body(), heard=heard)
    assert heard.content_type == b"text/event-stream"
    assert heard.body.startswith(b": ping\r\n\r\n")
    assert _messages(heard.body)[-1]["result"] == RESULT


def _messages(content):
    if content.startswith(b"{"):
        return [json.loads(content)]
    return [json.loads(line[5:]) for line in content.splitlines() if line.startswith(b"data:")]
