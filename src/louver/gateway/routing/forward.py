"""The end of all steps: a request goes to an upstream, and its answer comes back unchanged.

Opening a connection, `ping`, and the stream of `subscriptions/listen` are the gateway's own.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from louver.errors import StateUnavailable, UnknownResult, UpstreamError
from louver.gateway.back.fan_out.subscriptions import check_watchable
from louver.gateway.clients.client import ClientRequest, GatewayClient, client_of, handshake_client, open_client
from louver.gateway.clients.revisions import negotiated_version, supported_versions
from louver.gateway.routing.dispatch import upstream_problem
from louver.limits import MAX_WATCHED
from louver.steps.pages import envelope
from louver.steps.refusals import protocol_error
from louver.wire.jsonrpc.errors import INVALID_PARAMS, JsonRpcError
from louver.wire.mcp import CONNECTION_NOTIFICATIONS
from louver.wire.names import HINT, PROJECTION, PROJECTION_LITERAL, RESULTS_URI
from louver.wire.requests import check_request
from louver.wire.results import kept_at, kept_for

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from louver.gateway.clients.listen import ListenStreams
    from louver.gateway.routing.single import Routes
    from louver.steps.request import Request
    from louver.steps.results.results import Results


_LOCAL_META_KEYS = (PROJECTION, PROJECTION_LITERAL, HINT)
# Methods that address a stored result.
_RESULT_METHODS = ("resources/read", "resources/subscribe")


class Forward:
    def __init__(
        self,
        routes: Routes,
        listen_streams: ListenStreams,
        server_info: dict[str, Any],
        on_opened: Callable[[], None],
        # A handshake client has gone. Not of the routes: a reload may have changed them.
        remove_client: Callable[[GatewayClient], Awaitable[None]],
        *,
        results: Results | None = None,  # set if reads of kept results are answered here
    ) -> None:
        self._routes = routes
        self._listen_streams = listen_streams
        self._server_info = server_info
        self._on_opened = on_opened
        self._remove_client = remove_client
        self._results = results

    async def __call__(self, request: Request) -> dict[str, Any]:
        try:
            if request.id is None:
                return await self._forward_notification(request)
            check_request(request.method, request.revision, request.params)
            if request.method == "initialize":
                return await self._initialize(request)
            if request.method == "ping":
                return {}
            caller = ClientRequest(client_of(request), request)
            if request.method == "server/discover":
                return {**await self._opening(caller.client), "supportedVersions": supported_versions()}
            if request.method == "subscriptions/listen":
                return await self._listen(caller, request)
            async with caller:
                result = await self._answer(caller, request)
                record = request.record
                record.received = result
                if record.answers is not None and request.method == "tools/call":
                    counted = None if request.is_extra else result
                    record.answers.add(request.params["name"], counted, is_inner=request.is_for_program)
                if (
                    self._results is not None
                    and request.method == "tools/call"
                    and (uri := kept_at(result)) is not None
                ):
                    # No other caller's reads go to the upstream that keeps it.
                    server_id = self._routes.server_id_of(request.params["name"])
                    await self._results.keep_handle(uri, kept_for(result), server_id, request)
                return result
        except UpstreamError as error:
            raise upstream_problem(error) from None
        except (StateUnavailable, UnknownResult) as error:
            raise protocol_error(error) from None

    def _answer(self, caller: ClientRequest, request: Request) -> Awaitable[dict[str, Any]]:
        params, results = _forwarded_params(request), self._results
        if results is not None and request.method in _RESULT_METHODS and params["uri"].startswith(RESULTS_URI):
            return self._answer_about_result(results, caller, request, params)
        return self._routes.answer(caller, request.method, params)

    async def _answer_about_result(
        self, results: Results, caller: ClientRequest, request: Request, params: dict[str, Any]
    ) -> dict[str, Any]:
        """The answer about a result that an upstream keeps: from that upstream alone."""
        handle = params["uri"].removeprefix(RESULTS_URI).partition("?")[0]
        about, _ = await results.find(handle, request)
        if about.upstream is None:
            raise UnknownResult
        return await self._routes.answer_from(about.upstream, caller, request.method, params)

    async def _initialize(self, request: Request) -> dict[str, Any]:
        version = negotiated_version(request.params["protocolVersion"])
        if handshake_client(request) is None:
            request.connection.when_closed(partial(self._on_connection_closed, request))
        else:
            # A second `initialize` replaces the client.
            await self._on_connection_closed(request)
        client = open_client(request, version, self._listen_streams.list_pace)
        try:
            return {**await self._opening(client), "protocolVersion": version}
        except Exception:  # after any error the client is not connected
            await self._remove_client(client)
            raise

    async def _on_connection_closed(self, request: Request) -> None:
        """The current client of a connection has gone."""
        if (client := handshake_client(request)) is not None:
            client.close()
            await self._remove_client(client)

    async def _opening(self, client: GatewayClient) -> dict[str, Any]:
        opening = await self._routes.opening(client)
        self._on_opened()
        return opening

    async def _listen(self, caller: ClientRequest, request: Request) -> dict[str, Any]:
        """Serve `subscriptions/listen`; its resources are watched at the upstreams meanwhile."""
        wanted: dict[str, Any] = request.params.get("notifications") or {}
        uris: list[str] = wanted.get("resourceSubscriptions") or []
        if len(uris) > MAX_WATCHED:
            raise JsonRpcError(code=INVALID_PARAMS, message=f"one request watches at most {MAX_WATCHED} resources")
        for uri in uris:
            check_watchable(uri)
        async with self._routes.watching(caller, uris):
            meta = await self._listen_streams.serve(request)
        result = envelope(self._server_info, request)
        return {**result, "_meta": {**result["_meta"], **meta}}

    async def _forward_notification(self, request: Request) -> dict[str, Any]:
        client = None if request.is_modern else handshake_client(request)
        if client is not None and request.method not in CONNECTION_NOTIFICATIONS:
            await self._routes.notify(client, request.method, dict(request.params) if request.params else None)
        return {}


def _forwarded_params(request: Request) -> dict[str, Any]:
    """The params, which are checked, without the keys that are answered here: projection needs the whole output."""
    params = dict(request.params)
    request_meta: dict[str, Any] = params.get("_meta") or {}
    if request.method == "tools/call" and not request_meta.keys().isdisjoint(_LOCAL_META_KEYS):
        meta = {key: value for key, value in request_meta.items() if key not in _LOCAL_META_KEYS}
        params = {key: value for key, value in params.items() if key != "_meta"} | ({"_meta": meta} if meta else {})
    return params
