"""Authentication middleware in front of the whole HTTP app, including the fast path; built from the SDK's parts.

The status is 401 without a valid token, 403 without the required scopes, and 503 while the issuer is unreachable.
Only the protected resource metadata (RFC 9728), which names the issuer, needs no token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from mcp.server.auth.settings import AuthSettings
from starlette.authentication import AuthenticationError
from starlette.datastructures import Headers
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.responses import JSONResponse
from starlette.routing import Router

from louver.errors import AuthUnavailable
from louver.gateway.config.auth import Jwks
from louver.gateway.front.auth.caller_token import CALLER_TOKEN, CallerToken
from louver.gateway.front.auth.signed import JwtVerifier
from louver.gateway.front.auth.static import StaticTokenVerifier
from louver.gateway.front.endpoint import is_login_page
from louver.gateway.front.exchange import IDENTITY
from louver.limits import JWKS_RETRY_S
from louver.sdk.adapter import identity_of

if TYPE_CHECKING:
    from mcp.server.auth.provider import TokenVerifier
    from pydantic import AnyHttpUrl
    from starlette.authentication import AuthCredentials
    from starlette.requests import HTTPConnection
    from starlette.responses import Response
    from starlette.routing import Route
    from starlette.types import ASGIApp, Receive, Scope, Send

    from louver.gateway.config.auth import Auth


class AuthMiddleware:
    """ASGI wrapper that passes only requests with a valid token to `app`."""

    def __init__(self, app: ASGIApp, auth: Auth) -> None:
        self._app = app
        routes, metadata = _metadata(auth)
        self._public_paths = {route.path for route in routes}
        self._metadata = Router(routes)
        authorized = RequireAuthMiddleware(self._identified, list(auth.required_scopes), metadata)
        self._protected = AuthenticationMiddleware(authorized, _Backend(build_verifier(auth)), _unavailable)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope.get("path") in self._public_paths:
            await self._metadata(scope, receive, send)
        elif is_login_page(scope.get("path", "").removeprefix(scope.get("root_path", ""))):
            # Browsers have no token; these pages have links and cookies of their own.
            await self._app(scope, receive, send)
        else:
            await self._protected(scope, receive, send)

    async def _identified(self, scope: Scope, receive: Receive, send: Send) -> None:
        user = scope["user"]
        assert isinstance(user, AuthenticatedUser), "others are refused before"
        identity = scope[IDENTITY] = identity_of(user.access_token)
        assert identity.key is not None, "it has a token"
        text = Headers(scope=scope)["authorization"].partition(" ")[2]
        CALLER_TOKEN.set(CallerToken(text, identity.key, identity.expires))
        await self._app(scope, receive, send)


def build_verifier(auth: Auth) -> TokenVerifier:
    """Return the token verifier of the settings; raise `InvalidConfig` if the token file is unusable."""
    if isinstance(auth.method, Jwks):
        return JwtVerifier(auth.method, auth)
    return StaticTokenVerifier(auth.method.file)


class _Backend(BearerAuthBackend):
    """The SDK's backend, extended for a verifier that cannot reach its issuer."""

    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, AuthenticatedUser] | None:
        try:
            return await super().authenticate(conn)
        except AuthUnavailable as error:
            raise AuthenticationError(error.message) from None


def _unavailable(_: HTTPConnection, error: AuthenticationError) -> Response:
    # Not 401: the client would discard a valid token.
    payload = {"error": "temporarily_unavailable", "error_description": str(error)}
    return JSONResponse(payload, 503, {"retry-after": str(int(JWKS_RETRY_S))})


def _metadata(auth: Auth) -> tuple[list[Route], AnyHttpUrl | None]:
    """Return the routes of the protected resource metadata and its URL; none without issuer and resource."""
    if auth.issuer is None or auth.resource is None:
        return [], None
    # The SDK's settings keep URLs unchanged; an added slash would make another issuer.
    settings = AuthSettings.model_validate(
        {
            "issuer_url": auth.issuer,
            "resource_server_url": auth.resource,
            "required_scopes": list(auth.required_scopes) or None,
            "validate_token_resource": False,
        }
    )
    assert settings.resource_server_url is not None, "it is given"
    routes = create_protected_resource_routes(
        settings.resource_server_url, [settings.issuer_url], settings.required_scopes
    )
    return routes, build_resource_metadata_url(settings.resource_server_url)
