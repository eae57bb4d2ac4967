"""People sign in at the page with the issuer of `auth`: an authorization code with PKCE, for an access token.

    GET /ui/sign-in      to the issuer, for the browser that alone may come back, by a cookie
    GET /ui/signed-in    back from there: the token goes to the page in the fragment of its address

It is a token as any client of the gateway sends, with the same rights. Source: RFC 6749, RFC 7636, RFC 8707, RFC 9207.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Annotated, Final

import httpx2
from mcp.client.auth import PKCEParameters
from pydantic import BaseModel, Field, ValidationError
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from louver.desk.ui.page import SAFE_HEADERS
from louver.errors import AuthUnavailable
from louver.gateway.front.auth.fetch import basic_credentials, fetch, issuer_metadata
from louver.gateway.front.endpoint import PAGE
from louver.limits import MAX_TOKEN_CHARACTERS

if TYPE_CHECKING:
    from mcp.shared.auth import OAuthMetadata
    from starlette.types import ASGIApp, Receive, Scope, Send

    from louver.gateway.config.auth import Auth
    from louver.gateway.front.allowed_hosts import AllowedSources

SIGN_IN_S: Final = 600
"""How long somebody may take to sign in at the issuer, in seconds."""

_BEGIN: Final = f"{PAGE}/sign-in"
_BACK: Final = f"{PAGE}/signed-in"
_HEADERS: Final = {name.decode(): value.decode() for name, value in SAFE_HEADERS}


class _Answer(BaseModel):
    """Source: RFC 6749, 5.1. The token has to fit into a header, and into a fragment."""

    access_token: Annotated[str, Field(max_length=MAX_TOKEN_CHARACTERS, pattern=r"^[A-Za-z0-9._~+/=-]+$")]


class SignIn:
    """ASGI wrapper that serves the two addresses; `auth` has `sign_in`."""

    def __init__(self, app: ASGIApp, auth: Auth, sources: AllowedSources) -> None:
        assert auth.sign_in is not None, "the configuration has it"
        assert auth.issuer is not None, "checked with the configuration"
        assert auth.public_url is not None, "checked with the configuration"
        self._app = app
        self._client = auth.sign_in
        self._issuer = auth.issuer
        self._resource = auth.resource
        self._sources = sources
        self._redirect_uri = f"{auth.public_url}{_BACK}"
        self._is_secure = auth.public_url.startswith("https:")
        # No other host can set a cookie with the prefix. Source: RFC 6265bis, 4.1.3.2.
        self._cookie = "__Host-louver-sign-in" if self._is_secure else "louver-sign-in"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        handler = {_BEGIN: self._begin, _BACK: self._finish}.get(scope["path"]) if scope["type"] == "http" else None
        if handler is None:
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        refused = self._sources.refused(request.headers)
        if refused is not None:
            response = _plain(*refused)
        elif request.method != "GET":
            response = _plain(405, "Method Not Allowed")
        else:
            try:
                response = await handler(request)
            except AuthUnavailable as error:
                response = _plain(502, f"Nobody is signed in: {error.message}.")
        await response(scope, receive, send)

    async def _begin(self, _: Request) -> Response:
        metadata = await self._metadata()
        proof, state = PKCEParameters.generate(), secrets.token_urlsafe(32)
        query = {
            "response_type": "code",
            "client_id": self._client.client_id,
            "redirect_uri": self._redirect_uri,
            "state": state,
            "code_challenge": proof.code_challenge,
            "code_challenge_method": "S256",
            "resource": self._resource,
            **({"scope": " ".join(self._client.scopes)} if self._client.scopes else {}),
        }
        url = httpx2.URL(str(metadata.authorization_endpoint)).copy_merge_params(query)
        response = RedirectResponse(str(url), 303, _HEADERS)
        response.set_cookie(
            self._cookie,
            f"{state}.{proof.code_verifier}",
            max_age=SIGN_IN_S,
            secure=self._is_secure,
            httponly=True,
            samesite="lax",
        )
        return response

    async def _finish(self, request: Request) -> Response:
        query = request.query_params
        state, _, verifier = request.cookies.get(self._cookie, "").partition(".")
        if not verifier or not secrets.compare_digest(state.encode(), query.get("state", "").encode()):
            return _plain(400, "This address belongs to no sign-in that was begun in this browser.")
        metadata = await self._metadata()
        if query.get("iss", self._issuer) != self._issuer:
            return _plain(400, "Nobody is signed in: another issuer has answered.")
        if "code" not in query:
            return _plain(403, "Nobody is signed in: the issuer does not grant it.")
        form = {
            "grant_type": "authorization_code",
            "code": query["code"],
            "redirect_uri": self._redirect_uri,
            "code_verifier": verifier,
            "client_id": self._client.client_id,
            "resource": self._resource or "",
        }
        secret = self._client.client_secret
        credentials = None if secret is None else basic_credentials(self._client.client_id, secret)
        body = await fetch(str(metadata.token_endpoint), form, credentials)
        try:
            token = _Answer.model_validate_json(body).access_token
        except ValidationError:
            raise AuthUnavailable("the issuer answers with something else than a token") from None
        response = RedirectResponse(f"{PAGE}#token={token}", 303, _HEADERS)
        response.delete_cookie(self._cookie, secure=self._is_secure, httponly=True, samesite="lax")
        return response

    async def _metadata(self) -> OAuthMetadata:
        async def get(url: str) -> bytes | None:
            try:
                return await fetch(url)
            except AuthUnavailable:
                return None

        metadata = await issuer_metadata(self._issuer, get)
        if metadata is None:
            raise AuthUnavailable("the issuer serves no metadata of an authorization server of that name")
        return metadata


def _plain(status: int, text: str) -> Response:
    return PlainTextResponse(text, status, _HEADERS)
