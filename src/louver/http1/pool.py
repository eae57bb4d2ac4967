"""The connection pool of one HTTP upstream."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from base64 import b64encode
from concurrent.futures import Future
from contextvars import Context
from functools import cache
from ipaddress import ip_address
from threading import Thread
from typing import TYPE_CHECKING, Any

import httpx2

from louver.concurrency.offload import in_thread
from louver.errors import UpstreamUnavailable
from louver.http1.connection import Connection
from louver.limits import UPSTREAM_CONNECT_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from louver.concurrency.budget import PeerBudget, Turnstile
    from louver.http1.connection import Response

UPSTREAM_IDLE_SECONDS = 4.0
"""How long an idle HTTP connection stays open. Common servers close theirs after 5, and no call should meet that."""


class ConnectionPool:
    def __init__(self, url: str, connections: PeerBudget, idle: PeerBudget, turnstile: Turnstile) -> None:
        try:
            self._url = httpx2.URL(url)
        except httpx2.InvalidURL:
            self._url = httpx2.URL()
        if self._url.scheme not in ("http", "https") or not self._url.host:
            raise UpstreamUnavailable("the upstream's URL is neither http nor https")
        self._target = self._url.raw_path.decode("ascii")
        self._base_headers = {
            "host": self._url.netloc.decode("ascii"),
            "user-agent": "louver",
            "accept-encoding": "gzip",
        }
        if self._url.userinfo:
            credentials = f"{self._url.username}:{self._url.password}".encode()
            self._base_headers["authorization"] = f"Basic {b64encode(credentials).decode()}"
        self._is_secure = self._url.scheme == "https"
        self._host = self._url.raw_host.decode("ascii")
        self._port = self._url.port or (443 if self._is_secure else 80)
        self._resolver = Resolver(self._host, self._port)
        # Other pools may share these.
        self._connection_budget, self._idle_budget, self._turnstile = connections, idle, turnstile
        self._idle: dict[Connection, float] = {}  # since when, the oldest first
        self._idle_timer: asyncio.TimerHandle | None = None  # one for all: most are used again before
        self._connections: set[Connection] = set()
        self._all_closed = asyncio.Event()
        self._all_closed.set()
        self._is_closed = False

    def request(self, method: str, headers: dict[str, str], body: bytes = b"") -> Coroutine[Any, Any, Response]:
        """Send a request, and wait for the head of its response; `headers` have lower-case names."""
        if self._is_closed:
            raise UpstreamUnavailable("the connection is closed")
        length = {"content-length": str(len(body))} if method == "POST" else {}
        head = _head(method, self._target, {**self._base_headers, **headers, **length})
        connection = self._pop_idle()
        return self._connect_and_request(head, body) if connection is None else connection.request(head, body)

    async def close(self) -> None:
        self._is_closed = True
        for connection in list(self._connections):
            connection.close()
        await self._all_closed.wait()

    def _pop_idle(self) -> Connection | None:
        """The connection that was used last."""
        while self._idle:
            connection, _ = self._idle.popitem()
            self._idle_budget.give_back()
            if connection.is_open:
                return connection
            connection.close()
        return None

    async def _connect_and_request(self, head: bytes, body: bytes) -> Response:
        if not self._connection_budget.take():
            limit = self._connection_budget.limit
            raise UpstreamUnavailable(f"all {limit} connections that the upstream may have are in use", limit=limit)
        try:
            async with asyncio.timeout(UPSTREAM_CONNECT_SECONDS):
                connection = await self._connect()
        except BaseException as error:  # cancellation must give the connection back too
            self._connection_budget.give_back()
            if isinstance(error, OSError | UnicodeError):  # also a timeout, or an impossible host name
                raise UpstreamUnavailable(f"the upstream cannot be reached: {_reason(error)}") from None
            raise
        self._connections.add(connection)
        self._all_closed.clear()
        if self._is_closed:
            connection.close()
        return await connection.request(head, body)

    async def _connect(self) -> Connection:
        """A connection to the first of the host's addresses that accepts one."""
        last_error: OSError = OSError()
        for address in await self._resolver.addresses():
            try:
                _, connection = await asyncio.get_running_loop().create_connection(
                    lambda: Connection(self._release, self._on_lost, self._turnstile),
                    address,
                    self._port,
                    ssl=await ssl_context() if self._is_secure else None,
                    server_hostname=self._host if self._is_secure else None,
                )
            except OSError as error:
                last_error = error
            else:
                return connection
        raise last_error

    def _release(self, connection: Connection) -> None:
        if not self._idle_budget.take():
            connection.close()
            return
        loop = asyncio.get_running_loop()
        self._idle[connection] = loop.time()
        if self._idle_timer is None:
            self._idle_timer = _later(loop, UPSTREAM_IDLE_SECONDS, self._close_idle)

    def _close_idle(self) -> None:
        """Close what has been idle for long: the upstream is about to close it too."""
        self._idle_timer = None
        loop = asyncio.get_running_loop()
        for connection, since in list(self._idle.items()):
            if (left_s := since + UPSTREAM_IDLE_SECONDS - loop.time()) > 0:
                self._idle_timer = _later(loop, left_s, self._close_idle)
                break
            connection.close()

    def _on_lost(self, connection: Connection) -> None:
        if connection in self._idle:
            del self._idle[connection]
            self._idle_budget.give_back()
        if connection in self._connections:
            self._connections.discard(connection)
            self._connection_budget.give_back()
        if not self._connections:
            self._all_closed.set()


def _later(loop: asyncio.AbstractEventLoop, delay_s: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
    # In an empty context: the timer serves several requests.
    return loop.call_later(delay_s, callback, context=Context())


def _head(method: str, target: str, headers: Mapping[str, str]) -> bytes:
    """The head of a request. h11 would check each header again, which costs as much as all its reading."""
    text = "".join((*headers, *headers.values()))
    if not text.isascii() or not text.isprintable():
        raise UpstreamUnavailable("a header for the upstream cannot be sent over HTTP")
    lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    return f"{method} {target} HTTP/1.1\r\n{lines}\r\n".encode("ascii")


def _reason(error: OSError | UnicodeError) -> str:
    """Why there is no connection, without the URL, which may hold a secret."""
    match error:
        case UnicodeError():
            return "its host is no name of one"
        case socket.gaierror():
            return "its host is not known"
        case TimeoutError() if error.errno is None:
            return f"it has not connected within {UPSTREAM_CONNECT_SECONDS:g} s"
        case ssl.SSLCertVerificationError():
            return f"its certificate is not trusted: {error.verify_message}"
        case ssl.SSLError():
            return "it does not speak TLS as it should, or not at all"
        case _:
            # asyncio's own message holds the address.
            return os.strerror(error.errno).lower() if error.errno is not None else type(error).__name__


async def ssl_context() -> ssl.SSLContext:
    """The certificates that `https` trusts; loading them takes up to 0.2 s, in a thread."""
    return await in_thread(certificates)


@cache
def certificates() -> ssl.SSLContext:
    """The same, by waiting for the disk."""
    return httpx2.create_ssl_context(trust_env=False)


class Resolver:
    """Looks up one host; concurrent callers share a lookup."""

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._port = port
        self._pending: Future[list[str]] | None = None

    async def addresses(self) -> list[str]:
        """The host's addresses, in the order to try them."""
        if _is_address(self._host):
            return [self._host]
        if self._pending is None or self._pending.done():
            self._pending = Future()
            # Set to running: a cancelled waiter does not cancel it for others.
            self._pending.set_running_or_notify_cancel()
            Thread(target=self._look_up, args=(self._pending,), name="louver-resolver", daemon=True).start()
        return await asyncio.wrap_future(self._pending)

    def _look_up(self, future: Future[list[str]]) -> None:
        try:
            infos = socket.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
            future.set_result([_address_text(address) for *_, address in infos])
        except (OSError, UnicodeError) as error:
            future.set_exception(error)


def _is_address(host: str) -> bool:
    """Whether it is an address, which needs no lookup, and so no thread."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _address_text(address: tuple[Any, ...]) -> str:
    return f"{address[0]}%{address[3]}" if len(address) == 4 and address[3] else str(address[0])
