"""The credentials at one server: of the gateway, or of the principals that use it now."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from louver.team.login.credentials import LoginCredentials
from louver.team.login.exchanged import ExchangedCredentials

if TYPE_CHECKING:
    from louver.catalogue.grants import PrincipalKey
    from louver.gateway.config.model import UpstreamConfig
    from louver.team.login.exchange import TokenExchange
    from louver.team.login.login import Login
    from louver.team.login.stores.store import LoginStore


class ServerLogins:
    def __init__(self, server: UpstreamConfig, store: LoginStore | None) -> None:
        self._server = server
        self._store = store
        self._exchange = _token_exchange(server) if server.exchanges_tokens else None
        self._credentials: dict[PrincipalKey | None, LoginCredentials | ExchangedCredentials] = {}

    def of(self, principal: PrincipalKey | None) -> LoginCredentials | ExchangedCredentials:
        if (found := self._credentials.get(principal)) is None:
            found = self._credentials[principal] = self._make(principal)
        return found

    async def login(self) -> Login | None:
        """The gateway's own."""
        credentials = self.of(None)
        return await credentials.current() if isinstance(credentials, LoginCredentials) else None

    async def forget(self, principal: PrincipalKey) -> None:
        """Give up what a principal used; the login stays."""
        if (found := self._credentials.pop(principal, None)) is not None:
            await found.close()

    async def close(self) -> None:
        await asyncio.gather(*(each.close() for each in self._credentials.values()))

    def _make(self, principal: PrincipalKey | None) -> LoginCredentials | ExchangedCredentials:
        if self._exchange is not None:
            return ExchangedCredentials(principal, self._exchange)
        assert self._store is not None, "logins are kept somewhere"
        return LoginCredentials(replace(self._server, principal=principal), self._store)


def _token_exchange(server: UpstreamConfig) -> TokenExchange:
    # Imported only now: a gateway that exchanges no tokens needs no SDK.
    from louver.team.login.exchange import TokenExchange

    return TokenExchange(server, time.time)
