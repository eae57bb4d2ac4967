"""One HTTP endpoint of an upstream: the requests to it, and the messages in its responses.

    POST   a message; the answer is JSON or an event stream
    GET    an event stream of its own, or the rest of one (`Last-Event-ID`); 2025 only
    DELETE the end of the session; 2025 only

    404 in a session                              the session is over
    4xx, 5xx with a JSON-RPC error as the body    that error; with 401, 429 and others it concerns all requests

Redirects are not followed, cookies not kept, and no proxy is taken from the environment.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from louver.errors import UpstreamError, UpstreamInvalidOutput, UpstreamUnavailable
from louver.gateway.back.transports.event_stream import EVENT_STREAM
from louver.gateway.back.transports.transport import NO_HEADERS, RefusesAllRequests
from louver.http1.pool import ConnectionPool
from louver.limits import UPSTREAM_GOODBYE_SECONDS
from louver.wire.headers import encode_header
from louver.wire.jsonrpc import codec
from louver.wire.jsonrpc.errors import JsonRpcError
from louver.wire.mcp import METHOD_HEADER, MODERN_VERSIONS, NAME_HEADER, NAMED_BY, SESSION_HEADER, VERSION_HEADER

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Mapping

    from louver.gateway.back.transports.budgets import UpstreamBudgets
    from louver.http1.connection import Response
    from louver.wire.jsonrpc.codec import Message, Params

_SESSION_LOST = "the upstream knows the session no more: HTTP 404"

CREDENTIAL_STATUSES = (401, 403)

_POST_HEADERS = {"accept": f"application/json, {EVENT_STREAM}", "content-type": "application/json"}

_REFUSALS = {
    405: "the upstream takes no such request; one of the older HTTP with SSE needs a bridge to stdio:",
    **dict.fromkeys(CREDENTIAL_STATUSES, "the upstream does not take the gateway's credentials:"),
    **dict.fromkeys((301, 302, 303, 307, 308), "the upstream redirects, which is not followed:"),
}

# Statuses that concern the gateway or the whole upstream, not one request.
_GLOBAL_STATUSES = frozenset({401, 403, 407, 429, 502, 503, 504})


class Credentials(Protocol):
    """Headers that authorize requests, and may change from one to the next; shared by all transports of an upstream."""

    is_off: bool  # there are none, until a request is refused or a login is found

    async def headers(self) -> Mapping[str, str]: ...

    async def on_refused(self, sent: Mapping[str, str], status: int, challenge: str | None, /) -> bool:
        """Whether a refused request can be sent again, with other headers."""
        ...


class Endpoint:
    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        budgets: UpstreamBudgets,
        on_session_lost: Callable[[str], None],
        credentials: Credentials | None = None,
    ) -> None:
        self.is_modern = False
        self._version: str | None = None
        self._session: str | None = None
        self._url = url
        self._budgets = budgets
        self._headers = {name.lower(): value for name, value in headers.items()}
        self._on_session_lost = on_session_lost  # called with the reason when the upstream no longer knows the session
        self.credentials = credentials
        self._connections: ConnectionPool | None = None
        self._resuming = 0
        self._not_resuming = asyncio.Event()
        self._not_resuming.set()

    async def can_authorize(self, refused: Response) -> bool:
        """Whether an anonymous request that was refused can be sent again."""
        return self.credentials is not None and await _is_renewed(self.credentials, {}, refused)

    def set_version(self, version: str | None) -> None:
        self._version, self.is_modern = version, version in MODERN_VERSIONS

    def open(self) -> None:
        self._connections = ConnectionPool(
            self._url, self._budgets.connections, self._budgets.idle, self._budgets.turnstile
        )

    async def close(self) -> None:
        if self._connections is None:
            return
        if self._current_session is not None:
            with suppress(TimeoutError, UpstreamError):
                async with asyncio.timeout(UPSTREAM_GOODBYE_SECONDS):
                    (await self._request("DELETE", self._session_headers)).close()
        await self._connections.close()

    def post(
        self,
        message: bytes,
        method: str | None = None,
        params: Params = None,
        headers: Mapping[str, str] = NO_HEADERS,
        *,
        is_anonymous: bool = False,
    ) -> Awaitable[Response]:
        """Send a message, anonymous or with the credentials; `method` and `params` are its own, for its headers."""
        if method == "initialize":
            # `initialize` begins a session and belongs to none.
            self._session = None
        session = self._current_session
        sent = {**_POST_HEADERS, **({} if method == "initialize" else self._session_headers)}
        if self.is_modern and method is not None:
            sent |= _routing_headers(method, params or {})
        for name, value in headers.items():
            sent[name.lower()] = value
        sending = self._request("POST", sent, message, is_anonymous=is_anonymous)
        return sending if self.is_modern else self._noted(sending, method, session)

    async def _noted(self, sending: Awaitable[Response], method: str | None, session: str | None) -> Response:
        """A response, after the session that it begins or ends was noted."""
        response = await sending
        if method == "initialize" and response.status == 200:
            self._session = response.header(SESSION_HEADER)
        elif response.status == 404 and session is not None:
            response.close()
            if self._session == session:
                self._session = None
                self._on_session_lost(_SESSION_LOST)
            raise UpstreamUnavailable(_SESSION_LOST)
        return response

    async def get(self, after: str | None) -> Response:
        resume_header = {} if after is None else {"last-event-id": after}
        return await self._request("GET", {"accept": EVENT_STREAM, **self._session_headers, **resume_header})

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
    def has_session(self) -> bool:
        """Whether the upstream has begun a session, which 2025 leaves to it."""
        return self._current_session is not None

    @property
    def _current_session(self) -> str | None:
        """The session of requests; none in 2026-07-28, even if a refused `initialize` has begun one."""
        return None if self.is_modern else self._session

    @property
    def _session_headers(self) -> dict[str, str]:
        values = {VERSION_HEADER: self._version, SESSION_HEADER: self._current_session}
        return {name: value for name, value in values.items() if value is not None}

    def _request(
        self, verb: str, headers: Mapping[str, str], content: bytes = b"", *, is_anonymous: bool = False
    ) -> Awaitable[Response]:
        if self._connections is None:
            raise UpstreamUnavailable("the connection is closed")
        if self.credentials is None or is_anonymous:
            return self._connections.request(verb, {**self._headers, **headers}, content)
        send = partial(self._connections.request, verb, body=content)
        return send_authorized(self.credentials, lambda sent: send({**self._headers, **sent, **headers}))


async def send_authorized(
    credentials: Credentials, send: Callable[[Mapping[str, str]], Awaitable[Response]]
) -> Response:
    """The response to a request with the current credentials. One that is refused may be sent again with others."""
    sent = await credentials.headers()
    response = await send(sent)
    if response.status not in CREDENTIAL_STATUSES:
        return response
    return await send(await credentials.headers()) if await _is_renewed(credentials, sent, response) else response


async def _is_renewed(credentials: Credentials, sent: Mapping[str, str], refused: Response) -> bool:
    """Whether a refused request can be sent again; its response is closed then."""
    try:
        is_renewed = await credentials.on_refused(sent, refused.status, refused.header("www-authenticate"))
    except BaseException:  # cancellation must close the response too
        refused.close()
        raise
    if is_renewed:
        refused.close()
    return is_renewed


def _routing_headers(method: str, params: dict[str, Any]) -> dict[str, str]:
    """The headers that route a 2026-07-28 request without reading it."""
    name = params.get(NAMED_BY.get(method, ""))
    if not isinstance(name, str):
        return {METHOD_HEADER: method}
    # Most names need no look at their characters.
    is_plain = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return {METHOD_HEADER: method, NAME_HEADER: name if is_plain else encode_header(name)}


async def read_message(response: Response) -> Message:
    if response.media_type != "application/json":
        raise UpstreamInvalidOutput("the upstream answers with neither JSON nor a stream of events")
    return await codec.read_in_thread(await response.body())


async def refusal(response: Response) -> JsonRpcError | UpstreamError:
    """The error that an answer with another status than 200 stands for."""
    status = response.status
    problem = f"{_REFUSALS.get(status, 'the upstream answers with')} HTTP {status}"
    if status >= 400:
        try:
            (await read_message(response)).result()
        except JsonRpcError as error:
            return RefusesAllRequests(error, problem) if status in _GLOBAL_STATUSES else error
        except UpstreamError:
            pass
    if status < 300:
        return UpstreamInvalidOutput("the upstream accepts a request without answering it")
    return UpstreamUnavailable(problem, status=status)
