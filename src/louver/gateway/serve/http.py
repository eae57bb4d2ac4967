"""Serving over HTTP: from the first connection to a clean end.

When the process is told to end, no new connections are taken, calls go on for a while, then streams are closed as
if they had come to their end, what is not answered by then gets status 503, and the exit status is 0::

    GET /healthz    200 while the process lives
    GET /readyz     200 while it serves, 503 once it is told to end

Before it serves nothing is answered.
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
    """A socket that listens.

    Raises:
        InvalidInput: The address is taken, or not one of this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio sends small parts at once only where it is.
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
    """Serve until it is ended.

    Args:
        app: What is served.
        listening: Where.
        ready: Called once it can be ended, with what ends it.
        end_streams: Called when calls are done, to end the streams that the application ends by itself.
        end_behind: Awaited then, to end what is behind the application.
    """
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
            # The other files are for what is behind the application; without any, nobody can be sent away.
            limit_concurrency=files // 2,
            # So many connections are taken at once, three times over, before the first of them can be sent away.
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
        # There are none if it was told to end before it had started.
        for each in getattr(server, "servers", ()):
            each.close()
        await doors.drain(DRAIN_S, end_streams)
    finally:
        stopping.cancel()
        server.should_exit = True
        # Beside each other: clients leave what is behind, and need not be waited for there.
        await asyncio.gather(serving, end_behind())


_MOST_BACKLOG: Final = 2048
_UNLIMITED_FILES: Final = 1_000_000
_LISTENS: Final = (b"mcp-method", b"subscriptions/listen")


def _most_files() -> int:
    """How many files the process may have open."""
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _UNLIMITED_FILES if most == resource.RLIM_INFINITY else most


class _Server(uvicorn.Server):
    """Leaves signals alone: uvicorn would end by the signal again, and streams would be cut."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for each in sockets or ():
            # As many as that can wait to be taken.
            each.listen(_MOST_BACKLOG)


class Doors:
    """What every request goes through: health, and the end of every response."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._open: dict[asyncio.Task[Any], bool] = {}
        self._cut: set[asyncio.Task[Any]] = set()
        self._closing = False
        self._is_over = False
        self._calls_done = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["path"] == "/healthz":
            await _say(send, 200, "ok")
        elif scope["path"] == "/readyz":
            await _say(send, 503 if self._closing else 200, "ending" if self._closing else "ok")
        elif self._is_over:
            # Over a connection that is not closed yet.
            await _say(send, 503, "ending")
        else:
            await self._serve(scope, receive, send)

    async def drain(self, seconds: float, end_streams: Callable[[], None]) -> None:
        """Wait for calls, then end the streams."""
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
            # It has gone before it had said all of its request: nobody is there to be answered.
            pass
        except asyncio.CancelledError:
            if answering not in self._cut:
                raise
            if not started:
                await _say(send, 503, "ending")
            elif not ended:
                # A clean end, so that the client does not take it for a broken connection.
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
