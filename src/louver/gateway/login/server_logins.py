"""The logins at one server: the gateway's, or those of the principals that use it now."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from louver.gateway.login.credentials import LoginCredentials

if TYPE_CHECKING:
    from louver.catalogue.grants import PrincipalKey
    from louver.gateway.config.model import UpstreamConfig
    from louver.gateway.login.store import LoginStore


class ServerLogins:
    def __init__(self, server: UpstreamConfig, store: LoginStore) -> None:
        self._server = server
        self._store = store
        self._credentials: dict[PrincipalKey | None, LoginCredentials] = {}

    def of(self, principal: PrincipalKey | None) -> LoginCredentials:
        if (found := self._credentials.get(principal)) is None:
            server = replace(self._server, principal=principal)
            found = self._credentials[principal] = LoginCredentials(server, self._store)
        return found

    async def forget(self, principal: PrincipalKey) -> None:
        """Give up what a principal used; the login stays."""
        if (found := self._credentials.pop(principal, None)) is not None:
            await found.close()

    async def close(self) -> None:
        await asyncio.gather(*(each.close() for each in self._credentials.values()))
