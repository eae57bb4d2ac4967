"""`louver logout`: revoke the login at a server, of the gateway or of one caller, and forget it."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from louver.cli import logs, process, servers, terminal
from louver.errors import InvalidInput
from louver.policy.principal import read_caller
from louver.team.commands.login import login_server, opened_logins

if TYPE_CHECKING:
    from argparse import Namespace

    from louver.gateway.config.model import Config, UpstreamConfig


def run(arguments: Namespace) -> int:
    logs.configure("plain", logging.WARNING)
    config = servers.read(arguments)
    server = login_server(config)
    if arguments.principal is None:
        return process.run(_log_out(config, [server], f"{server.name!r}"))
    if not server.logs_in_callers:
        raise InvalidInput(f"no caller has a login of their own at {server.name!r}: leave out --principal")
    logins = _logins_of(arguments.principal, config, server)
    return process.run(_log_out(config, logins, f"{server.name!r} as {arguments.principal}"))


def _logins_of(text: str, config: Config, server: UpstreamConfig) -> list[UpstreamConfig]:
    """The logins that a caller can have: tokens name their issuer, or do not."""
    caller = read_caller("--principal", text)
    issuer, has_issuer, subject = (caller.subject or "").partition("#")
    names: list[tuple[str | None, str | None]] = [(None, caller.subject)]
    if has_issuer:
        names.append((issuer, subject))
    elif config.auth is not None and config.auth.issuer is not None:
        names.append((config.auth.issuer, caller.subject))
    return [replace(server, principal=(caller.client or "", *name)) for name in names]


async def _log_out(config: Config, logins: list[UpstreamConfig], shown: str) -> int:
    # Imported only now: it needs the SDK.
    from louver.team.login.interactive import log_out

    async with opened_logins(config) as store:
        kept = [each for each in logins if await store.stamp(each.login_id) is not None]
        problems = [await log_out(each, store) for each in kept]
    if not kept:
        hint = " (the client counts too: subject:ann,client:desk)" if logins[0].principal is not None else ""
        print(f"nobody is logged in to {shown}{hint}")
        return 0
    print(f"logged out of {shown}")
    found = [problem for problem in problems if problem is not None]
    for problem in found:
        terminal.print_stderr(problem)
    return 1 if found else 0
