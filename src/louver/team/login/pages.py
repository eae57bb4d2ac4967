"""The pages of a login that a caller makes, outside of authentication: a browser has no token.

GET  /oauth/login             for whom and where; fetching it changes nothing, since programs look at links too
POST /oauth/login             goes on to the authorization server, for the browser that has seen the page
GET  /oauth/callback/SERVER   back from there, in that browser alone
"""

from __future__ import annotations

import secrets
from html import escape
from typing import TYPE_CHECKING, Final

import httpx2
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from louver.errors import LoginFailed
from louver.team.login.links import CALLBACK_PATH, LOGIN_PATH

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from louver.team.login.links import LoginLinks

_HEADERS: Final = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
    # Another policy would hide from `_is_from_page` where a form comes from.
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
}
_USED: Final = "This link was used, or is too old: call the tool again for another one."


class LoginPages:
    def __init__(self, links: LoginLinks) -> None:
        self._links = links
        # As browsers write it: in lower case, without a port that goes without saying.
        url = httpx2.URL(links.public_url)
        self._origin = f"{url.scheme}://{url.netloc.decode('ascii')}"
        self._is_secure = url.scheme == "https"
        # No other host can set a cookie with the prefix. Source: RFC 6265bis, 4.1.3.2.
        self._cookie = "__Host-louver-login" if self._is_secure else "louver-login"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        try:
            response = await self._respond(path, request)
        except LoginFailed as error:
            response = _page(f"The login fails: {error.message}.", 502)
        await response(scope, receive, send)

    async def _respond(self, path: str, request: Request) -> Response:
        if path.startswith(CALLBACK_PATH) and request.method == "GET":
            server, browser = path.removeprefix(CALLBACK_PATH), request.cookies.get(self._cookie, "")
            problem = await self._links.finish(server, dict(request.query_params), browser)
            done = "You are logged in. You can close this page."
            return _page(done, 200) if problem is None else _page(f"Nobody is logged in: {problem}.", 400)
        if path != LOGIN_PATH or request.method not in ("GET", "POST"):
            return _page("There is no such page.", 404)
        link = request.query_params.get("link", "")
        if request.method == "GET":
            described = await self._links.described(link)
            return _page(_USED, 404) if described is None else _question(*described)
        if request.headers.get("origin") != self._origin:
            return _page("Go on by the button of the page alone.", 403)
        # One for the browser, which may have several logins under way.
        browser = request.cookies.get(self._cookie) or secrets.token_urlsafe(32)
        address = await self._links.begin(link, browser)
        if address is None:
            return _page(_USED, 404)
        response = RedirectResponse(address, 303, _HEADERS)
        response.set_cookie(self._cookie, browser, secure=self._is_secure, httponly=True, samesite="lax")
        return response


def _question(server: str, principal: str) -> Response:
    return _page(
        f"<b>{escape(principal)}</b> wants to use the server <b>{escape(server)}</b> with your account there. "
        "Go on only if that is you, and you have just asked for it: somebody else would get the rights of your account."
        '<form method="post"><button>Log in</button></form>',
        200,
        is_html=True,
    )


def _page(text: str, status: int, *, is_html: bool = False) -> Response:
    body = text if is_html else escape(text)
    return HTMLResponse(
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Louver: log in</title><p>{body}', status, _HEADERS
    )
