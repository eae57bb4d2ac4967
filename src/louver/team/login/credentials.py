"""The header `Authorization` of an HTTP server's requests, from the login that is kept for it.

    no login                  nothing is sent; once the server has asked for one, its requests fail with the command
    a login                   its access token, renewed ahead of its end, also while no client is connected
    401                       renewed once and sent again; refused again: somebody has to log in
    403 insufficient_scope    the scope is noted for the next login

`louver login` and other gateways may change the login at any time; before a refusal it is read again.
"""

from __future__ import annotations

import asyncio
import logging
import re
import shlex
import time
from time import monotonic
from typing import TYPE_CHECKING, Final

from louver.concurrency.background import BackgroundTasks, retrieve_error
from louver.concurrency.backoff import Backoff
from louver.concurrency.offload import in_thread
from louver.errors import LoginFailed, LoginRequired
from louver.gateway.config.model import COMMAND_LINE_SERVER
from louver.limits import LOGIN_FRESH_S, LOGIN_LOCK_WAIT_S

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from louver.gateway.config.model import UpstreamConfig
    from louver.team.login.login import Login
    from louver.team.login.stores.store import LoginStore

LOGIN_LOOK_S = 30.0
LOGIN_PAUSE_S = 1.0
"""How often it is looked whether a login is due, and how often at most, in seconds: clocks jump, and machines sleep."""


logger = logging.getLogger(__name__)

_BEARER: Final = re.compile(r"(?:^|,)\s*bearer\b", re.IGNORECASE)  # other schemes may stand before it
_INSUFFICIENT_SCOPE: Final = "insufficient_scope"


class LoginCredentials:
    """The login of the gateway at one server."""

    def __init__(self, server: UpstreamConfig, store: LoginStore, clock: Callable[[], float] = time.time) -> None:
        self._server = server
        self._key = server.login_id
        self._store = store
        self._clock = clock
        self.is_off = False  # no login is kept, and none is needed; looked at again every `LOGIN_LOOK_S`
        self._login: Login | None = None
        self._stamp: Hashable = None
        self._is_required = server.logs_in_callers  # or the server has asked for a login
        self._backoff = Backoff()
        self._replacing: asyncio.Task[Login] | None = None
        self._being_replaced: Login | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._tasks = BackgroundTasks(logger)

    async def headers(self) -> Mapping[str, str]:
        """The header for a request; LoginRequired if it would be refused."""
        if self._keeper is None:
            self._keeper = self._tasks.start(self._keep())
        login = await self._known()
        if login is None and not self._is_required:
            self.is_off = True
            return {}
        try:
            return await self._header(login)
        except (LoginFailed, LoginRequired):
            if (fresh := await self._known(is_fresh=True)) is login:
                raise
            return await self._header(fresh)

    async def _known(self, *, is_fresh: bool = False) -> Login | None:
        try:
            return await self.current(is_fresh=is_fresh)
        except LoginFailed:
            if self._is_required:
                raise
            # A server that asks for no login does without the place where logins are kept.
            return None

    async def _header(self, login: Login | None) -> Mapping[str, str]:
        if login is None:
            if self._is_required and not self._is_service:
                raise self._required("nobody is logged in")
            return {}
        if login.has_expired(self._clock()):
            login = await self._renewed(login)
        return {"authorization": login.authorization}

    async def on_refused(self, sent: Mapping[str, str], status: int, challenge: str | None) -> bool:
        """Whether a refused request can be sent again, with other headers; LoginRequired if somebody has to log in."""
        wants_login = challenge is not None and _BEARER.search(challenge) is not None
        # Before 2025-06-18 servers refused tokens without a challenge.
        if not wants_login and not (status == 401 and (sent or self._is_service)):
            return False
        self.is_off = False
        await in_thread(_load_flows)
        # Imported only now: a server that refuses nobody needs no SDK.
        from louver.team.login.flow import challenge_field

        self._is_required = self._is_required or status == 401
        login = await self.current(is_fresh=True)
        if status == 403:
            if challenge_field(challenge, "error") != _INSUFFICIENT_SCOPE:
                return False
            if login is None or sent.get("authorization") == login.authorization:
                await self._want(login, challenge_field(challenge, "scope"))
        if login is None:
            if not self._is_service:
                raise self._required("nobody is logged in")
            await self._replaced(None, challenge)
        elif sent.get("authorization") == login.authorization:
            # Below 0 the clock was put back since.
            if 0 <= self._clock() - login.obtained_at < LOGIN_FRESH_S and not login.is_due(self._clock()):
                raise self._required("the server refuses the login")
            await self._renewed(login)
        return True

    async def current(self, *, is_fresh: bool = False) -> Login | None:
        """The login that is kept, if there is one: a copy of a while ago unless fresh, which refuses nobody."""
        if (stamp := await self._store.stamp(self._key, is_fresh=is_fresh)) != self._stamp:
            self._login = None if stamp is None else await self._store.read(self._key)
            self._stamp = stamp
            self._backoff.reset()
        return self._login

    async def close(self) -> None:
        """End renewal; one that is under way is waited for, since its refresh token is spent."""
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.wait({self._keeper})
        if self._replacing is not None:
            await asyncio.wait({self._replacing})
        await self._tasks.close()

    @property
    def _is_service(self) -> bool:
        return self._server.oauth.grant == "client_credentials"

    async def _keep(self) -> None:
        """Renew the login ahead of its end, for as long as the gateway runs."""
        while True:
            wait_s = LOGIN_LOOK_S
            try:
                login = await self.current()
                self.is_off = self.is_off and login is None
                if login is not None and login.is_due(self._clock()):
                    login = await self._renewed(login)
                if login is not None and login.renew_at is not None:
                    wait_s = login.renew_at - self._clock()
            except (LoginFailed, LoginRequired):
                # It is logged where it has failed.
                wait_s = self._backoff.wait_s
            await asyncio.sleep(min(LOGIN_LOOK_S, max(LOGIN_PAUSE_S, wait_s)))

    async def _renewed(self, login: Login) -> Login:
        if not login.is_renewable:
            raise self._required("the login has ended")
        if (wait_s := self._backoff.wait_s) > 0:
            if not login.has_expired(self._clock()):
                return login
            raise LoginFailed(f"{self._backoff.problem}; it is tried again in {wait_s:.1f} s")
        renewed = await self._replaced(login, login.challenge)
        if renewed.problem is not None:
            raise self._required("the login has ended")
        return renewed

    async def _replaced(self, old: Login | None, challenge: str | None) -> Login:
        """The login that replaces an old one: one attempt for all requests that wait, cancelled by none of them."""
        if self._replacing is not None and self._being_replaced is not old:
            # What becomes of an earlier login says nothing of this one.
            await asyncio.wait({self._replacing})
        if self._replacing is None or self._replacing.done():
            self._being_replaced = old
            self._replacing = asyncio.create_task(self._replace(old, challenge))
            self._replacing.add_done_callback(retrieve_error)
        return await asyncio.shield(self._replacing)

    async def _replace(self, old: Login | None, challenge: str | None) -> Login:
        await in_thread(_load_flows)
        # Imported only now: a server without a login needs no SDK.
        from louver.team.login.flow import Flow

        key, server = self._key, self._server
        async with self._store.locked(key):
            login = await self._store.read(key)
            if login is None and old is not None:
                raise self._required("nobody is logged in")
            if login is not None and (old is None or login.tokens != old.tokens or login.problem is not None):
                # Another process was first.
                return login
            try:
                if login is None or self._is_service:
                    new = await Flow(server, None).log_in(challenge, self._clock)
                else:
                    new = await Flow(server, login).refresh(login, self._clock())
            except LoginFailed as error:
                self._backoff.record_failure(error.message)
                logger.warning("server %r: %s", server.name, error.message)
                raise
            return await self._written(new, login)

    async def _written(self, new: Login, old: Login | None) -> Login:
        """The new login, once it is kept; or what somebody has done since, if the lock has ended meanwhile."""
        began = monotonic()
        while True:
            try:
                if (current := await self._store.read(self._key)) == old:
                    await self._store.write(self._key, new)
                    return new
                break
            except LoginFailed:
                # The refresh token is spent: without the new one somebody would have to log in again.
                if monotonic() - began >= LOGIN_LOCK_WAIT_S:
                    raise
            await asyncio.sleep(LOGIN_PAUSE_S)
        if current is None:
            raise self._required("nobody is logged in")
        return current

    async def _want(self, login: Login | None, scope: str | None) -> None:
        """Note a scope that the server asks for, and refuse the request."""
        if login is None or self._is_service:
            raise self._required(f"the server wants the scope {scope!r}")
        if scope is not None and login.wanted_scope != scope:
            async with self._store.locked(self._key):
                if (current := await self._store.read(self._key)) is not None:
                    await self._store.write(self._key, current.model_copy(update={"wanted_scope": scope}))
        raise self._required(f"the server wants the scope {scope!r} too")

    def _required(self, problem: str) -> LoginRequired:
        if self._server.principal is not None:
            return LoginRequired(problem)
        name = self._server.name
        file = shlex.quote(self._server.file or "FILE")
        server = "--url URL" if name == COMMAND_LINE_SERVER else f"--config {file} --server {name}"
        if self._server.logs_in_callers:
            problem = "callers log in for themselves, and for the gateway itself nobody is logged in"
        return LoginRequired(f"{problem}; somebody has to run: louver login {server}")


def _load_flows() -> None:
    """Import them, in a thread: all clients would wait for that."""
    from louver.team.login.flow import prepare

    prepare()
