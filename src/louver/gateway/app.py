"""A gateway as an ASGI application.

app = create_app("mcp.json")                                                   uvicorn module:app
Starlette(routes=[Mount("/", app)], lifespan=app.lifespan)                     in another application
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from starlette.routing import Router
from starlette.websockets import WebSocketClose

from louver.errors import InvalidConfig, InvalidInput
from louver.gateway.config.read import as_config
from louver.gateway.front.allowed_hosts import AllowedSources, host_patterns
from louver.gateway.front.endpoint import McpEndpoint
from louver.gateway.gateway import Gateway

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence
    from os import PathLike

    from starlette.types import ASGIApp, Receive, Scope, Send

    from louver.gateway.config.model import Config


def create_app(
    config: Config | Mapping[str, Any] | str | PathLike[str],
    *,
    require_auth: bool = True,
    allowed_hosts: Sequence[str] = (),
) -> GatewayApp:
    """A gateway that serves Streamable HTTP at `/mcp`, below the path where the application is mounted.

    The token of `louver serve --http` is that command's own: an application serves clients by the `auth` of its
    configuration. Without `auth` it is refused, unless `require_auth` is off.

    Args:
        config: The path to a configuration file, its content as a dict, or a `Config`. It is read once.
        require_auth: `False` serves every client that reaches the application, if the configuration has no `auth`: for
            one behind authentication of your own. All clients are then one principal.
        allowed_hosts: Values of the header `Host` besides loopback and the one of `auth`, as `mcp.example` or
            `mcp.example:8080`; requests with others are refused, which defends against DNS rebinding.

    Raises:
        InvalidConfig: The configuration cannot be used, or has no `auth`.
        InvalidInput: An allowed host is malformed.
        InvalidPolicy: A policy of the configuration cannot be used.
    """
    read = as_config(config)
    if read.auth is None and require_auth:
        raise InvalidConfig(
            "the configuration has no 'auth' under 'louver': expected one, or 'require_auth=False' to serve every "
            "client that reaches the application"
        )
    hosts: list[str] = []
    for name in allowed_hosts:
        patterns = host_patterns(name)
        if patterns is None:
            raise InvalidInput(f"an allowed host is as mcp.example or mcp.example:8080, not {name[:80]!r}")
        hosts += patterns
    return GatewayApp(read, hosts)


class GatewayApp:
    """The application of `create_app`; each run of its lifespan has a gateway of its own."""

    def __init__(self, config: Config, hosts: Sequence[str]) -> None:
        self._config = config
        self._hosts = (*hosts, *(() if config.auth is None else config.auth.allowed_hosts))
        self._endpoint: McpEndpoint | None = None
        self._lifespan = Router(lifespan=self.lifespan).lifespan
        self._app: ASGIApp = self._serve
        if config.auth is not None:
            # Imported here: tokens need the SDK and cryptography.
            from louver.gateway.front.auth.authenticated import AuthMiddleware

            self._app = AuthMiddleware(self._serve, config.auth)

    @asynccontextmanager
    async def lifespan(self, _: object = None) -> AsyncGenerator[None]:
        """Run the gateway; an application that mounts this one takes it for its own `lifespan`, or enters it there."""
        async with Gateway(self._config) as gateway:
            self._endpoint = endpoint = McpEndpoint(gateway, AllowedSources(self._hosts))
            try:
                yield
            finally:
                self._endpoint = None
                gateway.listen_streams.close()
                await endpoint.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(scope, receive, send)
        elif scope["type"] == "websocket":
            await WebSocketClose()(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._endpoint is None:
            raise RuntimeError("the gateway does not run: expected 'lifespan=app.lifespan' where the app is mounted")
        await self._endpoint(scope, receive, send)
