"""Fast path for the most frequent requests: `tools/call` and `tools/list` of revision 2026-07-28 over HTTP.

    POST {"id": 3, "method": "tools/call", ...}  -> 200 application/json {"id": 3, "result": ...}
                                                 -> 200 text/event-stream if a notification or a ping comes first

The SDK would pass the result through pydantic and `json`, at a higher cost than the rest of the gateway. The fast path
runs the same middleware and writes with msgspec. An unusual or invalid request goes to the SDK's app, body included.
"""

from __future__ import annotations

import asyncio
from functools import lru_cache
from itertools import product
from operator import is_
from typing import TYPE_CHECKING, Any, Final

import msgspec
from mcp import MCPError
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.runner import modern_error_data
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    MCP_METHOD_HEADER,
    MCP_PARAM_HEADER_PREFIX,
    MCP_PROTOCOL_VERSION_HEADER,
    InboundModernRoute,
    classify_inbound_request,
    validate_mcp_param_headers,
)
from mcp_types.version import LATEST_MODERN_VERSION

from louver.concurrency.deadlines import Deadlines
from louver.concurrency.offload import Cancellation
from louver.core.json import Json, is_object, members
from louver.gateway.serve.request_body import replay
from louver.gateway.serve.sessions import LOOPBACK
from louver.jsonrpc.codec import Result
from louver.jsonrpc.inbound_limits import check
from louver.limits import MAX_CLIENT_LINE, MAX_READ_ON_LOOP, PING_S, WATCH_AFTER_S
from louver.server.request import ANONYMOUS, Request
from louver.server.sdk import identity_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from louver.gateway.gateway import Gateway
    from louver.server.request import Identity

_METHODS: Final = ("tools/call", "tools/list")
# The headers that must be present, and the values that need no further check.
_FAST_HEADERS: Final = {
    "content-type": ("application/json",),
    "accept": ("application/json, text/event-stream", "text/event-stream, application/json"),
    MCP_PROTOCOL_VERSION_HEADER: (LATEST_MODERN_VERSION,),
    MCP_METHOD_HEADER: _METHODS,
}

# All combinations of `_USUAL`, for one lookup.
_FAST_COMBINATIONS: Final = frozenset(product(*_FAST_HEADERS.values()))

_NEWLINES_TO_SPACES: Final = bytes.maketrans(b"\r\n", b"  ")
_PARAM: Final = MCP_PARAM_HEADER_PREFIX.lower()
_JSON: Final = b"application/json"
_STREAM: Final = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"connection", b"keep-alive"),
    (b"x-accel-buffering", b"no"),
]


class FastPath:
    def __init__(self, app: ASGIApp, gateway: Gateway, path: str = "/mcp") -> None:
        self._app = app
        self._gateway = gateway
        self._path = path
        # A cache of one: a client often repeats its headers, and no credentials stay in memory for longer.
        self._usual_headers = lru_cache(maxsize=1)(_fast_headers)
        self._watch_deadlines = Deadlines(WATCH_AFTER_S, DisconnectWatch.start)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] != self._path:
            await self._app(scope, receive, send)
            return
        headers = self._usual_headers(tuple(scope["headers"]))
        if headers is None:
            await self._app(scope, receive, send)
            return
        messages: list[Message] = [await receive()]
        while messages[-1].get("more_body"):
            messages.append(await receive())
        body = b"".join(message.get("body", b"") for message in messages)
        accepted = self._accepted(body, headers)
        if accepted is None:
            if len(body) > MAX_READ_ON_LOOP:
                await _yield_to_others()
            await self._app(scope, replay(messages, receive), send)
            return
        request, route = accepted
        await self._serve(request, route, scope, receive, _ResponseWriter(request["id"], send))

    def _accepted(self, body: bytes, headers: Mapping[str, str]) -> tuple[dict[str, Any], InboundModernRoute] | None:
        request = _request(body)
        route = None if request is None else self._route(request, headers)
        return None if request is None or route is None else (request, route)

    def _route(self, request: dict[str, Any], headers: Mapping[str, str]) -> InboundModernRoute | None:
        """Return the client's route if the body and the headers agree as the SDK requires."""
        route = classify_inbound_request(request, headers=headers)
        if not isinstance(route, InboundModernRoute):
            return None
        arguments = request["params"].get("arguments")
        # One search over all header names: which of them has the prefix does not matter here.
        if not arguments and _PARAM not in "\n".join(headers):
            return route
        find, name = self._gateway.find_schema, request["params"].get("name")
        if find is None or not isinstance(name, str):
            return None
        schema = find(name)
        if schema is None or validate_mcp_param_headers(schema, members(arguments), headers) is None:
            return route
        return None

    async def _serve(
        self,
        message: dict[str, Any],
        route: InboundModernRoute,
        scope: Scope,
        receive: Receive,
        writer: _ResponseWriter,
    ) -> None:
        cancellation = Cancellation()
        watch = DisconnectWatch(receive, writer.ping, cancellation)
        self._watch_deadlines.set(watch)
        try:
            with cancellation:
                text, status = await self._text(message, route, scope, writer)
            if watch.has_disconnected:
                # A cancellation that came after the last await is raised here.
                await asyncio.sleep(0)
                return
        except asyncio.CancelledError:
            # Another may have cancelled it too.
            if not watch.has_disconnected or cancellation.task.uncancel():
                raise
            return
        finally:
            self._watch_deadlines.cancel(watch)
            watch.stop()
        await writer.end(text, status)

    async def _text(
        self, message: dict[str, Any], route: InboundModernRoute, scope: Scope, answer: _ResponseWriter
    ) -> tuple[bytes, int]:
        """The body and the status of the answer."""
        request = Request(
            message["method"],
            message["params"],
            message["id"],
            route.protocol_version,
            _Post(answer),
            _identity(scope),
            scope["client"][0] if scope.get("client") else "none",
        )
        try:
            result = await self._gateway.answer(request)
            return _response_body(answer.request_id, result, request.record.received), 200
        except Exception as error:  # noqa: BLE001 - the SDK's mapping of exceptions decides
            refused = modern_error_data(error)
            body = refused.model_dump(mode="json", by_alias=True, exclude_none=True)
            text = _bytes({"jsonrpc": "2.0", "id": answer.request_id, "error": body})
            return text, ERROR_CODE_HTTP_STATUS.get(refused.code, 200)


def _identity(scope: Scope) -> Identity:
    user = scope.get("user")
    return identity_of(user.access_token) if isinstance(user, AuthenticatedUser) else ANONYMOUS


async def _yield_to_others() -> None:
    """Yield to all other tasks before the same body is parsed a second time."""
    for _ in range(2):
        # After one yield, this task would still run before timers that have expired meanwhile.
        await asyncio.sleep(0)


class _Post:
    """The connection of one POST of 2026-07-28."""

    shared = None
    is_open = True
    opening = None

    def __init__(self, answer: _ResponseWriter) -> None:
        self.state: dict[str, Any] = {}
        self._answer = answer

    def when_closed(self, callback: Callable[[], Awaitable[None]]) -> None:
        """Nothing: only the clients of sessions leave."""

    async def notify(self, method: str, params: dict[str, Any] | None, request_id: int | str | None = None) -> None:
        await self._answer.notify({"method": method, **({} if params is None else {"params": params})})

    async def ask(
        self, method: str, params: dict[str, Any] | None, request_id: int | str | None = None
    ) -> dict[str, Any]:
        raise NoBackChannelError(method)

    def on_tools_changed(self, callback: Callable[[], None]) -> None:
        """Nothing: this revision sends changes to subscribers only."""


class _ResponseWriter:
    """The response: JSON, or an event stream once a notification or a ping precedes the result."""

    def __init__(self, request_id: int | str, send: Send) -> None:
        self.request_id = request_id
        self._send = send
        self._is_streaming = False

    async def notify(self, message: dict[str, Any]) -> None:
        await self._send_part(_event(_bytes({"jsonrpc": "2.0", **message})))

    async def ping(self) -> None:
        """Show the client that the request is still in progress."""
        await self._send_part(b": ping\r\n\r\n")

    async def end(self, body: bytes, status: int) -> None:
        if self._is_streaming:
            await self._send({"type": "http.response.body", "body": _event(body)})
            return
        headers = [(b"content-length", b"%d" % len(body)), (b"content-type", _JSON)]
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": body})

    async def _send_part(self, part: bytes) -> None:
        if not self._is_streaming:
            self._is_streaming = True
            await self._send({"type": "http.response.start", "status": 200, "headers": _STREAM})
        await self._send({"type": "http.response.body", "body": part, "more_body": True})


def _fast_headers(raw_headers: tuple[tuple[bytes, bytes], ...]) -> Mapping[str, str] | None:
    """Return the headers if all of them are usual and none is repeated."""
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in raw_headers}
    return headers if len(headers) == len(raw_headers) and _are_fast(headers) else None


def _are_fast(headers: dict[str, str]) -> bool:
    if "origin" in headers or headers.get("host", "").rpartition(":")[0] not in LOOPBACK:
        return False
    size = headers.get("content-length", "")
    if not size.isascii() or not size.isdigit() or len(size) > 9 or int(size) > MAX_CLIENT_LINE:
        return False
    return tuple(map(headers.get, _FAST_HEADERS)) in _FAST_COMBINATIONS


def _request(body: bytes) -> dict[str, Any] | None:
    """Return the request if the body is a well-formed `tools/call` or `tools/list`."""
    try:
        check(body)
        request = msgspec.json.decode(body)
    except (MCPError, ValueError, RecursionError):
        return None
    if not is_object(request) or request.get("jsonrpc") != "2.0" or type(request.get("id")) not in (int, str):
        return None
    return request if request.get("method") in _METHODS and is_object(request.get("params")) else None


def _response_body(request_id: int | str, result: dict[str, Any], upstream_result: dict[str, Any] | None) -> bytes:
    """Write the response; with the upstream's own text if the middleware left its result unchanged."""
    text = upstream_result.text() if isinstance(upstream_result, Result) and _is_same(result, upstream_result) else None
    if text is None:
        return _bytes({"jsonrpc": "2.0", "id": request_id, "result": result})
    return b"".join((b'{"jsonrpc":"2.0","id":', _bytes(request_id), b',"result":', text, b"}"))


def _is_same(result: dict[str, Any], upstream_result: Result) -> bool:
    # Identity of the members, not equality: cheap, and enough for a result that the middleware passed through.
    return list(result) == list(upstream_result) and all(map(is_, result.values(), upstream_result.values()))


def _event(message: bytes) -> bytes:
    # Event data ends at a line break. An upstream's JSON may contain line breaks, but never inside a string.
    return b"event: message\r\ndata: " + message.translate(_NEWLINES_TO_SPACES) + b"\r\n\r\n"


def _bytes(message: Json) -> bytes:
    return msgspec.json.encode(message)


class DisconnectWatch:
    """Pings the client of a slow request, and cancels the answering task when the client disconnects."""

    # Begun only after `WATCH_AFTER_S`: most requests are done before, and a task for each costs more than some of them.

    def __init__(self, receive: Receive, ping: Callable[[], Awaitable[None]], cancellation: Cancellation) -> None:
        self.has_disconnected = False  # whether the client has disconnected and the task is cancelled
        self._receive = receive
        self._ping = ping
        self._cancellation = cancellation
        self._watch_task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._watch_task = asyncio.create_task(self._watch())

    def stop(self) -> None:
        if self._watch_task is not None:
            self._watch_task.cancel()

    async def _watch(self) -> None:
        while True:
            try:
                async with asyncio.timeout(PING_S):
                    while (await self._receive())["type"] != "http.disconnect":
                        pass
            except TimeoutError:
                await self._ping()
            else:
                break
        self.has_disconnected = True
        self._cancellation.give_up()
