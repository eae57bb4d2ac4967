"""A faster way into the same server, for what is called most: `tools/call` and `tools/list` of 2026-07-28 over HTTP.

    POST {"id": 3, "method": "tools/call", ...}      usual in all respects
    -> 200 application/json {"id": 3, "result": ...}
    -> 200 text/event-stream                         if it is told something meanwhile, or has to wait for long

The SDK takes a result through a model and Python's `json`, which costs more than all else that the gateway does with
it. Here it is written by msgspec as it is. What answers is the same: the server's middleware. The SDK's runner, which
looks for a handler behind it, is left out: a gateway has none for these methods. What is unusual in any respect, or
would be refused, is left to the SDK, body and all; so the words of a refusal are its own.
"""

from __future__ import annotations

import asyncio
from functools import lru_cache, reduce
from itertools import product
from operator import is_
from typing import TYPE_CHECKING, Any, Final, Self, cast

import msgspec
from mcp import MCPError
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.runner import modern_error_data
from mcp.server.session import ServerSession
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
from mcp_types import METHOD_NOT_FOUND, RequestParams
from mcp_types.version import LATEST_MODERN_VERSION
from pydantic import ValidationError
from starlette.requests import HTTPConnection, Request

from louver.concurrency.deadlines import Deadlines
from louver.concurrency.offload import Cancellation
from louver.core.json import Json, is_object, members
from louver.gateway.serve.request_body import again
from louver.gateway.serve.sessions import LOOPBACK
from louver.jsonrpc.codec import Result
from louver.jsonrpc.inbound_limits import check
from louver.limits import MAX_CLIENT_LINE, MAX_READ_ON_LOOP, PING_S, WATCH_AFTER_S
from louver.protocol.names import PREFIX
from louver.server.wire import result_dict

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from mcp.server import Server
    from mcp.server.context import CallNext, HandlerResult, ServerMiddleware
    from mcp.shared.dispatcher import CallOptions, DispatchContext
    from mcp_types import RequestParamsMeta
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_METHODS: Final = ("tools/call", "tools/list")
_USUAL: Final = {
    "content-type": ("application/json",),
    "accept": ("application/json, text/event-stream", "text/event-stream, application/json"),
    MCP_PROTOCOL_VERSION_HEADER: (LATEST_MODERN_VERSION,),
    MCP_METHOD_HEADER: _METHODS,
}
"""Headers that must be there, with the values that are not looked into any further."""

_USUAL_TOGETHER: Final = frozenset(product(*_USUAL.values()))
"""The same, to be asked at once."""

_CAME: Final = f"{PREFIX}came"
"""Where a request that is answered here knows what an upstream answered to it."""

_ON_ONE_LINE: Final = bytes.maketrans(b"\r\n", b"  ")
_PARAM: Final = MCP_PARAM_HEADER_PREFIX.lower()
_JSON: Final = b"application/json"
_STREAM: Final = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"connection", b"keep-alive"),
    (b"x-accel-buffering", b"no"),
]


def note_what_came(ctx: ServerRequestContext[Any, Any], result: dict[str, Any]) -> None:
    """Remember what an upstream answered to a request: if that becomes the answer, its text does too."""
    request: object = ctx.request
    if isinstance(request, HTTPConnection) and _CAME in request.scope and isinstance(result, Result):
        request.scope[_CAME] = result


class Fast:
    """The faster way.

    Args:
        app: The SDK's app of the server.
        server: The server, whose lifespan has no state, and whose middleware answers all by itself, with results alone.
        path: Of the endpoint.
    """

    def __init__(self, app: ASGIApp, server: Server[Any], path: str = "/mcp") -> None:
        self._app = app
        self._server = server
        self._path = path
        # Of the last request alone: one client often says the same again, and nobody's credentials stay for longer.
        self._usual_headers = lru_cache(maxsize=1)(_usual)
        self._unwatched = Deadlines(WATCH_AFTER_S, Watch.begin)
        self._middleware: list[ServerMiddleware[Any]] = []
        self._call: CallNext = _unanswered

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] != self._path:
            await self._app(scope, receive, send)
            return
        headers = self._usual_headers(tuple(scope["headers"]))
        if headers is None:
            await self._app(scope, receive, send)
            return
        read: list[Message] = [await receive()]
        while read[-1].get("more_body"):
            read.append(await receive())
        body = b"".join(message.get("body", b"") for message in read)
        usual = self._usual(body, headers)
        if usual is None:
            if len(body) > MAX_READ_ON_LOOP:
                await _others_turn()
            await self._app(scope, again(read, receive), send)
            return
        request, route = usual
        await self._serve(request, route, Request(scope, receive), _Answer(request["id"], send))

    def _usual(self, body: bytes, headers: Mapping[str, str]) -> tuple[dict[str, Any], InboundModernRoute] | None:
        """A request and who asks, if it is usual."""
        request = _request(body)
        route = None if request is None else self._route(request, headers)
        return None if request is None or route is None else (request, route)

    def _route(self, request: dict[str, Any], headers: Mapping[str, str]) -> InboundModernRoute | None:
        """Who asks, if the request and its headers fit as the SDK wants them to."""
        route = classify_inbound_request(request, headers=headers)
        if not isinstance(route, InboundModernRoute):
            return None
        arguments = request["params"].get("arguments")
        # All names at once: which of them it is does not matter here.
        if not arguments and _PARAM not in "\n".join(headers):
            return route
        find, name = self._server.get_tool_input_schema, request["params"].get("name")
        if find is None or not isinstance(name, str):
            return None
        schema = find(name)
        if schema is None or validate_mcp_param_headers(schema, members(arguments), headers) is None:
            return route
        return None

    async def _serve(self, request: dict[str, Any], route: InboundModernRoute, http: Request, answer: _Answer) -> None:
        http.scope[_CAME] = None
        cancellation = Cancellation()
        watch = Watch(http.receive, answer.ping, cancellation)
        self._unwatched.set(watch)
        try:
            with cancellation:
                text, status = await self._said(request, route, http, answer)
            if watch.has_given_up:
                # If it was cancelled after its last wait, that is raised here.
                await asyncio.sleep(0)
                return
        except asyncio.CancelledError:
            # Another may have cancelled it too.
            if not watch.has_given_up or cancellation.task.uncancel():
                raise
            return
        finally:
            self._unwatched.lift(watch)
            watch.end()
            # Requests live as long as their connections, and answers are large.
            del http.scope[_CAME]
        await answer.end(text, status)

    async def _said(
        self, request: dict[str, Any], route: InboundModernRoute, http: Request, answer: _Answer
    ) -> tuple[bytes, int]:
        """The text and the status of the answer."""
        connection = _Connection(route)
        ctx = _context(request, connection, _Channel(answer), http)
        try:
            async with connection:
                said = result_dict(await self._answering()(ctx))
            return _result(answer.number, said, http.scope[_CAME]), 200
        except Exception as error:  # noqa: BLE001 - the SDK says what becomes of it
            refused = modern_error_data(error)
            error_said = refused.model_dump(mode="json", by_alias=True, exclude_none=True)
            text = _bytes({"jsonrpc": "2.0", "id": answer.number, "error": error_said})
            return text, ERROR_CODE_HTTP_STATUS.get(refused.code, 200)

    def _answering(self) -> CallNext:
        """The server's middleware, one before the other; it is other middleware once the configuration has changed."""
        if self._middleware != self._server.middleware:
            self._middleware = [*self._server.middleware]
            self._call = reduce(_before, reversed(self._middleware), _unanswered)
        return self._call


async def _others_turn() -> None:
    """Have all others go on before the same body is read once more."""
    for _ in range(2):
        # In the first turn this goes on before those do whose time has come meanwhile.
        await asyncio.sleep(0)


def _before(call_next: CallNext, middleware: ServerMiddleware[Any]) -> CallNext:
    return lambda ctx: middleware(ctx, call_next)


async def _unanswered(ctx: ServerRequestContext[Any, Any]) -> HandlerResult:
    raise MCPError(METHOD_NOT_FOUND, "Method not found", ctx.method)


def _context(
    request: dict[str, Any], connection: _Connection, channel: _Channel, http: Request
) -> ServerRequestContext[Any, Any]:
    """A request as middleware gets it, made as the SDK's runner makes it."""
    meta = _meta(request["params"])
    return ServerRequestContext(
        session=ServerSession(cast("DispatchContext[Any]", channel), connection, request_meta=meta),
        lifespan_context={},
        protocol_version=connection.protocol_version,
        method=request["method"],
        params=request["params"],
        request_id=request["id"],
        meta=meta,
        request=http,
    )


def _meta(params: dict[str, Any]) -> RequestParamsMeta | None:
    """`_meta` as a model of the SDK gives it, which looks at the token alone: `None` if that is none."""
    said = params["_meta"]
    if "progressToken" not in said:
        return said
    try:
        return RequestParams.model_validate(params, by_name=False).meta
    except ValidationError:
        return None


class _Connection(Connection):
    """Who asks. Few ask for more of it than its revision: the models of what a client says of itself take long.

    Args:
        route: What the request says of who asks.
    """

    def __init__(self, route: InboundModernRoute) -> None:
        self.protocol_version = route.protocol_version
        self._route = route

    def __getattr__(self, name: str) -> Any:
        """What has not been asked for before."""
        route: InboundModernRoute | None = vars(self).pop("_route", None)
        if route is None:
            raise AttributeError(name)
        whole = Connection.from_envelope(route.protocol_version, route.client_info, route.client_capabilities)
        vars(self).update({**vars(whole), **vars(self)})
        return getattr(self, name)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: Any) -> None:
        """Do what is to be done when it ends, if anybody has asked for that."""
        if "exit_stack" in vars(self):
            await self.exit_stack.__aexit__(*raised)


class _Channel:
    """How a session of the SDK reaches the client of one request: of a `DispatchContext` what a session uses."""

    can_send_request = False

    def __init__(self, answer: _Answer) -> None:
        self._answer = answer

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        """Nothing: this era's clients are asked by an answer."""
        raise NoBackChannelError(method)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        """Tell the client something because of its request."""
        await self._answer.tell({"method": method, **({} if params is None else {"params": params})})

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Nothing: progress comes from upstreams, and is told as it came."""


class _Answer:
    """The response: JSON, or once something had to be said before the answer, a stream of events.

    Args:
        number: The id of the request.
        send: Sends the response.
    """

    def __init__(self, number: int | str, send: Send) -> None:
        self.number = number
        self._send = send
        self._streams = False

    async def tell(self, message: dict[str, Any]) -> None:
        """Send a notification."""
        await self._part(_event(_bytes({"jsonrpc": "2.0", **message})))

    async def ping(self) -> None:
        """Show that the request is still worked on."""
        await self._part(b": ping\r\n\r\n")

    async def end(self, body: bytes, status: int) -> None:
        """Send the answer."""
        if self._streams:
            await self._send({"type": "http.response.body", "body": _event(body)})
            return
        headers = [(b"content-length", b"%d" % len(body)), (b"content-type", _JSON)]
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": body})

    async def _part(self, part: bytes) -> None:
        if not self._streams:
            self._streams = True
            await self._send({"type": "http.response.start", "status": 200, "headers": _STREAM})
        await self._send({"type": "http.response.body", "body": part, "more_body": True})


def _usual(said: tuple[tuple[bytes, bytes], ...]) -> Mapping[str, str] | None:
    """The headers of a request, if they are as usual."""
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in said}
    return headers if len(headers) == len(said) and _are_usual(headers) else None


def _are_usual(headers: dict[str, str]) -> bool:
    if "origin" in headers or headers.get("host", "").rpartition(":")[0] not in LOOPBACK:
        return False
    size = headers.get("content-length", "")
    if not size.isascii() or not size.isdigit() or len(size) > 9 or int(size) > MAX_CLIENT_LINE:
        return False
    return tuple(map(headers.get, _USUAL)) in _USUAL_TOGETHER


def _request(body: bytes) -> dict[str, Any] | None:
    """The request that a body is, if it is one without anything strange."""
    try:
        check(body)
        request = msgspec.json.decode(body)
    except (MCPError, ValueError, RecursionError):
        return None
    if not is_object(request) or request.get("jsonrpc") != "2.0" or type(request.get("id")) not in (int, str):
        return None
    return request if request.get("method") in _METHODS and is_object(request.get("params")) else None


def _result(number: int | str, said: dict[str, Any], came: Result | None) -> bytes:
    """The answer that a result is; in the text that came, if that is what it still says."""
    text = came.text() if came is not None and _is_same(said, came) else None
    if text is None:
        return _bytes({"jsonrpc": "2.0", "id": number, "result": said})
    return b"".join((b'{"jsonrpc":"2.0","id":', _bytes(number), b',"result":', text, b"}"))


def _is_same(said: dict[str, Any], came: Result) -> bool:
    """Whether a result has what came, and nothing else."""
    return list(said) == list(came) and all(map(is_, said.values(), came.values()))


def _event(message: bytes) -> bytes:
    # An event's data end with their line. What an upstream has written may have several: none is within a text.
    return b"event: message\r\ndata: " + message.translate(_ON_ONE_LINE) + b"\r\n\r\n"


def _bytes(message: Json) -> bytes:
    return msgspec.json.encode(message)


class Watch:
    """Gives a request up when its client goes, and shows the client meanwhile that it is not forgotten.

    It is begun after a while, since most are answered before: a task for each would take longer than some answers.

    Args:
        receive: Of the request.
        ping: Shows the client that its request is still worked on.
        cancellation: Gives up what answers, when the client has gone.
    """

    def __init__(self, receive: Receive, ping: Callable[[], Awaitable[None]], cancellation: Cancellation) -> None:
        self.has_given_up = False
        """Whether the client has gone, and the task has been given up."""
        self._receive = receive
        self._ping = ping
        self._cancellation = cancellation
        self._watching: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """The answer takes long."""
        self._watching = asyncio.create_task(self._watch())

    def end(self) -> None:
        """The answer is known, or will never be."""
        if self._watching is not None:
            self._watching.cancel()

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
        self.has_given_up = True
        self._cancellation.give_up()
