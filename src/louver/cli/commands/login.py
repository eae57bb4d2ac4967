"""`louver login`: log in to a server by OAuth, in the browser.

$ louver login --config mcp.json --server tracker
open this page to log in: https://auth.example/authorize?...
logged in to 'tracker' at https://auth.example until 2026-01-01 12:00 UTC, renewed by the gateway
"""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from louver.cli import logs, servers, signals, terminal
from louver.cli.browser import opened
from louver.cli.state import opened_logins
from louver.errors import InvalidInput

if TYPE_CHECKING:
    from argparse import Namespace

    from louver.gateway.config.model import Config, UpstreamConfig
    from louver.gateway.login.login import Login


def run(arguments: Namespace) -> int:
    logs.configure("text", logging.WARNING)
    config = servers.read(arguments)
    server = login_server(config)
    if server.exchanges_tokens:
        raise InvalidInput(f"nobody logs in to {server.name!r}: the gateway exchanges each caller's token")
    if server.oauth.grant == "client_credentials":
        raise InvalidInput(f"nobody logs in to {server.name!r}: the gateway does by itself, by 'client_credentials'")
    print(f"logged in to {server.name!r} {described(signals.run(_log_in(config, server, browser=arguments.browser)))}")
    return 0


def login_server(config: Config) -> UpstreamConfig:
    """The one server that a login can be at."""
    found = [each for each in config.upstreams if each.transport == "http"]
    if len(found) != 1:
        names = ", ".join(repr(each.name) for each in found)
        hint = f"name one by --server: {names}" if found else "a command that starts a server has no login"
        raise InvalidInput(f"a login is at one server with a URL: {hint}")
    if not found[0].can_log_in:
        raise InvalidInput(f"server {found[0].name!r} gets credentials by the configuration: leave them out to log in")
    return found[0]


def described(login: Login) -> str:
    """Where a login is, and for how long."""
    issuer = "" if login.issuer is None else f"at {login.issuer.rstrip('/')} "
    if login.problem is not None:
        return f"{issuer}no longer: {login.problem}"
    if login.expires_at is None:
        return f"{issuer}until the server refuses it"
    until = datetime.fromtimestamp(login.expires_at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"{issuer}until {until}" + (", renewed by the gateway" if login.is_renewable else "")


async def _log_in(config: Config, server: UpstreamConfig, *, browser: bool) -> Login:
    # Imported only now: they need the SDK.
    from louver.cli.redirect import read_pasted, redirect
    from louver.gateway.login.flow import UserAgent
    from louver.gateway.login.interactive import kept_login, log_in

    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(opened_logins(config))
        kept = await kept_login(server, store)
        back = stack.enter_context(redirect(server.oauth.callback_port, _port_of(kept)))

        async def show(url: str) -> None:
            back.expect(url)
            print(f"open this page to log in: {url}", flush=True)
            if browser:
                stack.enter_context(opened(url))
            else:
                print("then paste the address that the browser shows:", flush=True)
                read_pasted(back, lambda: terminal.print_stderr("that is not the answer to this login: paste it again"))

        return await log_in(server, store, UserAgent(back.uri, show, back.answer))


def _port_of(login: Login | None) -> int | None:
    """The port that the client of an earlier login is registered with."""
    uris = () if login is None else login.client.redirect_uris or ()
    return next((urlsplit(str(uri)).port for uri in uris), None)
