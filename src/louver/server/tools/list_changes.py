"""Hearing a server say that its tools have changed, from outside.

It says so to its clients, `notifications/tools/list_changed`, over two ways::

    handshake era   to each connection          heard where it leaves
    2026-07-28      on a bus that streams read  heard as one more of these

A server that says nothing is not heard; what it lists next is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp.server.subscriptions import ListenHandler, ServerEvent, ToolsListChanged

from louver.server.identity import connection
from louver.server.sdk_internals import bus_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp.server import Server
    from mcp.server.context import ServerRequestContext
    from mcp.shared.dispatcher import CallOptions, Outbound

_CHANGED: Final = "notifications/tools/list_changed"


def hear_bus(server: Server[Any], changed: Callable[[], None]) -> Callable[[], None]:
    """Call `changed` when the server publishes that its tools have changed, until what is returned is called."""
    entry = server.get_request_handler("subscriptions/listen")
    if entry is None or not isinstance(entry.handler, ListenHandler):
        return _nothing

    def hear(event: ServerEvent) -> None:
        if isinstance(event, ToolsListChanged):
            changed()

    return bus_of(entry.handler).subscribe(hear)


def hear_connection(ctx: ServerRequestContext[Any, Any], changed: Callable[[], None]) -> None:
    """Call `changed`, and nothing else, when the server tells it over the connection that a request came over."""
    opened = connection(ctx)
    if isinstance(opened.outbound, _Heard):
        opened.outbound.changed = changed
    elif opened.has_standalone_channel:
        opened.outbound = _Heard(opened.outbound, changed)


def _nothing() -> None:
    pass


class _Heard:
    """What a connection sends by, with somebody who listens."""

    def __init__(self, outbound: Outbound, changed: Callable[[], None]) -> None:
        self._outbound = outbound
        self.changed = changed

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        return await self._outbound.send_raw_request(method, params, opts)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        if method == _CHANGED:
            self.changed()
        await self._outbound.notify(method, params, opts)
