"""One HTTP endpoint of an upstream, and the requests to it. Responses are read by `response.py`.

    POST   a message; the answer is JSON or an event stream
    GET    an event stream of its own, or the rest of one (`Last-Event-ID`); 2025 only
    DELETE the end of the session; 2025 only

Redirects are not followed, cookies not kept, and no proxy is taken from the environment.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from louver.errors import UpstreamError, UpstreamUnavailable
from louver.gateway.transports.response import Response
from louver.http1.pool import ConnectionPool
from louver.limits import UPSTREAM_GOODBYE_SECONDS
from louver.protocol.headers import encode_header
from louver.protocol.mcp import METHOD_HEADER, MODERN_VERSIONS, NAME_HEADER, NAMED_BY, SESSION_HEADER, VERSION_HEADER

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from louver.jsonrpc.codec import Params

_STREAM = "text/event-stream"


class Endpoint:
    def __init__(self, url: str, headers: Mapping[str, str], on_session_lost: Callable[[str], None]) -> None:
        self.version: str | None = None
        self._session: str | None = None
        self._url = url
        self._headers = {name.lower(): value for name, value in headers.items()}
        self._on_session_lost = on_session_lost  # called with the reason when the upstream no longer knows the session
        self._connections: ConnectionPool | None = None
        self._resuming = 0
        self._not_resuming = asyncio.Event()
        self._not_resuming.set()

    @property
    def is_modern(self) -> bool:
        return self.version in MODERN_VERSIONS

    def open(self) -> None:
        self._connections = ConnectionPool(self._url)

    async def close(self) -> None:
        if self._connections is None:
            return
        if self._current_session is not None:
            with suppress(TimeoutError, UpstreamError):
                async with asyncio.timeout(UPSTREAM_GOODBYE_SECONDS):
                    (await self._send("DELETE", self._session_headers())).close()
        await self._connections.close()

    async def post(
        self, message: bytes, method: str | None = None, params: Params = None, headers: Mapping[str, str] | None = None
    ) -> Response:
        """Send a message; `method` and `params` are those of the message, for its headers."""
        base_headers = {"accept": f"application/json, {_STREAM}", "content-type": "application/json"}
        if method == "initialize":
            # `initialize` begins a session and belongs to none.
            self._session = None
        else:
            base_headers |= self._session_headers()
        if self.is_modern and method is not None:
            base_headers |= _routing_headers(method, params or {})
        extra_headers = {name.lower(): value for name, value in (headers or {}).items()}
        response = await self._send("POST", {**base_headers, **extra_headers}, message)
        if method == "initialize" and response.status == 200:
            self._session = response.header(SESSION_HEADER)
        return response

    async def get(self, after: str | None) -> Response:
        resume_header = {} if after is None else {"last-event-id": after}
        return await self._send("GET", {"accept": _STREAM, **self._session_headers(), **resume_header})

    @contextmanager
    def resuming(self) -> Generator[None]:
        """While a call waits to resume its stream, no other stream is opened: that could get the answer."""
        self._resuming += 1
        self._not_resuming.clear()
        try:
            yield
        finally:
            self._resuming -= 1
            if not self._resuming:
                self._not_resuming.set()

    async def wait_not_resuming(self) -> None:
        await self._not_resuming.wait()

    @property
    def _current_session(self) -> str | None:
        """The session of requests; none in 2026-07-28, even if a refused `initialize` has begun one."""
        return None if self.is_modern else self._session

    def _session_headers(self) -> dict[str, str]:
        values = {VERSION_HEADER: self.version, SESSION_HEADER: self._current_session}
        return {name: value for name, value in values.items() if value is not None}

    async def _send(self, verb: str, headers: Mapping[str, str], content: bytes = b"") -> Response:
        if self._connections is None:
            raise UpstreamUnavailable("the connection is closed")
        session = self._current_session
        response = Response(await self._connections.request(verb, {**self._headers, **headers}, content))
        if verb == "POST" and response.status == 404 and session is not None:
            response.close()
            if self._session == session:
                self._session = None
                self._on_session_lost(_SESSION_LOST)
            raise UpstreamUnavailable(_SESSION_LOST)
        return response


_SESSION_LOST = "the upstream knows the session no more: HTTP 404"


def _routing_headers(method: str, params: dict[str, Any]) -> dict[str, str]:
    """The headers that route a 2026-07-28 request without reading it."""
    name = params.get(NAMED_BY.get(method, ""))
    name_header = {NAME_HEADER: encode_header(name)} if isinstance(name, str) else {}
    return {METHOD_HEADER: method, **name_header}
