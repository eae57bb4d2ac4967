"""Detect, from outside, that a server announces changed tools by `notifications/tools/list_changed`.

    handshake revision    to each connection            intercepted at its outbound channel
    2026-07-28            on a bus that streams read    subscribed to as one more stream

A change without an announcement is noticed in the next list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp.server.subscriptions import ListenHandler, ServerEvent, ToolsListChanged

from louver.server.identity import connection

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp.server import Server
    from mcp.server.context import ServerRequestContext
    from mcp.shared.dispatcher import CallOptions, Outbound

_CHANGED: Final = "notifications/tools/list_changed"


def hear_bus(server: Server[Any], changed: Callable[[], None]) -> Callable[[], None]:
    """Call `changed` when the server publishes changed tools; return the function that unsubscribes."""
    entry = server.get_request_handler("subscriptions/listen")
    if entry is None or not isinstance(entry.handler, ListenHandler):
        return _nothing

    def hear(event: ServerEvent) -> None:
        if isinstance(event, ToolsListChanged):
            changed()

    # Private, since the bus belongs to the server's author; a test pins it.
    return entry.handler._bus.subscribe(hear)  # pyright: ignore[reportPrivateUsage]


def hear_connection(ctx: ServerRequestContext[Any, Any], changed: Callable[[], None]) -> None:
    """Call `changed`, in place of any earlier callback, when the server announces it on this connection."""
    opened = connection(ctx)
    if isinstance(opened.outbound, _Heard):
        opened.outbound.changed = changed
    elif opened.has_standalone_channel:
        opened.outbound = _Heard(opened.outbound, changed)


def _nothing() -> None:
    pass


class _Heard:
    """An outbound channel that reports changes of the tool list."""

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
