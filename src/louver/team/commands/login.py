"""`louver login`: log in to a server by OAuth, in the browser.

$ louver login --config mcp.json --server tracker
open this page to log in: https://auth.example/authorize?...
logged in to 'tracker' at https://auth.example until 2026-01-01 12:00 UTC, renewed by the gateway
"""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from louver.cli import logs, process, servers, terminal
from louver.cli.browser import opened
from louver.errors import InvalidInput
from louver.limits import LOGIN_WAIT_S

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import AsyncGenerator

    from louver.gateway.config.model import Config, UpstreamConfig
    from louver.team.login.login import Login
    from louver.team.login.stores.store import LoginStore


def run(arguments: Namespace) -> int:
    logs.configure("plain", logging.WARNING)
    config = servers.read(arguments)
    server = login_server(config)
    if server.exchanges_tokens:
        raise InvalidInput(f"nobody logs in to {server.name!r}: the gateway exchanges each caller's token")
    if server.oauth.grant == "client_credentials":
        raise InvalidInput(f"nobody logs in to {server.name!r}: the gateway does by itself, by 'client_credentials'")
    print(f"logged in to {server.name!r} {process.run(_log_in(config, server, browser=arguments.browser)).described}")
    return 0


def login_server(config: Config) -> UpstreamConfig:
    """The one server that a login can be at."""
    over_http = [each for each in config.upstreams if each.transport == "http"]
    found = [each for each in over_http if each.can_log_in]
    if len(found) == 1:
        return found[0]
    names = ", ".join(repr(each.name) for each in found or over_http)
    if over_http and not found:
        raise InvalidInput(f"{names}: the configuration has the credentials; leave them out there to log in")
    hint = f"name one by --server: {names}" if found else "a command that starts a server has no login"
    raise InvalidInput(f"a login is at one server with a URL: {hint}")


@asynccontextmanager
async def opened_logins(config: Config) -> AsyncGenerator[LoginStore]:
    """The place of the logins of a gateway with this configuration; InvalidInput if there is none."""
    # Imported only now: few commands need them.
    from louver.team.login.stores.store import login_store
    from louver.team.state.shared import SharedState

    shared = None if config.state is None else SharedState(config.state, config.keys)
    try:
        store = login_store(shared, config.keys, process.state(process.LOGINS))
        if store is None:
            raise InvalidInput("logins are kept in the home folder, and there is none: set XDG_STATE_HOME")
        yield store
    finally:
        if shared is not None:
            await shared.close()


async def _log_in(config: Config, server: UpstreamConfig, *, browser: bool) -> Login:
    # Imported only now: they need the SDK.
    from louver.team.login.flow import UserAgent
    from louver.team.login.interactive import kept_login, log_in
    from louver.team.login.redirect import read_pasted, redirect

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
                minutes = f"{LOGIN_WAIT_S / 60:.0f} minutes"
                print(f"then paste the address that the browser shows, within {minutes}:", flush=True)
                read_pasted(back, lambda: terminal.print_stderr("that is not the answer to this login: paste it again"))

        return await log_in(server, store, UserAgent(back.uri, show, back.answer))


def _port_of(login: Login | None) -> int | None:
    """The port that the client of an earlier login is registered with."""
    uris = () if login is None else login.client.redirect_uris or ()
    return next((urlsplit(str(uri)).port for uri in uris), None)
