"""Serve over HTTP, with health checks and a graceful shutdown.

    GET /healthz    200 while the process lives
    GET /readyz     200 while it serves, 503 during the shutdown, or while another replica has a newer configuration;
                    `?verbose`: the servers behind, for clients

On SIGTERM or SIGINT the server accepts no new connections, waits `DRAIN_S` for open calls, ends streams cleanly,
answers remaining requests with 503, and exits with status 0.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

import uvicorn
from starlette.requests import ClientDisconnect

from louver.concurrency.budget import BudgetByKey
from louver.concurrency.places import client_connections, max_open_files
from louver.errors import InvalidInput
from louver.gateway.front.endpoint import READY_PATH
from louver.http1.server import PlainFirstProtocol
from louver.limits import DRAIN_S, MAX_PEER_UNREAD_BYTES

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

    from starlette.types import ASGIApp, Message, Receive, Scope, Send


def bind_socket(host: str, port: int) -> socket.socket:
    """A socket that accepts connections."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is explicit because asyncio sets TCP_NODELAY only then.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
    except OSError as error:
        sock.close()
        raise InvalidInput(f"cannot listen at {host}, port {port}: {error.strerror}") from None
    sock.listen()
    return sock


async def serve(
    app: ASGIApp,
    sock: socket.socket,
    *,
    ready: Callable[[Callable[[], None]], None],
    end_streams: Callable[[], None],
    close_upstreams: Callable[[], Awaitable[None]],
    is_outdated: Callable[[], bool] = lambda: False,
) -> None:
    """Serve until it is ended by what `ready` is called with, once that is possible."""
    open_requests = OpenRequests(app, is_outdated)
    unread = BudgetByKey(MAX_PEER_UNREAD_BYTES)
    server = _Server(
        uvicorn.Config(
            open_requests,
            http=cast("type[asyncio.Protocol]", partial(PlainFirstProtocol, unread=unread)),
            ws="none",
            interface="asgi3",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            limit_concurrency=client_connections(),
            # The event loop accepts three times as many connections before it can refuse the first of them.
            backlog=min(_MAX_BACKLOG, max_open_files() // 16),
            timeout_graceful_shutdown=2,
        )
    )
    stop = asyncio.Event()
    ready(stop.set)
    serving = asyncio.create_task(server.serve(sockets=[sock]))
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        # There are no servers if the signal came before the start.
        for each in getattr(server, "servers", ()):
            each.close()
        await open_requests.drain(DRAIN_S, end_streams)
    finally:
        stopping.cancel()
        server.should_exit = True
        # Concurrently: the upstreams need not wait until all clients have disconnected.
        await asyncio.gather(serving, close_upstreams())


_MAX_BACKLOG: Final = 2048
_LISTEN_HEADER: Final = (b"mcp-method", b"subscriptions/listen")


class _Server(uvicorn.Server):
    """Leaves signals alone: uvicorn would raise the signal again after its shutdown."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for each in sockets or ():
            # The kernel's queue may be longer than the batch that asyncio accepts at once.
            each.listen(_MAX_BACKLOG)


class OpenRequests:
    """ASGI wrapper that answers health checks, counts open requests, and ends their responses at shutdown."""

    def __init__(self, app: ASGIApp, is_outdated: Callable[[], bool]) -> None:
        self._app = app
        self._is_outdated = is_outdated
        self._open: dict[asyncio.Task[Any], bool] = {}
        self._cancelled: set[asyncio.Task[Any]] = set()
        self._is_draining = False
        self._is_drained = False
        self._calls_done = asyncio.Event()

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] != "http":
            return self._app(scope, receive, send)
        if scope["path"] == "/healthz":
            return _send_text(send, 200, "ok")
        if scope["path"] == READY_PATH and (self._is_draining or scope["query_string"] != b"verbose"):
            state = "ending" if self._is_draining else "outdated" if self._is_outdated() else "ok"
            return _send_text(send, 200 if state == "ok" else 503, state)
        if self._is_drained:
            # A connection that is not closed yet can still bring a request.
            return _send_text(send, 503, "ending")
        return self._serve(scope, receive, send)

    async def drain(self, seconds: float, end_streams: Callable[[], None]) -> None:
        """Wait for open calls, then end streams and cancel the rest."""
        self._is_draining = True
        if False in self._open.values():
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._calls_done.wait()
        end_streams()
        await asyncio.sleep(0)
        self._is_drained = True
        self._cancelled = set(self._open)
        for task in self._cancelled:
            task.cancel()

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = ended = False

        async def send_tracked(message: Message) -> None:
            nonlocal started, ended
            started = started or message["type"] == "http.response.start"
            ended = message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)

        is_stream = scope["method"] == "GET" or _LISTEN_HEADER in scope["headers"]
        task = asyncio.current_task()
        assert task is not None, "requests are answered in tasks"
        self._open[task] = is_stream
        try:
            await self._app(scope, receive, send_tracked)
        except ClientDisconnect:
            # The client disconnected before its request was complete, so nothing can be answered.
            pass
        except asyncio.CancelledError:
            if task not in self._cancelled:
                raise
            if not started:
                await _send_text(send, 503, "ending")
            elif not ended:
                # A complete response, which the client does not take for a broken connection.
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            del self._open[task]
            if self._is_draining and False not in self._open.values():
                self._calls_done.set()


async def _send_text(send: Send, status: int, text: str) -> None:
    body = text.encode()
    headers: list[Any] = [(b"content-type", b"text/plain"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
