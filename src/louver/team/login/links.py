"""Links by which callers log in for themselves.

    https://gateway.example/oauth/login?link=...    says for whom and where, and asks
    -> the authorization server                     for the browser that has agreed, by a cookie
    -> /oauth/callback/tracker?code=...&state=...   from the same browser; any replica takes it

Each server has a callback of its own: one that names the authorization server of another as its own does not get that
one's codes, even if it sends no `iss`. Source: RFC 9700, 4.4.2.

The replica that the browser has agreed at makes the login: it waits for what comes back, wherever.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from contextlib import suppress
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlsplit

from louver.concurrency.background import BackgroundTasks
from louver.errors import LoginFailed
from louver.limits import LOGIN_WAIT_S, MAX_LOGIN_NOTES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mcp.shared.auth import AuthorizationCodeResult

    from louver.catalogue.grants import PrincipalKey
    from louver.gateway.config.model import UpstreamConfig
    from louver.steps.request import Identity
    from louver.team.login.notes import LoginNotes
    from louver.team.login.stores.store import LoginStore

LOGIN_ACCEPTED_S = 45.0
LOGIN_POLL_S = 0.25
"""How long a call waits for a login once its caller has opened the page, and how often it looks, in seconds: clients
give up on calls after 60."""


logger = logging.getLogger(__name__)

LOGIN_PATH: Final = "/oauth/login"
CALLBACK_PATH: Final = "/oauth/callback/"  # the server's name follows

# A link: server, principal, and how to name the principal. A flow: server and browser. What came back. The end.
_LINK, _FLOW, _RETURNED, _ENDED = "link", "flow", "returned", "ended"

_CANCELLED: Final = "this login was begun again, or its gateway has ended"


class LoginLinks:
    def __init__(
        self, public_url: str, servers: Callable[[], Mapping[str, UpstreamConfig]], store: LoginStore, notes: LoginNotes
    ) -> None:
        self.public_url = public_url
        self._servers = servers
        self._store = store
        self._notes = notes
        self._links: dict[tuple[str, PrincipalKey], tuple[str, float]] = {}  # with the time until which one is shown
        self._flows: dict[tuple[str, PrincipalKey], asyncio.Task[None]] = {}
        self._tasks = BackgroundTasks(logger)

    async def link(self, server: str, caller: Identity) -> str:
        """The link for a caller: the same for a while, until it is used."""
        assert caller.key is not None, "only principals log in for themselves"
        of = server, caller.key
        link, until = self._links.get(of, ("", 0.0))
        if monotonic() >= until or await self._notes.get(_LINK, link) is None:
            link = secrets.token_urlsafe(32)
            if len(self._links) >= MAX_LOGIN_NOTES:
                self._links.pop(next(iter(self._links)))
            self._links[of] = link, monotonic() + LOGIN_WAIT_S / 2
            name = caller.principal.subject or "the program"
            client = "" if caller.principal.client is None else f", by the program {caller.principal.client}"
            await self._notes.put(_LINK, link, {"server": server, "principal": caller.key, "name": f"{name}{client}"})
        return f"{self.public_url}{LOGIN_PATH}?link={link}"

    async def described(self, link: str) -> tuple[str, str] | None:
        """The server of a link, and for whom it is; `None` if it is used or too old."""
        note = await self._notes.get(_LINK, link)
        return None if note is None else (note["server"], note["name"])

    async def begin(self, link: str, browser: str) -> str | None:
        """The page of the authorization server for the browser that has agreed; `None` if the link is used."""
        note = await self._notes.take(_LINK, link)
        server = None if note is None else self._servers().get(note["server"])
        if note is None or server is None or not server.logs_in_callers:
            return None
        client, issuer, subject = note["principal"]
        principal = client, issuer, subject
        page: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        if (before := self._flows.pop((server.name, principal), None)) is not None:
            before.cancel()
        flow = self._tasks.start(self._log_in(replace(server, principal=principal), browser, page))
        self._flows[server.name, principal] = flow
        flow.add_done_callback(partial(self._on_ended, server.name, principal, page))
        return await page

    async def finish(self, server: str, query: Mapping[str, str], browser: str) -> str | None:
        """Take what an authorization server sends a browser back with to a server's callback; the problem, if any."""
        state = query.get("state", "")
        flow = await self._notes.get(_FLOW, state)
        if (
            flow is None
            or flow["server"] != server
            or not browser
            or not secrets.compare_digest(flow["browser"].encode(), browser.encode())
        ):
            return "this page belongs to no login that was begun in this browser"
        if await self._notes.take(_FLOW, state) is None:
            return "this login has come back already"
        returned = {name: query[name] for name in ("code", "iss") if name in query}
        await self._notes.put(_RETURNED, state, returned)
        ended = await self._wait(_ENDED, state, LOGIN_ACCEPTED_S)
        return "the login takes too long" if ended is None else ended.get("problem")

    async def is_changed(self, server: str, principal: PrincipalKey, stamp: object) -> bool:
        """Whether a principal has logged in since, or does so soon."""
        began = monotonic()
        while monotonic() - began < LOGIN_ACCEPTED_S:
            if await self.stamp(server, principal) not in (None, stamp):
                return True
            await asyncio.sleep(LOGIN_POLL_S)
        return False

    async def stamp(self, server: str, principal: PrincipalKey) -> object:
        return await self._store.stamp(replace(self._servers()[server], principal=principal).login_id, is_fresh=True)

    async def close(self) -> None:
        await self._tasks.close()

    async def _log_in(self, server: UpstreamConfig, browser: str, page: asyncio.Future[str]) -> None:
        # Lazy imports: only logins need the SDK.
        from louver.team.login.flow import UserAgent
        from louver.team.login.interactive import log_in

        state, problem = "", None

        async def show(url: str) -> None:
            nonlocal state
            state = parse_qs(urlsplit(url).query).get("state", [""])[0]
            await self._notes.put(_FLOW, state, {"server": server.name, "browser": browser})
            if not page.done():
                page.set_result(url)

        try:
            await log_in(
                server,
                self._store,
                UserAgent(f"{self.public_url}{CALLBACK_PATH}{server.name}", show, lambda: self._answer(state)),
            )
        except LoginFailed as error:
            if not page.done():
                page.set_exception(error)
                return
            problem = error.message
            logger.warning("server %r: a caller's login fails: %s", server.name, problem)
        except asyncio.CancelledError:
            # Its browser may wait for the end.
            with suppress(LoginFailed):
                await self._notes.put(_ENDED, state, {"problem": _CANCELLED})
            raise
        await self._notes.put(_ENDED, state, {} if problem is None else {"problem": problem})

    def _on_ended(
        self, server: str, principal: PrincipalKey, page: asyncio.Future[str], flow: asyncio.Task[None]
    ) -> None:
        if self._flows.get((server, principal)) is flow:
            del self._flows[server, principal]
        if not page.done():
            page.set_exception(LoginFailed("the login was begun again"))

    async def _answer(self, state: str) -> AuthorizationCodeResult:
        from mcp.shared.auth import AuthorizationCodeResult

        returned = await self._wait(_RETURNED, state, LOGIN_WAIT_S)
        if returned is None:
            raise LoginFailed("nobody has come back from the authorization server")
        if "code" not in returned:
            raise LoginFailed("the authorization server does not grant the login")
        return AuthorizationCodeResult(code=returned["code"], state=state, iss=returned.get("iss"))

    async def _wait(self, kind: str, state: str, seconds: float) -> dict[str, Any] | None:
        began = monotonic()
        while monotonic() - began < seconds:
            # A state that is away for a moment ends no login.
            with suppress(LoginFailed):
                if (note := await self._notes.take(kind, state)) is not None:
                    return note
            await asyncio.sleep(LOGIN_POLL_S)
        return None
