"""Serve over HTTP, with health checks and a graceful shutdown.

    GET /healthz    200 while the process lives
    GET /readyz     200 while it serves, 503 during the shutdown

On SIGTERM or SIGINT the server accepts no new connections, waits `DRAIN_S` for open calls, ends streams cleanly,
answers remaining requests with 503, and exits with status 0.
"""

from __future__ import annotations

import asyncio
import resource
import socket
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

import uvicorn
from starlette.requests import ClientDisconnect

from louver.errors import InvalidInput
from louver.http1.server import Front
from louver.limits import DRAIN_S

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

    from starlette.types import ASGIApp, Message, Receive, Scope, Send


def listening_at(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is explicit because asyncio sets TCP_NODELAY only then.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise InvalidInput(f"cannot listen at {host}, port {port}: {error.strerror}") from None
    listening.listen()
    return listening


async def serve(
    app: ASGIApp,
    listening: socket.socket,
    *,
    ready: Callable[[Callable[[], None]], None],
    end_streams: Callable[[], None],
    end_behind: Callable[[], Awaitable[None]],
) -> None:
    """Serve until it is ended by what `ready` is called with, once that is possible."""
    doors = Doors(app)
    files = _most_files()
    server = _Server(
        uvicorn.Config(
            doors,
            http=Front,
            ws="none",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            # The other half is for upstreams, and for accepting a connection in order to refuse it.
            limit_concurrency=files // 2,
            # The event loop accepts three times as many connections before it can refuse the first of them.
            backlog=min(_MOST_BACKLOG, files // 16),
            timeout_graceful_shutdown=2,
        )
    )
    stop = asyncio.Event()
    ready(stop.set)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        # There are no servers if the signal came before the start.
        for each in getattr(server, "servers", ()):
            each.close()
        await doors.drain(DRAIN_S, end_streams)
    finally:
        stopping.cancel()
        server.should_exit = True
        # Concurrently: the upstreams need not wait until all clients have disconnected.
        await asyncio.gather(serving, end_behind())


_MOST_BACKLOG: Final = 2048
_UNLIMITED_FILES: Final = 1_000_000
_LISTENS: Final = (b"mcp-method", b"subscriptions/listen")


def _most_files() -> int:
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _UNLIMITED_FILES if most == resource.RLIM_INFINITY else most


class _Server(uvicorn.Server):
    """Leaves signals alone: uvicorn would raise the signal again after its shutdown."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for each in sockets or ():
            # The kernel's queue may be longer than the batch that asyncio accepts at once.
            each.listen(_MOST_BACKLOG)


class Doors:
    """ASGI wrapper that answers health checks, counts open requests, and ends their responses at shutdown."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._open: dict[asyncio.Task[Any], bool] = {}
        self._cut: set[asyncio.Task[Any]] = set()
        self._closing = False
        self._is_over = False
        self._calls_done = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["path"] == "/healthz":
            await _say(send, 200, "ok")
        elif scope["path"] == "/readyz":
            await _say(send, 503 if self._closing else 200, "ending" if self._closing else "ok")
        elif self._is_over:
            # A connection that is not closed yet can still bring a request.
            await _say(send, 503, "ending")
        else:
            await self._serve(scope, receive, send)

    async def drain(self, seconds: float, end_streams: Callable[[], None]) -> None:
        """Wait for open calls, then end streams and cancel the rest."""
        self._closing = True
        if False in self._open.values():
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._calls_done.wait()
        end_streams()
        await asyncio.sleep(0)
        self._is_over = True
        self._cut = set(self._open)
        for answering in self._cut:
            answering.cancel()

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = ended = False

        async def watched(message: Message) -> None:
            nonlocal started, ended
            started = started or message["type"] == "http.response.start"
            ended = message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)

        is_stream = scope["method"] == "GET" or _LISTENS in scope["headers"]
        answering = asyncio.current_task()
        assert answering is not None, "requests are answered in tasks"
        self._open[answering] = is_stream
        try:
            await self._app(scope, receive, watched)
        except ClientDisconnect:
            # The client disconnected before its request was complete, so nothing can be answered.
            pass
        except asyncio.CancelledError:
            if answering not in self._cut:
                raise
            if not started:
                await _say(send, 503, "ending")
            elif not ended:
                # A complete response, which the client does not take for a broken connection.
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            del self._open[answering]
            if self._closing and False not in self._open.values():
                self._calls_done.set()


async def _say(send: Send, status: int, text: str) -> None:
    body = text.encode()
    headers: list[Any] = [(b"content-type", b"text/plain"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
