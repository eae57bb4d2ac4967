"""What a server tells, wherever it tells it: changed lists are asked for anew, and each hears what is its own."""

from __future__ import annotations

import asyncio

import pytest

from fixtures.failsafe import FAILSAFE_S
from gateway.raw import HANDSHAKE, STATELESS
from louver.gateway.back.availability import AvailabilityListeners
from louver.gateway.back.upstream import Upstream, UpstreamSettings
from louver.gateway.clients.client import GatewayCaller, GatewayClient, resource_and_parents
from louver.gateway.clients.revisions import ClientIdentity
from louver.wire.mcp import RESOURCE_UPDATED

pytestmark = pytest.mark.anyio

CHANGED = "notifications/tools/list_changed"
PROGRESS = "notifications/progress"
OPENING = {
    "protocolVersion": HANDSHAKE,
    "capabilities": {"tools": {"listChanged": True}, "resources": {"subscribe": True}},
    "serverInfo": {"name": "it", "version": "1"},
}
TOOL = {"inputSchema": {"type": "object"}}


class Server:
    """One of 2025-11-25, in which each call of `add` adds a tool; its links share the tools."""

    def __init__(self):
        self.tools = [{**TOOL, "name": "add"}]
        self.links = []
        self.asked = 0
        self.is_asked = asyncio.Event()
        self.says_in_calls = ()
        self.gate = asyncio.Event()
        self.gate.set()

    def link(self, listener):
        self.links.append(Link(self, listener))
        return self.links[-1]


class Link:
    wants_headers = False

    def __init__(self, server, listener):
        self.server, self.listener = server, listener

    async def open(self):
        pass

    def set_version(self, version):
        pass

    async def listen(self):
        pass

    async def call(self, call):
        if call.method == "tools/list":
            self.server.asked += 1
            self.server.is_asked.set()
            listed = list(self.server.tools)
            await self.server.gate.wait()
            return {"tools": listed}
        if call.method == "tools/call":
            self.server.tools.append({**TOOL, "name": f"tool_{len(self.server.tools)}"})
            for method, params in self.server.says_in_calls:
                await call.on_notification(method, params)
            return {"content": []}
        return OPENING

    async def notify(self, method, params):
        pass

    async def close(self):
        pass


class Hearing(GatewayClient):
    """A client of 2025-11-25 that keeps what it hears beside its requests."""

    def __init__(self, name):
        super().__init__(HANDSHAKE, ClientIdentity(HANDSHAKE, {"name": name}, {}))
        self.notes = []

    def notify(self, method, params):
        self.notes.append((method, params))


class Calling(GatewayCaller):
    """A request of a client, which keeps what it hears because of it."""

    def __init__(self, client):
        super().__init__(client)
        object.__setattr__(self, "notes", [])

    async def notify(self, method, params):
        self.notes.append((method, params))


@pytest.fixture
def server():
    return Server()


@pytest.fixture
def told():
    """What clients of 2026-07-28 are told."""
    return []


@pytest.fixture
async def upstream(server, told, request):
    async def tell(method, params):
        told.append((method, params))

    isolated = getattr(request, "param", False)
    terms = UpstreamSettings(server.link, timeout_s=FAILSAFE_S, isolated=isolated, per_revision=False)
    hello = ClientIdentity(HANDSHAKE, {"name": "gateway"}, {})
    made = Upstream(
        "it",
        terms,
        shared_identity=hello,
        single_client=False,
        publish=tell,
        availability_listeners=AvailabilityListeners(tell),
    )
    yield made
    made.close()
    await made.wait_closed()


async def names(session, client):
    listed = await session.call(GatewayCaller(client), "tools/list", {})
    return [tool["name"] for tool in listed["tools"]]


async def added(session, client):
    """What a client hears because of a call that adds a tool."""
    turn = Calling(client)
    await session.call(turn, "tools/call", {"name": "add"})
    return turn.notes


async def test_a_change_that_is_told_in_the_stream_of_a_call_is_a_change(server, upstream, told):
    """MCP, tools: a list that has changed is asked for anew; where it says so is the server's choice."""
    ann, bob = Hearing("ann"), Hearing("bob")
    session = await upstream.session(ann)
    await upstream.session(bob)
    session.on_listening(True)
    assert await names(session, ann) == ["add"]
    server.says_in_calls = [(CHANGED, None)]
    assert await added(session, ann) == [(CHANGED, None)]
    assert await names(session, ann) == ["add", "tool_1"]
    # Who has called knows of it; the others are told beside their requests.
    assert (ann.notes, bob.notes, told) == ([], [(CHANGED, None)], [(CHANGED, None)])


@pytest.mark.parametrize("upstream", [True], indirect=True, ids=["isolated"])
async def test_what_one_session_hears_of_a_list_holds_for_the_others(server, upstream):
    """Ours: the server may think that it has said so; nobody is told what it has not told him."""
    ann, bob = Hearing("ann"), Hearing("bob")
    first, second = await upstream.session(ann), await upstream.session(bob)
    for session, client in ((first, ann), (second, bob)):
        session.on_listening(True)
        assert await names(session, client) == ["add"]
    server.says_in_calls = [(CHANGED, None)]
    await added(first, ann)
    assert await names(second, bob) == ["add", "tool_1"]
    assert bob.notes == []


async def test_a_list_is_kept_only_while_a_change_can_be_told(server, upstream):
    """GATEWAY.md, "Fast path": a cache that `list_changed` keeps right. HTTP of 2025-11-25 need not have it."""
    ann = Hearing("ann")
    session = await upstream.session(ann)
    for is_open, asked in ((None, 2), (True, 1), (False, 2), (True, 1)):
        if is_open is not None:
            session.on_listening(is_open)
        server.asked = 0
        for _ in range(2):
            await names(session, ann)
        assert server.asked == asked, is_open


async def test_a_list_that_was_asked_for_before_changes_could_be_told_is_not_kept(server, upstream):
    """Ours: what has changed in between was told to nobody."""
    ann = Hearing("ann")
    session = await upstream.session(ann)
    server.gate.clear()
    asking = asyncio.create_task(names(session, ann))
    async with asyncio.timeout(FAILSAFE_S):
        await server.is_asked.wait()
    server.tools.append({**TOOL, "name": "new"})
    session.on_listening(True)
    server.gate.set()
    assert await asking == ["add"]
    assert await names(session, ann) == ["add", "new"]


async def test_who_watches_a_resource_hears_of_its_parts(upstream, told):
    """MCP, resources: what was updated "might be a sub-resource of the one that the client actually subscribed to"."""
    ann, bob = Hearing("ann"), Hearing("bob")
    modern = GatewayClient(STATELESS, ClientIdentity(STATELESS, {}, {}))
    session = await upstream.session(ann)
    await upstream.session(bob)
    for client, uri in ((ann, "file:///dir"), (bob, "file:///dir/b/"), (modern, "file:///dir")):
        await session.subscriptions.watch(GatewayCaller(client), {"uri": uri})
    for uri in ("file:///dir/a", "file:///dir/", "file:///dir/b/c", "file:///dirt", "file:///"):
        await session.on_notification(RESOURCE_UPDATED, {"uri": uri})
    assert [params["uri"] for _, params in ann.notes] == ["file:///dir/a", "file:///dir/", "file:///dir/b/c"]
    assert [params["uri"] for _, params in bob.notes] == ["file:///dir/b/c"]
    # Streams of 2026-07-28 go by the address, so it is told as of what is watched there, too.
    assert [params["uri"] for _, params in told if params["uri"] == "file:///dir"] == ["file:///dir"] * 3


async def test_the_parts_of_an_address_are_bounded():
    """Ours: an address may be as long as a message."""
    assert len(list(resource_and_parents("/" * 1_000_000))) < 200
    assert list(resource_and_parents(7)) == []
    assert list(resource_and_parents("a:b/c")) == ["a:b/c", "a:b", "a:b/"]


def test_an_address_that_cannot_be_watched_has_no_parts():
    """GATEWAY.md: the event loop never stalls over 250 ms; to hash the parts of one with 8 MB took 330."""
    assert [*resource_and_parents("x" * 8_000_000 + "/a" * 100)] == []


async def test_an_update_in_the_stream_of_a_call_is_heard_by_others_who_watch(server, upstream):
    """Ours: they watch it over the same session, and are told nowhere else."""
    ann, bob = Hearing("ann"), Hearing("bob")
    session = await upstream.session(ann)
    await upstream.session(bob)
    await session.subscriptions.watch(GatewayCaller(bob), {"uri": "a:b"})
    server.says_in_calls = [(RESOURCE_UPDATED, {"uri": "a:b"})]
    assert await added(session, ann) == server.says_in_calls
    assert (ann.notes, bob.notes) == ([], server.says_in_calls)


@pytest.mark.parametrize("method", [PROGRESS, "notifications/tasks/status"])
async def test_what_is_of_one_request_is_told_to_nobody_where_it_can_be_of_several(upstream, method):
    """GATEWAY.md: never to another. Over HTTP it may be told beside the call, with a token that two have given."""
    said = (method, {"progressToken": "p", "progress": 1, "message": "of whom?"})
    ann, bob = Hearing("ann"), Hearing("bob")
    session = await upstream.session(ann)
    await session.on_notification(*said)
    assert ann.notes == [said]
    await upstream.session(bob)
    await session.on_notification(*said)
    assert (ann.notes, bob.notes) == ([said], [])


async def test_the_status_of_a_task_is_told_to_its_maker_alone(server, upstream):
    """MCP 2025-11-25, tasks: whoever else has the one open call must not hear of it."""
    said = ("notifications/tasks/status", {"taskId": "of ann", "status": "completed"})
    ann, bob = Hearing("ann"), Hearing("bob")
    ann.peer, bob.peer = "ann", "bob"
    session = await upstream.session(ann)
    await upstream.session(bob)
    upstream.tasks.bind("ann", "tools/call", {"task": {"taskId": "of ann"}})
    server.gate.clear()
    turn = Calling(bob)
    asking = asyncio.create_task(session.call(turn, "tools/list", {}))
    async with asyncio.timeout(FAILSAFE_S):
        await server.is_asked.wait()
    await session.on_notification(*said)
    server.gate.set()
    await asking
    assert (ann.notes, bob.notes, turn.notes) == ([said], [], [])


async def test_what_is_of_one_request_is_told_to_the_one_that_has_one_open(server, upstream):
    """Likewise: there it can be told."""
    ann, bob = Hearing("ann"), Hearing("bob")
    session = await upstream.session(ann)
    await upstream.session(bob)
    server.gate.clear()
    turn = Calling(bob)
    asking = asyncio.create_task(session.call(turn, "tools/list", {}))
    async with asyncio.timeout(FAILSAFE_S):
        await server.is_asked.wait()
    await session.on_notification(PROGRESS, {"progressToken": "p"})
    server.gate.set()
    await asking
    assert (ann.notes, bob.notes, turn.notes) == ([], [], [(PROGRESS, {"progressToken": "p"})])
