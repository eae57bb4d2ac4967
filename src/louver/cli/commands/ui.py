"""`louver ui`: look at the answers of servers in a browser.

    louver ui --config mcp.json
    louver ui -- npx -y @modelcontextprotocol/server-memory

It serves a gateway with its page at a free port of 127.0.0.1, and opens the page with the token of this machine.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import webbrowser
from contextlib import contextmanager
from functools import partial
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from louver.cli import logs, servers
from louver.cli.commands.serve import catalogue_folder, config_file, gateway_over_http, set_up_process
from louver.cli.listen_address import ListenAddress
from louver.cli.listener import HttpListener
from louver.gateway.gateway import Gateway

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Generator


def run(arguments: Namespace) -> int:
    """Serve until a signal ends the process."""
    logs.configure("text", logging.WARNING)
    file = None if arguments.config is None else config_file(arguments)
    config = servers.read(arguments) if file is None else file.current
    listener = HttpListener.open_local(arguments, ListenAddress.read("127.0.0.1:0"))
    set_up_process()
    make_gateway = partial(Gateway, config, exposure="full", can_reload=file is not None, catalogues=catalogue_folder())
    with _opened(listener.page_url) if arguments.open else _left_closed():
        asyncio.run(gateway_over_http(make_gateway, file, listener))
    return 0


@contextmanager
def _opened(url: str) -> Generator[None]:
    """Open the browser at a file that leads to the URL: other users see its arguments, and the URL has the token."""
    with TemporaryDirectory(prefix="louver-ui-") as folder:
        file = Path(folder) / "open.html"
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="utf-8") as written:
            written.write(f'<!doctype html><meta http-equiv="refresh" content="0; url={escape(url)}">')
        if not webbrowser.open(file.as_uri()):
            print("louver: no browser can be opened here: open that address yourself", file=sys.stderr)
        yield


@contextmanager
def _left_closed() -> Generator[None]:
    yield
