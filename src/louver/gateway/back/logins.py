"""Logins at servers, plugged in with the first server that can have one: credentials, and the steps to callers' own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.types import ASGIApp

    from louver.catalogue.grants import PrincipalKey
    from louver.gateway.back.transports.endpoint import Credentials
    from louver.gateway.clients.client import Caller
    from louver.gateway.config.model import UpstreamConfig


class Login(Protocol):
    @property
    def described(self) -> str:
        """Where a login is, and for how long."""
        ...


class LoginStep(Protocol):
    """What a caller gets who has to log in to a server first."""

    async def answer(
        self,
        caller: Caller,
        method: str,
        params: dict[str, Any],
        send: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]],
    ) -> dict[str, Any]:
        """The answer of the server, or what the caller gets instead; LoginRequired if that is an error."""
        ...

    @property
    def tool(self) -> dict[str, Any]:
        """The entry in the list for tools that the caller cannot see yet."""
        ...


class PluggedLogins(Protocol):
    @property
    def pages(self) -> ASGIApp | None:
        """Where callers log in for themselves, if they can."""
        ...

    def credentials_for(self, server: UpstreamConfig) -> Callable[[PrincipalKey | None], Credentials]:
        """The credentials for a server, by the principal of a caller with its own login."""
        ...

    def steps(self, servers: tuple[UpstreamConfig, ...]) -> Mapping[str, LoginStep]:
        """The steps to the logins of callers, by server; InvalidConfig if callers cannot log in here."""
        ...

    async def current(self, server: str) -> Login | None:
        """The gateway's login at a server, if there is one that opens."""
        ...

    def forget(self, server: str, principal: PrincipalKey) -> None:
        """Give up what a principal used at a server; the login stays."""
        ...

    def end(self, server: str) -> None: ...

    async def close(self) -> None: ...


class Logins:
    def __init__(self, plug_in: Callable[[], PluggedLogins], *, has_store: bool) -> None:
        self._plug_in = plug_in
        self._has_store = has_store  # a place for logins
        self.plugged: PluggedLogins | None = None

    @property
    def pages(self) -> ASGIApp | None:
        return None if self.plugged is None else self.plugged.pages

    def credentials_for(self, server: UpstreamConfig) -> Callable[[PrincipalKey | None], Credentials] | None:
        """The credentials for a server, by the principal of a caller with its own login; earlier ones end."""
        self.end(server.name)
        can_have = server.can_log_in and (self._has_store or server.exchanges_tokens)
        return self._needed().credentials_for(server) if can_have else None

    def steps(self, servers: tuple[UpstreamConfig, ...]) -> Mapping[str, LoginStep]:
        return self._needed().steps(servers) if any(each.logs_in_callers for each in servers) else {}

    async def current(self, server: str) -> Login | None:
        return None if self.plugged is None else await self.plugged.current(server)

    def forget(self, server: str, principal: PrincipalKey) -> None:
        if self.plugged is not None:
            self.plugged.forget(server, principal)

    def end(self, server: str) -> None:
        if self.plugged is not None:
            self.plugged.end(server)

    async def close(self) -> None:
        if self.plugged is not None:
            await self.plugged.close()

    def _needed(self) -> PluggedLogins:
        if self.plugged is None:
            self.plugged = self._plug_in()
        return self.plugged
