"""`louver serve`: the example server, with projection, over stdio or Streamable HTTP."""

from __future__ import annotations

import ipaddress
import socket
import sys
from typing import TYPE_CHECKING

import anyio
import uvicorn

from louver import attach
from louver.errors import InvalidInput
from louver.example import build_server
from louver.shipped import folder

if TYPE_CHECKING:
    from argparse import Namespace

    from mcp.server import MCPServer
    from starlette.applications import Starlette


def run(arguments: Namespace) -> int:
    """Serve until the client goes, or until the process is told to end.

    Raises:
        InvalidInput: The address is not one of this machine's loopback, or is taken.
    """
    server = build_server()
    attach(server, views=folder("views"), argument=True)
    if arguments.http is None:
        anyio.run(server.run_stdio_async)
        return 0
    _serve_http(server, *_address(arguments.http))
    return 0


def _serve_http(server: MCPServer, host: str, port: int) -> None:
    with _listening(host, port) as listening:
        app: Starlette = server.streamable_http_app()
        # Told at once: the socket accepts already, whoever connects now waits until the server has started.
        shown = f"[{host}]" if ":" in host else host
        print(f"louver: serving at http://{shown}:{listening.getsockname()[1]}/mcp", file=sys.stderr, flush=True)
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=5)
        uvicorn.Server(config).run(sockets=[listening])


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio sends small parts at once only where it is.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise InvalidInput(f"cannot listen at {host}, port {port}: {error.strerror}") from None
    listening.listen()
    return listening


def _address(text: str) -> tuple[str, int]:
    host, separator, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not separator or not port.isdigit() or int(port) > 65_535:
        raise InvalidInput(f"--http takes HOST:PORT, for example 127.0.0.1:8080, not {text!r}")
    if host == "localhost":
        host = "127.0.0.1"
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        # There is no authentication here, so nobody else may reach it.
        raise InvalidInput(f"--http takes an address of the loopback, for example 127.0.0.1, not {host!r}")
    return host, int(port)
