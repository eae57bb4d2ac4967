"""The HTTP endpoint `/mcp`: each request is checked, and served as its revision has it.

    MCP-Protocol-Version: 2026-07-28    POST: one request, its response as JSON, or as a stream after a notification
    any earlier one, or none            `sessions.py`

Hosts and origins are checked against DNS rebinding and cross-origin requests of browsers.
"""

from __future__ import annotations

import asyncio
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from louver.concurrency.budget import BudgetByKey
from louver.concurrency.deadlines import Deadlines
from louver.concurrency.offload import Cancellation
from louver.concurrency.places import client_connections
from louver.core.json import compact_bytes, members
from louver.gateway.clients.input_required import REQUEST_STATE
from louver.gateway.front.access_log import NOTED, note_ids, note_message
from louver.gateway.front.allowed_hosts import LOCAL_SOURCES, AllowedSources
from louver.gateway.front.connections import StatelessConnection
from louver.gateway.front.envelope import check_envelope, unsupported_version
from louver.gateway.front.exchange import PING, HttpExchange, TooManyUnfinished, event, folded
from louver.gateway.front.respond import respond
from louver.gateway.front.sessions import HttpSessions
from louver.limits import MAX_PEER_BODY_BYTES, MAX_READ_ON_LOOP, PING_S
from louver.steps.request import Request
from louver.wire.headers import param_mismatch
from louver.wire.jsonrpc import codec, inbound
from louver.wire.jsonrpc.codec import error_response
from louver.wire.jsonrpc.errors import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    PARSE_ERROR,
    UNSUPPORTED_PROTOCOL_VERSION,
    JsonRpcError,
)
from louver.wire.mcp import (
    HANDSHAKE_VERSIONS,
    LATEST_MODERN_VERSION,
    METHOD_HEADER,
    NAME_HEADER,
    PARAM_HEADER_PREFIX,
    VERSION_HEADER,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from starlette.types import ASGIApp, Receive, Scope, Send

    from louver.gateway.gateway import Gateway
    from louver.wire.jsonrpc.codec import RequestId

MAX_PEER_UNANSWERED_BYTES = 32 * 1024 * 1024
"""Bytes of unanswered requests of one such client: 8 of the largest, which take 13 times as much once they are read."""

WATCH_AFTER_S = 0.05
"""Work on a request after which the gateway watches for a disconnect of its client, in seconds."""


PATH: Final = "/mcp"
PAGE: Final = "/ui"
"""Where `louver ui` and `--ui` show the page."""
READY_PATH: Final = "/readyz"
"""With `?verbose` it reports more, to clients that are admitted."""

_ROUND: Final = REQUEST_STATE.encode()
_ROUTING_HEADERS: Final = (VERSION_HEADER, METHOD_HEADER, NAME_HEADER)
_STATUS: Final = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    MISSING_REQUIRED_CLIENT_CAPABILITY: 400,
    UNSUPPORTED_PROTOCOL_VERSION: 400,
    METHOD_NOT_FOUND: 404,
}
"""The HTTP status of an error in 2026-07-28; 200 of all others. Source: MCP, Streamable HTTP."""


def is_login_page(path: str) -> bool:
    """Whether it is one where callers log in to servers for themselves, by links (`team/login/pages.py`)."""
    return path == "/oauth/login" or path.startswith("/oauth/callback/")


class McpEndpoint:
    """The ASGI application."""

    def __init__(self, gateway: Gateway, sources: AllowedSources = LOCAL_SOURCES) -> None:
        self._gateway = gateway
        self._sources = sources
        # A cache of one: a client often repeats its headers, and no credentials stay in memory for longer.
        self._fold = lru_cache(maxsize=1)(folded)
        self._sessions = HttpSessions(gateway)
        self._requests = BudgetByKey(client_connections() // 2)
        self._bodies = BudgetByKey(MAX_PEER_BODY_BYTES)
        self._unanswered = BudgetByKey(MAX_PEER_UNANSWERED_BYTES)
        self._unwatched = Deadlines(WATCH_AFTER_S, Watch.begin)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] == "lifespan":
            return self._lifespan(receive, send)
        exchange = HttpExchange(scope, receive, send, self._fold(tuple(scope["headers"])))
        # A mounted application gets the whole path, and where it is mounted.
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        if is_login_page(path) and (pages := self._gateway.login_pages) is not None:
            return self._log_in(exchange, pages, scope, receive, send)
        if path not in (PATH, READY_PATH):
            return exchange.respond_text(404, f"Not Found: this is a Louver gateway, and MCP clients connect to {PATH}")
        if (refused := self._refused(exchange)) is not None:
            return exchange.respond_text(*refused)
        return self._report(exchange) if path == READY_PATH else self._serve(exchange)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _log_in(self, exchange: HttpExchange, pages: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        # The pages check the origin by themselves: the gateway's own is no client's.
        if (refused := self._sources.refused({**exchange.headers, "origin": ""})) is not None:
            await exchange.respond_text(*refused)
        elif not self._requests.take(exchange.peer):
            await exchange.refuse_for_now(429, "Too many open requests of one client")
        else:
            try:
                await pages(scope, receive, send)
            finally:
                self._requests.give_back(exchange.peer)

    async def _report(self, exchange: HttpExchange) -> None:
        """Answer with the state of each server behind, and the version of the configuration."""
        gateway = self._gateway
        upstreams = {name: upstream.state for name, upstream in gateway.upstreams.items()}
        status = "outdated" if gateway.is_outdated else "ok"
        report = {"status": status, "configuration": gateway.config.version, "upstreams": upstreams}
        await exchange.respond(200 if status == "ok" else 503, compact_bytes(report))

    async def close(self) -> None:
        """End all sessions."""
        await self._sessions.close()

    async def _serve(self, exchange: HttpExchange) -> None:
        if not self._requests.take(exchange.peer):
            await exchange.refuse_for_now(429, "Too many open requests of one client")
            return
        try:
            if exchange.headers.get(VERSION_HEADER) in (None, *HANDSHAKE_VERSIONS):
                await self._serve_handshake(exchange)
            else:
                await self._serve_modern(exchange)
        finally:
            self._requests.give_back(exchange.peer)
            if exchange.size:
                self._unanswered.give_back(exchange.peer, exchange.size)
            if (noted := exchange.scope.get(NOTED)) is not None:
                record, principal = exchange.record, self._gateway.name_in_audit(exchange.identity)
                note_ids(noted, principal=principal, correlation=record.correlation, trace=record.trace)

    def _refused(self, exchange: HttpExchange) -> tuple[int, str] | None:
        headers = exchange.headers
        is_json = headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"
        if exchange.method == "POST" and not is_json:
            return 400, "Invalid Content-Type header"
        if headers.get("content-encoding", "identity").strip().lower() != "identity":
            return 415, "Unsupported Content-Encoding: send the body as it is"
        return self._sources.refused(headers)

    async def _body(self, exchange: HttpExchange) -> bytes | None:
        """The body of a request; None if it was refused."""
        try:
            body = await exchange.body(self._bodies)
        except TooManyUnfinished:
            await exchange.refuse_for_now(429, "Too many bytes of unfinished requests of one client")
            return None
        if body is None:
            await exchange.respond_text(413, "Request body too large")
            return None
        if not self._unanswered.take(exchange.peer, len(body)):
            await exchange.refuse_for_now(429, "Too many bytes of unanswered requests of one client")
            return None
        exchange.size = len(body)
        return body

    async def _message(self, exchange: HttpExchange, body: bytes) -> dict[str, Any] | None:
        """The message in a body; None if it was refused."""
        try:
            message = inbound.read(body)
        except JsonRpcError as error:
            if (question := codec.peek_response_id(body)) is not None:
                self._sessions.fail_question(exchange, question, error)
            await exchange.respond(400, error_response(inbound.peek_request_id(body), error))
            return None
        finally:
            if len(body) > MAX_READ_ON_LOOP:
                # Parsing it has taken a while: all others come first.
                await asyncio.sleep(0)
        if (noted := exchange.scope.get(NOTED)) is not None:
            note_message(noted, message)
        return message

    # 2025-11-25 and earlier

    async def _serve_handshake(self, exchange: HttpExchange) -> None:
        if exchange.method == "GET":
            await self._sessions.get(exchange)
        elif exchange.method == "DELETE":
            await self._sessions.delete(exchange)
        elif exchange.method != "POST":
            await exchange.refuse(405, "Method Not Allowed", (b"allow", b"GET, POST, DELETE"))
        elif not exchange.accepts_both:
            await exchange.refuse(406, "Not Acceptable: Client must accept both application/json and text/event-stream")
        elif (body := await self._body(exchange)) is None:
            return
        elif (message := await self._message(exchange, body)) is not None:
            await self._sessions.post(exchange, message, body)

    # 2026-07-28

    async def _serve_modern(self, exchange: HttpExchange) -> None:
        if exchange.method != "POST":
            await exchange.respond_text(405, "", (b"allow", b"POST"))
        elif not exchange.accepts_both:
            await exchange.respond_text(406)
        elif (body := await self._body(exchange)) is None or (message := await self._message(exchange, body)) is None:
            return
        elif "method" not in message:
            await exchange.refuse(400, "Body must be a single JSON-RPC request or notification object")
        elif "id" not in message:
            await self._acknowledge(exchange)
        elif _ROUND not in body or not await self._sessions.forward_round(exchange, body, message):
            await self._serve_request(exchange, message)

    async def _acknowledge(self, exchange: HttpExchange) -> None:
        """Answer a notification, which is dropped: this revision has none of clients over HTTP."""
        version = exchange.headers[VERSION_HEADER]
        versions = self._gateway.versions()
        if version in versions:
            await exchange.respond_text(202)
        else:
            await exchange.respond(400, error_response(None, unsupported_version(version, versions)))

    async def _serve_request(self, exchange: HttpExchange, message: dict[str, Any]) -> None:
        response = _Response(exchange)
        try:
            self._check(exchange, message)
        except JsonRpcError as error:
            await response.end(error_response(message["id"], error), error)
            return
        params: dict[str, Any] = message["params"]
        connection = StatelessConnection(response.send)
        request = Request(
            message["method"],
            params,
            message["id"],
            LATEST_MODERN_VERSION,
            connection,
            exchange.identity,
            exchange.address,
            record=exchange.record,
        )
        cancellation = Cancellation()
        watch = Watch(exchange, response, cancellation)
        self._unwatched.set(watch)
        try:
            answered = await cancellation.run(respond(self._gateway.answer, request))
        finally:
            self._unwatched.cancel(watch)
            watch.end()
        if answered is not None:
            await response.end(*answered)

    def _check(self, exchange: HttpExchange, message: dict[str, Any]) -> None:
        """Refuse a request of no revision that is served, or whose headers and body differ."""
        headers = exchange.headers
        repeated = exchange.repeated(_ROUTING_HEADERS, PARAM_HEADER_PREFIX)
        if repeated is not None:
            raise JsonRpcError(HEADER_MISMATCH, f"{repeated} header appears more than once")
        check_envelope(message, self._gateway.versions, headers)
        if message["method"] == "tools/call":
            self._check_arguments(message["params"], exchange)

    def _check_arguments(self, params: dict[str, Any], exchange: HttpExchange) -> None:
        """Refuse a call whose headers differ from the arguments that they repeat, by what its caller was listed."""
        arguments, name = params.get("arguments"), params.get("name")
        if not arguments and not any(header.startswith(PARAM_HEADER_PREFIX) for header in exchange.headers):
            return
        schema = self._gateway.input_schema(name, exchange.identity.principal) if isinstance(name, str) else None
        if (
            schema is not None
            and (mismatch := param_mismatch(schema, members(arguments), exchange.headers)) is not None
        ):
            raise JsonRpcError(HEADER_MISMATCH, mismatch)


class _Response:
    """The response of 2026-07-28: JSON, or an event stream once a notification or a ping precedes the result."""

    def __init__(self, exchange: HttpExchange) -> None:
        self._exchange = exchange

    async def send(self, message: bytes, _request_id: RequestId | None) -> None:
        await self._write(event(message))

    async def ping(self) -> None:
        """Show the client that the request is still in progress."""
        await self._write(PING)

    async def end(self, body: bytes, error: JsonRpcError | None) -> None:
        if self._exchange.is_stream:
            await self._exchange.end(event(body))
        else:
            await self._exchange.respond(200 if error is None else _STATUS.get(error.code, 200), body)

    async def _write(self, part: bytes) -> None:
        if not self._exchange.is_stream:
            await self._exchange.start_stream()
        await self._exchange.write(part)


class Watch:
    """Pings the client of a slow request, and cancels the answering task when the client disconnects."""

    # Begun only after `WATCH_AFTER_S`: most requests are done before, and a task for each costs more than some of them.

    def __init__(self, exchange: HttpExchange, response: _Response, cancellation: Cancellation) -> None:
        self._exchange = exchange
        self._response = response
        self._cancellation = cancellation
        self._watching: asyncio.Task[None] | None = None

    def begin(self) -> None:
        self._watching = asyncio.create_task(self._watch())

    def end(self) -> None:
        if self._watching is not None:
            self._watching.cancel()

    async def _watch(self) -> None:
        while True:
            try:
                async with asyncio.timeout(PING_S):
                    await self._exchange.left()
                break
            except TimeoutError:
                await self._response.ping()
        self._cancellation.cancel()
