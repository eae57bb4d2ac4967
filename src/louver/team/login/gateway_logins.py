"""The logins of a gateway: credentials for its servers, and links by which callers log in for themselves."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from louver.concurrency.background import BackgroundTasks
from louver.errors import InvalidConfig, LoginFailed
from louver.team.login.server_logins import ServerLogins
from louver.team.login.stores.store import login_store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from louver.catalogue.grants import PrincipalKey
    from louver.gateway.back.transports.endpoint import Credentials
    from louver.gateway.config.model import Config, UpstreamConfig
    from louver.team.login.links import LoginLinks
    from louver.team.login.log_in import LogIn
    from louver.team.login.login import Login
    from louver.team.login.pages import LoginPages
    from louver.team.login.stores.store import LoginStore
    from louver.team.state.shared import SharedState

logger = logging.getLogger(__name__)


class GatewayLogins:
    def __init__(
        self,
        config: Config,
        state: SharedState | None,
        folder: Path | None,
        servers: Callable[[], tuple[UpstreamConfig, ...]],  # of the configuration in force
    ) -> None:
        self._servers = servers
        self._store = login_store(state, config.keys, folder)
        self._by_server: dict[str, ServerLogins] = {}
        self._closing = BackgroundTasks(logger)
        self._links = None if self._store is None else self._make_links(self._store, config, state)

    @property
    def pages(self) -> LoginPages | None:
        """Where callers log in for themselves, if they can."""
        if self._links is None:
            return None
        from louver.team.login.pages import LoginPages

        return LoginPages(self._links)

    def credentials_for(self, server: UpstreamConfig) -> Callable[[PrincipalKey | None], Credentials]:
        """The credentials for a server, by the principal of a caller with its own login."""
        logins = self._by_server[server.name] = ServerLogins(server, self._store)
        return logins.of

    def steps(self, servers: tuple[UpstreamConfig, ...]) -> dict[str, LogIn]:
        """The steps to the logins of callers, by server; InvalidConfig if callers cannot log in here."""
        names = [each.name for each in servers if each.logs_in_callers]
        if (links := self._links) is None:
            raise InvalidConfig(
                f"server {names[0]!r} has a login for each principal: expected 'auth' with a 'resource', and a folder "
                "of the user or 'state' with 'keys', where logins are kept"
            )
        # Lazy imports, as below: most gateways have no such server.
        from louver.team.login.flow import prepare
        from louver.team.login.log_in import LogIn

        prepare()
        return {name: LogIn(name, links) for name in names}

    async def current(self, server: str) -> Login | None:
        """The gateway's login at a server, if there is one that opens."""
        logins = self._by_server.get(server)
        with suppress(LoginFailed):
            return None if logins is None else await logins.login()
        return None

    def forget(self, server: str, principal: PrincipalKey) -> None:
        """Give up what a principal used at a server; the login stays."""
        if (logins := self._by_server.get(server)) is not None:
            self._closing.start(logins.forget(principal))

    def end(self, server: str) -> None:
        if (ended := self._by_server.pop(server, None)) is not None:
            self._closing.start(ended.close())

    async def close(self) -> None:
        if self._links is not None:
            await self._links.close()
        for server in list(self._by_server):
            self.end(server)
        await self._closing.wait()

    def _make_links(self, store: LoginStore, config: Config, state: SharedState | None) -> LoginLinks | None:
        if config.auth is None or config.auth.public_url is None:
            return None
        from louver.team.login.links import LoginLinks
        from louver.team.login.notes import LoginNotes

        notes = LoginNotes(state if config.keys else None)
        return LoginLinks(config.auth.public_url, lambda: {each.name: each for each in self._servers()}, store, notes)
