"""`louver logout`: revoke the login at a server, and forget it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from louver.cli import logs, servers, signals, terminal
from louver.cli.commands.login import login_server
from louver.cli.state import opened_logins

if TYPE_CHECKING:
    from argparse import Namespace

    from louver.gateway.config.model import Config, UpstreamConfig


def run(arguments: Namespace) -> int:
    logs.configure("text", logging.WARNING)
    config = servers.read(arguments)
    return signals.run(_log_out(config, login_server(config)))


async def _log_out(config: Config, server: UpstreamConfig) -> int:
    # Imported only now: it needs the SDK.
    from louver.gateway.login.interactive import log_out

    async with opened_logins(config) as store:
        if await store.stamp(server.login_id) is None:
            print(f"nobody is logged in to {server.name!r}")
            return 0
        problem = await log_out(server, store)
    print(f"logged out of {server.name!r}")
    if problem is not None:
        terminal.print_stderr(problem)
    return 0 if problem is None else 1
