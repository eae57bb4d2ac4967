"""The built-in server of `louver serve --example`: one of the SDK with `louver.attach`, no gateway."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse, jsonrpc_message_adapter

from louver import attach
from louver.cli.process import by_signal
from louver.example import build_server
from louver.gateway.front.allowed_hosts import LOOPBACK
from louver.gateway.front.http import serve
from louver.gateway.front.stdio_streams import claim_stdio, lines_from, lines_to
from louver.sdk.internals import lowlevel_of
from louver.shipped import folder
from louver.wire.jsonrpc import inbound
from louver.wire.jsonrpc.errors import JsonRpcError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp.server import MCPServer, Server
    from mcp_types import RequestId

    from louver.cli.listener import HttpListener

logger = logging.getLogger(__name__)


def example_server(*, minimal: bool) -> MCPServer:
    """The server; `minimal` lists tools by their summaries."""
    server = build_server()
    disclosure = "enforce" if minimal else "off"
    attach(server, views=folder("views"), argument=True, disclosure=disclosure, search=minimal)
    return server


def serve_over_stdio(server: MCPServer) -> None:
    """Serve until the end of input, when all requests are answered, or until a signal."""
    asyncio.run(_serve_stdio(lowlevel_of(server)))


def serve_over_http(server: MCPServer, listener: HttpListener) -> None:
    security = TransportSecuritySettings(
        # Clients omit port 80 from the Host header.
        allowed_hosts=[*LOOPBACK, *(f"{host}:*" for host in LOOPBACK), *listener.hosts],
        allowed_origins=[f"http://{host}:*" for host in LOOPBACK],
    )
    app = listener.guard(server.streamable_http_app(transport_security=security))
    with listener.socket as socket:
        asyncio.run(serve(app, socket, ready=listener.report, end_streams=_no_streams, close_upstreams=_no_upstreams))


async def _serve_stdio(server: Server[Any]) -> None:
    source, sink = claim_stdio()
    with anyio.CancelScope() as scope:
        by_signal(scope.cancel)
        async with lines_from(source) as read_line, lines_to(sink, scope.cancel) as write_line:
            await _Bridge(read_line, write_line).run(server)


class _Bridge:
    """Lines of a client as the SDK's messages; the end of input reaches the SDK once all calls are answered."""

    def __init__(
        self, read_line: Callable[[], Awaitable[bytes]], write_line: Callable[[bytes], Awaitable[None]]
    ) -> None:
        self._read_line = read_line
        self._write_line = write_line
        self._open: set[RequestId] = set()  # not the streams, which end with the SDK
        self._answered = asyncio.Event()

    async def run(self, server: Server[Any]) -> None:
        to_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception]()
        outgoing, from_server = anyio.create_memory_object_stream[SessionMessage]()
        async with anyio.create_task_group() as tasks, from_server:
            tasks.start_soon(self._read, to_server)
            tasks.start_soon(self._write, from_server)
            await server.run(incoming, outgoing, server.create_initialization_options())

    async def _read(self, to_server: Any) -> None:
        async with to_server:
            while line := await self._read_line():
                try:
                    message = inbound.read(line)
                except JsonRpcError as error:
                    logger.warning("a message of the client is not read: %s", error.message)
                    continue
                sdk_message = jsonrpc_message_adapter.validate_python(message, by_name=False)
                if isinstance(sdk_message, JSONRPCRequest) and sdk_message.method != "subscriptions/listen":
                    self._open.add(sdk_message.id)
                await to_server.send(SessionMessage(sdk_message))
            while self._open:
                self._answered.clear()
                await self._answered.wait()

    async def _write(self, from_server: Any) -> None:
        async for each in from_server:
            message = each.message
            await self._write_line(message.model_dump_json(by_alias=True, exclude_unset=True).encode())
            if isinstance(message, JSONRPCResponse | JSONRPCError):
                self._open.discard(message.id)
                self._answered.set()


def _no_streams() -> None:
    pass


async def _no_upstreams() -> None:
    pass
