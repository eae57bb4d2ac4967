"""`louver logout`: revoke the login at a server, and forget it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from louver.cli import logs, signals, terminal
from louver.cli.commands.login import login_server
from louver.cli.state import login_store

if TYPE_CHECKING:
    from argparse import Namespace

    from louver.gateway.config.model import UpstreamConfig


def run(arguments: Namespace) -> int:
    logs.configure("text", logging.WARNING)
    return signals.run(_log_out(login_server(arguments)))


async def _log_out(server: UpstreamConfig) -> int:
    # Imported only now: it needs the SDK.
    from louver.gateway.login.interactive import log_out

    store = login_store()
    if store.stamp(server.login_id) is None:
        print(f"nobody is logged in to {server.name!r}")
        return 0
    problem = await log_out(server, store)
    print(f"logged out of {server.name!r}")
    if problem is not None:
        terminal.print_stderr(problem)
    return 0 if problem is None else 1
