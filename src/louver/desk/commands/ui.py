"""`louver ui`: look at the answers of servers in a browser.

    louver ui --config mcp.json
    louver ui -- npx -y @modelcontextprotocol/server-memory

It serves a gateway with its page at a free port of 127.0.0.1, and opens the page with the token of this machine.
"""

from __future__ import annotations

import logging
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING

from louver.cli import logs
from louver.cli.browser import opened
from louver.cli.commands.serve import configuration, gateway_over_http, set_up_process
from louver.cli.listen_address import ListenAddress
from louver.cli.listener import HttpListener
from louver.cli.process import CATALOGUES, LOGINS, state
from louver.concurrency import stalls
from louver.gateway.gateway import Gateway

if TYPE_CHECKING:
    from argparse import Namespace


def run(arguments: Namespace) -> int:
    """Serve until a signal ends the process."""
    logs.configure("plain", logging.WARNING)
    file, config = configuration(arguments)
    listener = HttpListener.open_local(arguments, ListenAddress.read("127.0.0.1:0"))
    set_up_process()
    make_gateway = partial(
        Gateway,
        config,
        exposure="full",
        can_reload=file is not None,
        catalogues=state(CATALOGUES),
        logins=state(LOGINS),
    )
    with opened(listener.opened_url) if arguments.open else nullcontext():
        stalls.run(gateway_over_http(make_gateway, file, listener))
    return 0
