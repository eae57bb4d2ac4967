"""Connections to one upstream that are kept: what is not ready for another request is not used for it."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from fixtures.failsafe import FAILSAFE_S
from gateway.links import turns
from louver.concurrency.budget import PeerBudget, Turnstile
from louver.errors import UpstreamUnavailable
from louver.http1 import pool as module
from louver.http1.pool import ConnectionPool, _address_text
from louver.limits import MAX_UPSTREAM_PENDING


def pool_of(url, connections=400, idle=100):
    """A pool with budgets of its own."""
    return ConnectionPool(url, PeerBudget(connections), PeerBudget(idle), Turnstile())


class Hasty(asyncio.Protocol):
    """An upstream that answers as soon as anything has come, and of a large request reads no more.

    Args:
        transports: Where its own are noted.
        said: What it answers.
        ends: Whether it ends the connection then.
    """

    def __init__(self, transports, said, *, ends):
        self._transports = transports
        self._said = said
        self._ends = ends

    def connection_made(self, transport):
        self._transport = transport
        self._transports.append(transport)

    def data_received(self, data):
        if len(data) > 1000:
            self._transport.pause_reading()
        self._transport.write(self._said)
        if self._ends:
            self._transport.close()


@asynccontextmanager
async def hasty(host, said=b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nno", *, ends=False, **budgets):
    """Connections to one by that name of its host, and those that it has taken."""
    transports = []
    made = partial(Hasty, transports, said, ends=ends)
    server = await asyncio.get_running_loop().create_server(made, "127.0.0.1", 0)
    connections = pool_of(f"http://{host}:{server.sockets[0].getsockname()[1]}/mcp", **budgets)
    try:
        async with asyncio.timeout(FAILSAFE_S):
            yield connections, transports
    finally:
        await connections.close()
        for transport in transports:
            transport.abort()
        server.close()
        await server.wait_closed()


@pytest.mark.anyio
@pytest.mark.parametrize(("size", "connected"), [(0, 1), (8_000_000, 2)])
async def test_what_has_more_to_send_takes_no_other_request(size, connected):
    """Ours: an upstream may answer before it has read all, and then read no more."""
    async with hasty("127.0.0.1") as (connections, transports):
        for body in (b"x" * size, b""):
            reply = await connections.request("POST", {}, body)
            assert await reply.piece() == b"no"
            assert await reply.piece() is None
        assert len(transports) == connected


@pytest.mark.anyio
async def test_what_is_over_the_budget_of_connections_is_refused():
    """TRUST.md: the bound is named; a connection that has ended gives its place back."""
    async with hasty("127.0.0.1", connections=2) as (connections, _):
        replies = [await connections.request("POST", {}) for _ in range(2)]
        with pytest.raises(UpstreamUnavailable, match="all 2 connections that the upstream may have") as refused:
            await connections.request("POST", {})
        assert refused.value.fields["limit"] == 2
        replies[0].close()
        await turns()
        await connections.request("POST", {})
        # One that can be used again takes no further place.
        await replies[1].finish()
        await connections.request("POST", {})


@pytest.mark.anyio
async def test_few_connections_are_kept_idle():
    """TRUST.md: each is a descriptor."""
    async with hasty("127.0.0.1", idle=1) as (connections, transports):
        replies = [await connections.request("POST", {}) for _ in range(3)]
        for reply in replies:
            await reply.finish()
        await turns()
        assert [len(transports), len(connections._connections), connections._idle_budget.used] == [3, 1, 1]
        reply = await connections.request("POST", {})
        assert [len(transports), connections._idle_budget.used, connections._connection_budget.used] == [3, 0, 1]
        # One that the upstream ends while it is idle.
        await reply.finish()
        for transport in transports:
            transport.abort()
        await turns()
        assert [connections._idle_budget.used, connections._connection_budget.used] == [0, 0]


@pytest.mark.anyio
async def test_a_connection_that_is_not_made_gives_its_place_back(monkeypatch):
    """Ours: given up, or not to be had."""
    resolver = Resolver()
    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    connections = pool_of("http://mcp.invalid/mcp")
    waiting = [asyncio.create_task(connections.request("POST", {})) for _ in range(2)]
    try:
        assert await asyncio.to_thread(resolver.asked.wait, FAILSAFE_S)
        waiting[0].cancel()
    finally:
        resolver.may_say.set()
    await asyncio.wait(waiting)
    assert waiting[0].cancelled()
    assert isinstance(waiting[1].exception(), UpstreamUnavailable)
    assert connections._connection_budget.used == 0


CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
LARGE = 64 * 1024 * 1024


@pytest.mark.anyio
async def test_an_upstream_waits_for_who_reads_its_answer():
    """Ours: `MAX_UPSTREAM_PENDING`, beside what the system keeps for both."""
    said = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % LARGE + bytes(LARGE)
    async with hasty("127.0.0.1", said) as (connections, transports):
        reply = await connections.request("POST", {})
        size = 0
        for _ in range(2):
            # All of it would come in some 250.
            await turns(2000)
            assert transports[0].get_write_buffer_size() > LARGE / 2
            size += len(await reply.piece())
        while (piece := await reply.piece()) is not None:
            size += len(piece)
        assert size == LARGE


@pytest.mark.anyio
async def test_a_connection_that_was_full_is_read_from_again():
    """Ours: its end may be what has made it full."""
    head = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n"
    size = MAX_UPSTREAM_PENDING - len(head % MAX_UPSTREAM_PENDING)
    async with hasty("127.0.0.1", head % size + bytes(size)) as (connections, transports):
        for _ in range(2):
            reply = await connections.request("POST", {})
            await turns()
            read = 0
            while (piece := await reply.piece()) is not None:
                read += len(piece)
            assert read == size
        assert len(transports) == 1
        # Were it not read from, its end would be seen only once it is used again.
        transports[0].close()
        await turns()
        assert not connections._connections


@pytest.mark.anyio
async def test_tiny_chunks_come_as_few_pieces():
    """PRIVACY.md: the event loop never stalls."""
    async with hasty("127.0.0.1", CHUNKED + b"1\r\nx\r\n" * 40_000 + b"0\r\n\r\n") as (connections, _):
        reply = await connections.request("POST", {})
        await turns()
        pieces = []
        while (piece := await reply.piece()) is not None:
            pieces.append(piece)
    assert b"".join(pieces) == b"x" * 40_000
    assert len(pieces) < 20


@pytest.mark.anyio
async def test_what_is_not_http_is_told_as_such_once_its_connection_has_ended():
    """Ours: that is what is the matter, whoever looks late."""
    async with hasty("127.0.0.1", CHUNKED + b"1\r\nx\r\nno length\r\n", ends=True) as (connections, _):
        reply = await connections.request("POST", {})
        await turns()
        assert await reply.piece() == b"x"
        with pytest.raises(UpstreamUnavailable, match="its answer is not HTTP"):
            await reply.piece()


class Resolver:
    """One that has these addresses of every host; without any, it takes its time to say so."""

    def __init__(self, *found):
        self.count = 0
        self.asked, self.may_say = threading.Event(), threading.Event()
        self._found = found

    def __call__(self, host, port, *args, **kwargs):
        self.count += 1
        if not self._found:  # as for a name that no server answers for
            self.asked.set()
            assert self.may_say.wait(FAILSAFE_S)
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in self._found]


def test_a_resolver_that_takes_long_is_not_waited_for_at_the_end(monkeypatch):
    """GATEWAY.md: the process ends within 10 s, and a resolver may take half a minute."""
    resolver = Resolver()
    monkeypatch.setattr(socket, "getaddrinfo", resolver)

    async def given_up():
        asking = asyncio.create_task(pool_of("http://mcp.invalid/mcp").request("POST", {}))
        assert await asyncio.to_thread(resolver.asked.wait, FAILSAFE_S)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    ending = threading.Thread(target=asyncio.run, args=(given_up(),))
    ending.start()
    try:
        ending.join(FAILSAFE_S)
        assert not ending.is_alive()
    finally:
        resolver.may_say.set()
        ending.join()


@pytest.mark.anyio
async def test_a_host_is_looked_up_once_for_all_who_wait(monkeypatch):
    """Ours: a resolver that hangs is asked by one thread at a time, whoever has given up meanwhile."""
    resolver = Resolver()
    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    connections = pool_of("http://mcp.invalid/mcp")
    first, second = (asyncio.create_task(connections.request("POST", {})) for _ in range(2))
    try:
        assert await asyncio.to_thread(resolver.asked.wait, FAILSAFE_S)
        first.cancel()
        await asyncio.wait([first])
        third = asyncio.create_task(connections.request("POST", {}))
        await asyncio.sleep(0)
    finally:
        resolver.may_say.set()
    for waiting in (second, third):
        with pytest.raises(UpstreamUnavailable, match="cannot be reached"):
            await waiting
    assert (first.cancelled(), resolver.count) == (True, 1)


@pytest.mark.parametrize(
    ("address", "text"),
    [
        (("192.0.2.1", 80), "192.0.2.1"),
        (("2001:db8::1", 80, 0, 0), "2001:db8::1"),
        (("fe80::1", 80, 0, 1), "fe80::1%1"),
    ],
)
def test_an_address_of_a_link_keeps_its_scope(address, text):
    """RFC 4007: without it nobody knows which link is meant."""
    assert _address_text(address) == text


@pytest.mark.anyio
async def test_each_address_of_a_host_is_tried(monkeypatch):
    """As asyncio itself does."""
    async with hasty("mcp.example") as (connections, _):
        monkeypatch.setattr(socket, "getaddrinfo", Resolver("127.0.0.2", "127.0.0.1"))
        assert await (await connections.request("POST", {})).piece() == b"no"


async def why(url):
    """Why an upstream cannot be reached."""
    connections = pool_of(url)
    with pytest.raises(UpstreamUnavailable) as failed:
        await connections.request("POST", {})
    await connections.close()
    return failed.value.message.removeprefix("the upstream cannot be reached: ")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("host", "reason"),
    [("nothing.invalid", "its host is not known"), (f"{'a' * 64}.invalid", "its host is no name of one")],
)
async def test_a_host_without_an_address_cannot_be_reached(host, reason):
    """RFC 6761 has no such names; and labels have at most 63 bytes."""
    assert await why(f"http://{host}/mcp") == reason


@pytest.mark.anyio
async def test_a_port_where_nobody_listens_is_told_in_words():
    """Ours: what a class of Python is called tells nobody anything."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        assert await why(f"http://127.0.0.1:{taken.getsockname()[1]}/mcp") == "connection refused"


@pytest.mark.anyio
async def test_a_connection_that_takes_long_is_told_with_its_bound(monkeypatch):
    """Likewise."""
    resolver = Resolver()
    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    monkeypatch.setattr(module, "UPSTREAM_CONNECT_SECONDS", 0.01)
    try:
        assert await why("http://mcp.invalid/mcp") == "it has not connected within 0.01 s"
    finally:
        resolver.may_say.set()


@pytest.mark.anyio
async def test_a_server_without_tls_is_told_as_such():
    """Ours: `https` where the server speaks `http` is a slip that many make."""
    async with hasty("127.0.0.1") as (plain, _):
        assert await why(f"https://127.0.0.1:{plain._port}/mcp") == "it does not speak TLS as it should, or not at all"


@pytest.mark.anyio
async def test_a_certificate_that_nobody_vouches_for_is_told_as_such(tmp_path):
    """Ours: in OpenSSL's words, which tell an old one from one of another host."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(self_signed(tmp_path))
    server = await asyncio.get_running_loop().create_server(asyncio.Protocol, "127.0.0.1", 0, ssl=context)
    async with server:
        told = await why(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp")
    assert told.startswith("its certificate is not trusted: self")


def self_signed(folder):
    """A file with a certificate that vouches for itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    made = x509.CertificateBuilder(
        issuer_name=name,
        subject_name=name,
        public_key=key.public_key(),
        serial_number=1,
        not_valid_before=datetime(2026, 1, 1),
        not_valid_after=datetime(2126, 1, 1),
    )
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    file = folder / "server.pem"
    file.write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
        + made.sign(key, hashes.SHA256()).public_bytes(pem)
    )
    return file
