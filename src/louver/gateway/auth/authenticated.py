"""What stands before everything that a gateway serves over HTTP: no request gets past it without a token that is taken.

    GET /.well-known/oauth-protected-resource/mcp    200, for everybody: who gives tokens (RFC 9728)
    anything without a token that is taken           401 with `WWW-Authenticate`
    ... with one that allows too little              403
    ... while the issuer cannot be asked             503

It is made of the SDK's own parts, and stands before the faster way too, which so has the same principal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from mcp.server.auth.settings import AuthSettings
from starlette.authentication import AuthenticationError
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.responses import JSONResponse
from starlette.routing import Router

from louver.errors import AuthUnavailable
from louver.gateway.auth.introspection import Introspected
from louver.gateway.auth.settings import Introspection, Jwks
from louver.gateway.auth.signed import Signed
from louver.gateway.auth.static import Static
from louver.limits import JWKS_RETRY_S

if TYPE_CHECKING:
    from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
    from mcp.server.auth.provider import TokenVerifier
    from pydantic import AnyHttpUrl
    from starlette.authentication import AuthCredentials
    from starlette.requests import HTTPConnection
    from starlette.responses import Response
    from starlette.routing import Route
    from starlette.types import ASGIApp, Receive, Scope, Send

    from louver.gateway.auth.settings import Auth


class Authenticated:
    """The application, for who has a token that is taken.

    Args:
        app: The application.
        auth: Which tokens are taken.

    Raises:
        InvalidConfig: The file of tokens cannot be used.
    """

    def __init__(self, app: ASGIApp, auth: Auth) -> None:
        self._app = app
        routes, metadata = _metadata(auth)
        self._open = {route.path for route in routes}
        self._metadata = Router(routes)
        known = AuthContextMiddleware(RequireAuthMiddleware(app, list(auth.required_scopes), metadata))
        self._closed = AuthenticationMiddleware(known, _Backend(verifier_of(auth)), _unavailable)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope.get("path") in self._open:
            await self._metadata(scope, receive, send)
        else:
            await self._closed(scope, receive, send)


def verifier_of(auth: Auth) -> TokenVerifier:
    """What looks at tokens.

    Raises:
        InvalidConfig: The file of tokens cannot be used.
    """
    if isinstance(auth.by, Jwks):
        return Signed(auth.by, auth)
    return Introspected(auth.by, auth) if isinstance(auth.by, Introspection) else Static(auth.by.file)


def known_as(auth: Auth) -> tuple[str, ...]:
    """The host that clients know the server by, if that was said."""
    return () if auth.resource is None else (urlsplit(auth.resource).netloc,)


class _Backend(BearerAuthBackend):
    """The SDK's, which knows no verifier that cannot tell."""

    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, AuthenticatedUser] | None:
        try:
            return await super().authenticate(conn)
        except AuthUnavailable as error:
            raise AuthenticationError(error.message) from None


def _unavailable(_: HTTPConnection, error: AuthenticationError) -> Response:
    # No 401: the client would throw a good token away.
    said = {"error": "temporarily_unavailable", "error_description": str(error)}
    return JSONResponse(said, 503, {"retry-after": str(int(JWKS_RETRY_S))})


def _metadata(auth: Auth) -> tuple[list[Route], AnyHttpUrl | None]:
    """The routes that tell who gives tokens, and where that is read; none where it is not known."""
    if auth.issuer is None or auth.resource is None:
        return [], None
    # Read by the SDK's settings, which keep URLs as they are written: a slash more would make another issuer.
    said = AuthSettings.model_validate(
        {
            "issuer_url": auth.issuer,
            "resource_server_url": auth.resource,
            "required_scopes": list(auth.required_scopes) or None,
            "validate_token_resource": False,
        }
    )
    assert said.resource_server_url is not None, "it is given"
    routes = create_protected_resource_routes(said.resource_server_url, [said.issuer_url], said.required_scopes)
    return routes, build_resource_metadata_url(said.resource_server_url)
