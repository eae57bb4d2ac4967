"""The listener of `louver serve --http`: its address, which clients it serves, and what is printed of both.

Without `auth` in the configuration, clients need the token that the first start makes; with `--no-auth`, every program
of this machine is served. A token is shown to a terminal alone: else logs, such as a journal, would keep it.
"""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from louver.cli import logs, terminal
from louver.cli.process import SAVINGS, by_signal, state
from louver.core.json import compact
from louver.errors import InvalidInput
from louver.gateway.front.allowed_hosts import AllowedSources
from louver.gateway.front.auth.local_token import LocalToken, LocalTokenMiddleware, local_token
from louver.gateway.front.endpoint import PAGE, PATH, McpEndpoint
from louver.gateway.front.http import bind_socket
from louver.seams import plugged_in
from louver.steps.telemetry import tracing

if TYPE_CHECKING:
    import socket
    from argparse import Namespace
    from collections.abc import Callable
    from contextlib import ExitStack

    from starlette.types import ASGIApp

    from louver.cli.listen_address import ListenAddress
    from louver.gateway.config.auth import Auth
    from louver.gateway.gateway import Gateway

logger = logging.getLogger(__name__)

Page = Literal["off", "served", "shown"]  # the page `/ui`: absent, beside `/mcp`, or what the process is for


@dataclass(frozen=True, slots=True)
class HttpListener:
    address: ListenAddress
    hosts: tuple[str, ...]  # allowed besides loopback
    auth: Auth | LocalToken | None
    socket: socket.socket  # accepts connections already
    page: Page = "off"
    has_access_log: bool = False  # on standard output

    @classmethod
    def open(cls, arguments: Namespace, address: ListenAddress, auth: Auth | None) -> HttpListener:
        """The listener, with the token of its clients if neither `auth` nor `--no-auth` says otherwise."""
        hosts = (*address.allowed_hosts(arguments.allowed_host), *(() if auth is None else auth.allowed_hosts))
        if arguments.no_auth:
            address.check_no_auth(auth=auth is not None)
        bound = bind_socket(address.host, address.port)
        page: Page = "served" if arguments.ui else "off"
        needed = auth if auth is not None or arguments.no_auth else _token(arguments, address, bound)
        return cls(address, hosts, needed, bound, page, arguments.access_log)

    @classmethod
    def open_local(cls, arguments: Namespace, address: ListenAddress) -> HttpListener:
        """The listener of `louver ui`, with the token of this machine whatever the configuration says of clients."""
        bound = bind_socket(address.host, address.port)
        return cls(address, (), _token(arguments, address, bound), bound, "shown")

    @property
    def page_url(self) -> str:
        """The address of the page."""
        return f"{self._url(self.address.client_url_host)}{PAGE}"

    @property
    def opened_url(self) -> str:
        """The same with the token of this machine, if that is what clients need."""
        return f"{self.page_url}#token={self.auth.token}" if isinstance(self.auth, LocalToken) else self.page_url

    def app(self, gateway: Gateway, lifetime: ExitStack) -> ASGIApp:
        """The ASGI application: the endpoint behind authentication; the page, traces and the access log if wanted."""
        app = self._guarded(gateway)
        if tracing() is not None:
            app = plugged_in("team.trace_context:TraceContext")(app)
        if not self.has_access_log:
            return app
        # Imported here, as below: most gateways have none.
        from louver.gateway.front.access_log import AccessLog

        output = logs.LineOutput(sys.stdout)
        lifetime.callback(output.close)
        return AccessLog(app, output.write)

    def _guarded(self, gateway: Gateway) -> ASGIApp:
        sources = AllowedSources(self.hosts, has_page=self.page != "off")
        endpoint = McpEndpoint(gateway, sources)
        if self.page == "off":
            return self.guard(endpoint)
        page_api, page_files = plugged_in("desk.ui.api:PageApi"), plugged_in("desk.ui.page:PageFiles")
        # The page is of this machine's user alone if nobody else can reach it.
        is_operator = isinstance(self.auth, LocalToken) and self.address.ip.is_loopback
        # Calls that a person tries are not counted: the page alone shows what other gateways have counted.
        savings = state(SAVINGS) if self.page == "shown" else gateway.savings_file
        app = self.guard(page_api(endpoint, gateway, sources, savings, is_operator=is_operator))
        sign_in = None if self.auth is None or isinstance(self.auth, LocalToken) else self.auth.sign_in
        app = page_files(app, sources, can_sign_in=sign_in is not None)
        return app if sign_in is None else plugged_in("desk.ui.sign_in:SignIn")(app, self.auth, sources)

    def guard(self, app: ASGIApp) -> ASGIApp:
        """The ASGI application behind authentication, if there is any."""
        if self.auth is None:
            return app
        if isinstance(self.auth, LocalToken):
            return LocalTokenMiddleware(app, self.auth.token)
        # Imported here: other tokens need the SDK and cryptography.
        from louver.gateway.front.auth.authenticated import AuthMiddleware

        return AuthMiddleware(app, self.auth)

    def report(self, end: Callable[[], None]) -> None:
        """Print the URL, and where its token is; clients that come before the server has started wait."""
        by_signal(end)
        if self.page == "shown":
            _report(f"the page is at {self.opened_url if _is_terminal() else self.page_url}")
        else:
            _report(f"serving at {self._url(self.address.url_host)}{PATH}")
        if self.page == "served":
            _report(f"the page is at {self.page_url}")
        if isinstance(self.auth, LocalToken):
            self._report_token(self.auth)

    def _report_token(self, token: LocalToken) -> None:
        if self.page == "shown" and _is_terminal():
            # It is in the address.
            return
        if token.is_new and _is_terminal():
            url = f"{self._url(self.address.client_url_host)}{PATH}"
            _report(f"clients need a token. It is shown only now, and kept in {token.file}")
            # Lines of a host's file, to copy.
            print(compact({"mcpServers": {"louver": token.host_entry(url)}}), file=sys.stderr, flush=True)
        else:
            _report(f"clients need the token in {token.file}")

    def _url(self, host: str) -> str:
        return f"http://{host}:{self.socket.getsockname()[1]}"


def _is_terminal() -> bool:
    return sys.stderr.isatty() and not logs.is_json()


def _report(message: str) -> None:
    if logs.is_json():
        logger.info("%s", message)
    else:
        terminal.print_stderr(message)


def _token(arguments: Namespace, address: ListenAddress, bound: socket.socket) -> LocalToken:
    # After the socket: a start that fails at it would make a token and print it nowhere.
    try:
        return local_token(_token_folder(), [address.host, address.port, *_served(arguments)])
    except InvalidInput:
        bound.close()
        raise


def _token_folder() -> Path:
    if (folder := state("tokens")) is None:
        raise InvalidInput(
            "there is no home folder to keep the token of clients in: expected the variable XDG_STATE_HOME, "
            "or 'auth' in the configuration, or --no-auth"
        )
    return folder


def _served(arguments: Namespace) -> list[str]:
    """The servers that the arguments name, for a token of their own."""
    if arguments.config is not None:
        server = [] if arguments.server is None else ["--server", arguments.server]
        return ["--config", str(Path(arguments.config).resolve()), *server]
    if arguments.url is not None:
        return ["--url", arguments.url]
    return arguments.command_line or ["--example"]
