"""What a server of the SDK sends to its client besides answers: through these channels, and as a policy allows it.

about a request      its own channel, by the session of its context
about nothing else   the channel of the connection; it also reports changed tools
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp import MCPError
from mcp.server.session import ServerSession

from louver.core.json import members
from louver.sdk.internals import connection_of, request_outbound_of
from louver.wire.jsonrpc.errors import INVALID_REQUEST
from louver.wire.mcp import SUBSCRIPTION_ACKNOWLEDGED, SUBSCRIPTION_ID_META_KEY, TOOLS_CHANGED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import anyio
    from mcp.server.connection import Connection
    from mcp.server.context import ServerRequestContext
    from mcp.shared.dispatcher import CallOptions, DispatchContext, Outbound
    from mcp.shared.message import MessageMetadata
    from mcp_types import RequestId

    from louver.steps.policy.message_filter import MessageFilter


class ConnectionOutbound:
    """The channel of a connection."""

    def __init__(self, wrapped: Outbound) -> None:
        self.wrapped = wrapped
        self.on_tools_changed: Callable[[], None] | None = None
        self.message_filter: MessageFilter | None = None

    @classmethod
    def of(cls, connection: Connection) -> ConnectionOutbound | None:
        """The channel, put in place of the connection's own at the first time; None if it has none."""
        if not isinstance(connection.outbound, cls):
            if not connection.has_standalone_channel:
                return None
            connection.outbound = cls(connection.outbound)
        return connection.outbound

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        if self.message_filter is not None:
            params = _request_params(self.message_filter, method, params)
        return await self.wrapped.send_raw_request(method, params, opts)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        if method == TOOLS_CHANGED and self.on_tools_changed is not None:
            self.on_tools_changed()
        if self.message_filter is not None:
            if not _is_allowed(self.message_filter, method, params):
                return
            params = _visible_params(self.message_filter, method, params)
        await self.wrapped.notify(method, params, opts)


class FilteredRequestOutbound:
    """The channel of a request, with what a policy allows."""

    def __init__(self, wrapped: DispatchContext[Any], message_filter: MessageFilter) -> None:
        self.wrapped = wrapped
        self._filter = message_filter

    @property
    def transport(self) -> Any:
        return self.wrapped.transport

    @property
    def can_send_request(self) -> bool:
        return self.wrapped.can_send_request

    @property
    def request_id(self) -> RequestId | None:
        return self.wrapped.request_id

    @property
    def message_metadata(self) -> MessageMetadata:
        return self.wrapped.message_metadata

    @property
    def cancel_requested(self) -> anyio.Event:
        return self.wrapped.cancel_requested

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        return await self.wrapped.send_raw_request(method, _request_params(self._filter, method, params), opts)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        if _is_allowed(self._filter, method, params):
            await self.wrapped.notify(method, _visible_params(self._filter, method, params), opts)

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        if self._filter.reaches_clients("notifications/progress"):
            await self.wrapped.progress(progress, total, message)


def filtered_session(ctx: ServerRequestContext[Any, Any], message_filter: MessageFilter) -> ServerSession:
    """The session of a request for its handler: what it sends, about the request or not, passes the filter."""
    connection = connection_of(ctx.session)
    if (outbound := ConnectionOutbound.of(connection)) is not None:
        outbound.message_filter = message_filter
    request_outbound = FilteredRequestOutbound(request_outbound_of(ctx.session), message_filter)
    return ServerSession(request_outbound, connection, request_meta=ctx.meta)


def _is_allowed(message_filter: MessageFilter, method: str, params: Mapping[str, Any] | None) -> bool:
    # The acknowledgement repeats what the client has asked for, of what it may.
    return method == SUBSCRIPTION_ACKNOWLEDGED or message_filter.reaches_clients(method, (params or {}).get("uri"))


def _visible_params(
    message_filter: MessageFilter, method: str, params: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    sent = None if params is None else dict(params)
    visible = message_filter.visible_params(method, sent)
    meta = members((sent or {}).get("_meta"))
    if SUBSCRIPTION_ID_META_KEY not in meta:
        return visible
    # Without it a client of `subscriptions/listen` cannot tell which stream it is.
    stream_id = {SUBSCRIPTION_ID_META_KEY: meta[SUBSCRIPTION_ID_META_KEY]}
    return {**(visible or {}), "_meta": {**members((visible or {}).get("_meta")), **stream_id}}


def _request_params(
    message_filter: MessageFilter, method: str, params: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """The params of a request to the client; MCPError if the policy does not allow it."""
    if method == "ping":
        return None
    if not message_filter.reaches_clients(method):
        raise MCPError(INVALID_REQUEST, "the policy for this server lets no such question through")
    return _visible_params(message_filter, method, params)
