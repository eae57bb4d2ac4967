"""The innermost middleware: every request goes to an upstream, and its answer comes back unchanged.

The SDK keeps what belongs to the connection: opening it, `ping`, and the stream of `subscriptions/listen`.
"""

from __future__ import annotations

import marshal
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from mcp import MCPError
from mcp_types import INVALID_PARAMS, METHOD_NOT_FOUND
from mcp_types.methods import SPEC_CLIENT_METHODS, validate_client_request

from louver.core.json import is_object, members
from louver.errors import UnknownResult, UpstreamError
from louver.gateway.clients.client import Client, Turn, client_of, handshake_client, open_client
from louver.gateway.clients.revisions import supported_versions
from louver.gateway.routing.dispatch import upstream_problem
from louver.limits import MAX_REMEMBERED_META, MAX_REMEMBERED_METAS, MAX_WATCHED
from louver.protocol.names import HINT, PROJECTION, PROJECTION_LITERAL, RESULTS_URI
from louver.protocol.results import kept_at, kept_for
from louver.server.refusals import protocol_error

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from louver.gateway.routing.single import Routes
    from louver.server.request import Next, Request
    from louver.server.results.results import Results


_ANSWERED_HERE = (PROJECTION, PROJECTION_LITERAL, HINT)
# Methods that address a stored result.
_OF_KEPT = ("resources/read", "resources/subscribe")

_OWN_NOTIFICATIONS = ("notifications/initialized", "notifications/cancelled")


class Forward:
    def __init__(
        self,
        routes: Routes,
        opened: Callable[[], None],
        leave: Callable[[Client], Awaitable[None]],  # a handshake client has gone; a reload may have changed the routes
        *,
        results: Results | None = None,  # set if reads of kept results are answered here
    ) -> None:
        self._routes = routes
        self._opened = opened
        self._leave = leave
        self._results = results
        self._checked = Checked()

    async def __call__(self, request: Request, call_next: Next) -> dict[str, Any]:
        try:
            if request.id is None:
                return await self._notified(request, call_next)
            if request.method == "initialize":
                return await self._initialize(request, call_next)
            if request.method == "ping":
                return await call_next(request)
            self._checked.check(request.method, request.revision, request.params)
            turn = Turn(client_of(request), request)
            if request.method == "server/discover":
                return {**await self._opening(turn.client), "supportedVersions": supported_versions()}
            if request.method == "subscriptions/listen":
                return await self._listen(turn, request, call_next)
            async with turn:
                result = await self._answer(turn, request)
                request.record.received = result
                await self._note_kept(request, result)
                return result
        except UpstreamError as error:
            raise upstream_problem(error) from None
        except UnknownResult as error:
            raise protocol_error(error) from None

    async def _answer(self, turn: Turn, request: Request) -> dict[str, Any]:
        """The answer to a request; a result that an upstream keeps is read from that upstream alone."""
        params = _passed_on(request)
        uri = params["uri"] if request.method in _OF_KEPT else ""
        if self._results is None or not uri.startswith(RESULTS_URI):
            return await self._routes.answer(turn, request.method, params)
        handle = uri.removeprefix(RESULTS_URI).partition("?")[0]
        about, _ = await self._results.find(handle, request)
        if about.elsewhere is None:
            raise UnknownResult
        return await self._routes.answer_at(about.elsewhere, turn, request.method, params)

    async def _initialize(self, request: Request, call_next: Next) -> dict[str, Any]:
        said = await call_next(request)
        version: str = said["protocolVersion"]
        if handshake_client(request) is None:
            request.connection.when_closed(partial(self._gone, request))
        else:
            # A second `initialize` replaces the client.
            await self._gone(request)
        client = open_client(request, version)
        try:
            return {**await self._opening(client), "protocolVersion": version}
        except Exception:  # after any error the client is not connected
            await self._leave(client)
            raise

    async def _gone(self, request: Request) -> None:
        """The current client of a connection has gone."""
        if (client := handshake_client(request)) is not None:
            client.go()
            await self._leave(client)

    async def _opening(self, client: Client) -> dict[str, Any]:
        opening = await self._routes.opening(client)
        self._opened()
        return opening

    async def _listen(self, turn: Turn, request: Request, call_next: Next) -> dict[str, Any]:
        """Serve `subscriptions/listen`; its resources are watched at the upstreams meanwhile."""
        wanted: dict[str, Any] = request.params.get("notifications") or {}
        uris: list[str] = wanted.get("resourceSubscriptions") or []
        if len(uris) > MAX_WATCHED:
            raise MCPError(code=INVALID_PARAMS, message=f"one request watches at most {MAX_WATCHED} resources")
        async with self._routes.watching(turn, uris):
            return await call_next(request)

    async def _note_kept(self, request: Request, result: dict[str, Any]) -> None:
        """Remember for which caller an upstream keeps a result: no other caller's reads go to it."""
        if self._results is not None and request.method == "tools/call" and (uri := kept_at(result)) is not None:
            server = self._routes.place_of(request.params["name"])
            await self._results.keep_handle(uri, kept_for(result), server, request)

    async def _notified(self, request: Request, call_next: Next) -> dict[str, Any]:
        result = await call_next(request)
        client = None if request.is_modern else handshake_client(request)
        if client is not None and request.method not in _OWN_NOTIFICATIONS:
            await self._routes.notify(client, request.method, dict(request.params) if request.params else None)
        return result


def _passed_on(request: Request) -> dict[str, Any]:
    """The params without the keys that are answered here: projection needs the whole output."""
    params = dict(request.params)
    said = members(params.get("_meta"))
    if request.method == "tools/call" and not said.keys().isdisjoint(_ANSWERED_HERE):
        meta = {key: value for key, value in said.items() if key not in _ANSWERED_HERE}
        params = {key: value for key, value in params.items() if key != "_meta"} | ({"_meta": meta} if meta else {})
    return params


_PLAIN: Final = frozenset({"name", "arguments", "_meta"})
_NEW_EACH_TIME: Final = ("progressToken", "traceparent")


class Checked:
    """Remembers valid requests, so that later ones like them need no check."""

    def __init__(self) -> None:
        self._valid: dict[bytes, None] = {}

    def check(self, method: str, version: str, params: Mapping[str, Any] | None) -> None:
        """Raise if a request is not valid in its revision; methods of no specification pass."""
        if method not in SPEC_CLIENT_METHODS:
            return
        key = _key(version, params) if method == "tools/call" else None
        if key is not None and key in self._valid:
            return
        try:
            validate_client_request(method, version, params)
        except KeyError:
            raise MCPError(code=METHOD_NOT_FOUND, message="Method not found", data=method) from None
        if key is not None:
            if len(self._valid) >= MAX_REMEMBERED_METAS:
                del self._valid[next(iter(self._valid))]
            self._valid[key] = None


def _key(version: str, params: Mapping[str, Any] | None) -> bytes | None:
    """The key of a valid call; `None` if more than `_meta` can be wrong, or `_meta` is new each time."""
    if params is None or not params.keys() <= _PLAIN:
        return None
    if not isinstance(params.get("name"), str) or not is_object(params.get("arguments", {})):
        return None
    meta = params.get("_meta")
    if not members(meta).keys().isdisjoint(_NEW_EACH_TIME):
        return None
    try:
        # In marshal version 2 equal values give equal bytes, and 1, 1.0 and `True` different ones.
        key = marshal.dumps((version, meta), 2)
    except ValueError:  # nested too deeply
        return None
    return key if len(key) <= MAX_REMEMBERED_META else None
