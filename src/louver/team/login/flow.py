"""The flows of OAuth, by the SDK's provider, which discovers, registers, proves by PKCE, and names the resource.

The provider is made for a client that sends its requests through it. Here it gets the refused response itself, and only
its own requests are sent, by `requests.py`.
"""

from __future__ import annotations

import logging
import re
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthRegistrationError, OAuthTokenError
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.auth.utils import extract_field_from_www_auth
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata
from pydantic import AnyUrl, ValidationError

from louver.errors import LoginFailed
from louver.gateway.front.auth import fetch
from louver.limits import MAX_TOKEN_CHARACTERS
from louver.team.login.login import Login
from louver.team.login.requests import AuthorizationRequests
from louver.wire.mcp import LATEST_HANDSHAKE_VERSION, VERSION_HEADER

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp.shared.auth import AuthorizationCodeResult, OAuthToken

    from louver.gateway.config.auth import OAuthSettings
    from louver.gateway.config.model import UpstreamConfig

# What the provider logs quotes responses and states: not in flows of the gateway, whatever else the process logs.
_IN_FLOW: Final = ContextVar[bool]("louver_login_flow", default=False)
logging.getLogger(OAuthClientProvider.__module__).addFilter(lambda _: not _IN_FLOW.get())

_TOKEN: Final = re.compile(rf"[!-~]{{1,{MAX_TOKEN_CHARACTERS}}}")  # fits into a header
_UNUSABLE: Final = "the authorization server answers with what cannot be used: a token that fits into no header, say"


@dataclass(frozen=True, slots=True)
class UserAgent:
    """The browser of somebody who logs in. Source: RFC 6749."""

    redirect_uri: str
    show: Callable[[str], Awaitable[None]]  # takes the URL to open
    answer: Callable[[], Awaitable[AuthorizationCodeResult]]


@dataclass(slots=True)
class _Memory:
    """The provider's storage. A configured client is never replaced by another."""

    is_configured: bool
    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        if self.is_configured:
            raise LoginFailed(
                "the server names another authorization server than 'issuer': its client is not used there"
            )
        self.client = client_info


class Flow:
    """One run of the provider."""

    def __init__(self, server: UpstreamConfig, login: Login | None, user_agent: UserAgent | None = None) -> None:
        settings = server.oauth
        self._server = server
        self._requests = AuthorizationRequests(server.url)
        self._has_shown = False
        self._user_agent = user_agent
        client = _configured_client(settings) or (None if login is None else _registered_client(login, user_agent))
        self._memory = _Memory(settings.client_id is not None, None if login is None else login.tokens, client)
        self._provider = self._make_provider(settings)
        if login is not None:
            context = self._provider.context
            context.oauth_metadata, context.protected_resource_metadata = login.metadata, login.resource
            context.auth_server_url = login.issuer

    async def log_in(self, challenge: str | None, now: Callable[[], float], status: Literal[401, 403] = 401) -> Login:
        """A login, by a person or by the client's own credentials; `challenge` is the server's `WWW-Authenticate`."""
        if status == 401 and (scopes := self._server.oauth.scopes):
            metadata = challenge_field(challenge, "resource_metadata")
            found = "" if metadata is None else f'resource_metadata="{metadata}", '
            challenge = f'Bearer {found}scope="{" ".join(scopes)}"'
        await self._run(_refused(status, challenge))
        return self._login(challenge, now())

    async def refresh(self, login: Login, now: float) -> Login:
        """The login with new tokens, or with its `problem` if the authorization server refuses for good."""
        # Any time in the past: whether it has expired is known by the clock of the gateway.
        self._provider.context.token_expiry_time = 1.0
        await self._run(None)
        if self._provider.context.current_tokens is None:
            if self._requests.is_final:
                return login.model_copy(update={"problem": self._requests.refusal})
            raise LoginFailed(f"the login cannot be renewed: {self._requests.refusal}")
        return self._login(login.challenge, now).model_copy(update={"wanted_scope": login.wanted_scope})

    async def revoke(self, login: Login) -> str | None:
        """Revoke the tokens at the authorization server, or return why not. Source: RFC 7009."""
        endpoint = None if login.metadata is None else login.metadata.revocation_endpoint
        if endpoint is None:
            return "the authorization server revokes no tokens: they stay valid there until they expire"
        self._provider.context.client_info = login.client
        tokens = {"refresh_token": login.tokens.refresh_token, "access_token": login.tokens.access_token}
        async with self._requests as requests:
            for kind, token in tokens.items():
                if token is not None:
                    form = {"token": token, "token_type_hint": kind, "client_id": login.client.client_id}
                    data, headers = self._provider.context.prepare_token_auth(form, {})
                    await requests.send(httpx2.Request("POST", str(endpoint), data=data, headers=headers))
                    # Signed tokens are valid until they expire.
                    if requests.status != 200 and requests.error != "unsupported_token_type":
                        return f"the tokens are not revoked: {requests.refusal}"
        return None

    def _login(self, challenge: str | None, now: float) -> Login:
        context = self._provider.context
        if context.current_tokens is None or context.client_info is None:
            raise LoginFailed("the authorization server gives no tokens")
        if not _TOKEN.fullmatch(context.current_tokens.access_token):
            raise LoginFailed(_UNUSABLE)
        return Login(
            tokens=context.current_tokens,
            client=context.client_info,
            metadata=context.oauth_metadata,
            resource=context.protected_resource_metadata,
            issuer=context.auth_server_url,
            challenge=challenge,
            obtained_at=now,
        )

    def _make_provider(self, settings: OAuthSettings) -> OAuthClientProvider:
        if settings.grant == "client_credentials":
            assert settings.client_id is not None, "the configuration has it"
            assert settings.client_secret is not None, "the configuration has it"
            return ClientCredentialsOAuthProvider(
                self._server.url,
                self._memory,
                settings.client_id,
                settings.client_secret,
                scope=" ".join(settings.scopes) or None,
                issuer=settings.issuer,
            )
        user_agent = self._user_agent
        metadata = OAuthClientMetadata(
            client_name="Louver",
            redirect_uris=None if user_agent is None else [AnyUrl(user_agent.redirect_uri)],
            # A secret that every copy of a program has is none.
            token_endpoint_auth_method="none",
        )
        return OAuthClientProvider(
            self._server.url,
            metadata,
            self._memory,
            None if user_agent is None else self._show,
            None if user_agent is None else user_agent.answer,
            client_metadata_url=settings.client_metadata_url,
        )

    async def _show(self, url: str) -> None:
        assert self._user_agent is not None, "the provider has its handlers"
        self._has_shown = True
        context = self._provider.context
        methods = (
            None if context.oauth_metadata is None else context.oauth_metadata.token_endpoint_auth_methods_supported
        )
        client = context.client_info
        if methods and client is not None and client.client_secret and client.token_endpoint_auth_method not in methods:
            client.token_endpoint_auth_method = "client_secret_post"
        endpoint, _, query = url.rpartition("?")
        # An endpoint may have a query itself. Source: RFC 6749, 3.1.
        url = f"{endpoint}{'&' if '?' in endpoint else '?'}{query}"
        self._requests.check_address(httpx2.URL(url))
        await self._user_agent.show(url)

    async def _run(self, refused: httpx2.Response | None) -> None:
        """Send the provider's own requests; `refused` is the response to the request that it would authorize."""
        request = httpx2.Request("POST", self._server.url, headers={VERSION_HEADER: LATEST_HANDSHAKE_VERSION})
        flow = self._provider.async_auth_flow(request)
        in_flow = _IN_FLOW.set(True)
        try:
            async with self._requests as requests:
                outgoing = await anext(flow)
                while True:
                    if outgoing is not request:
                        response = await requests.send(outgoing)
                    elif refused is None:
                        return
                    else:
                        response, refused = refused, None
                    outgoing = await flow.asend(response)
        except StopAsyncIteration:
            return
        except (OAuthFlowError, ValueError, OverflowError, httpx2.InvalidURL) as error:
            raise LoginFailed(self._problem(error)) from None
        finally:
            await flow.aclose()
            _IN_FLOW.reset(in_flow)

    def _problem(self, error: Exception) -> str:
        """What has failed. What the provider says after somebody was asked may quote states and codes."""
        if isinstance(error, OAuthRegistrationError):
            return (
                f"{self._requests.refusal}, when it is asked to register a client: name a registered one by 'clientId'"
            )
        if isinstance(error, OAuthTokenError):
            return f"{self._requests.refusal}, when it is asked for tokens"
        if not isinstance(error, (OAuthFlowError, ValidationError)):
            return _UNUSABLE
        if self._has_shown or isinstance(error, ValidationError):
            return "the authorization server's answer does not belong to this login"
        return f"the login is not possible: {error}"[:500]


def prepare() -> None:
    """Load what flows need, with this module: all clients would wait for that with the first one."""
    fetch.prepare()


def challenge_field(challenge: str | None, name: str) -> str | None:
    """A parameter of a header `WWW-Authenticate`."""
    return extract_field_from_www_auth(_refused(401, challenge), name)


def _refused(status: int, challenge: str | None) -> httpx2.Response:
    headers = {} if challenge is None else {b"www-authenticate": challenge.encode("latin-1", "replace")}
    return httpx2.Response(status, headers=headers)


def _configured_client(settings: OAuthSettings) -> OAuthClientInformationFull | None:
    if settings.client_id is None:
        return None
    return OAuthClientInformationFull(
        client_id=settings.client_id,
        client_secret=settings.client_secret,
        token_endpoint_auth_method="none" if settings.client_secret is None else "client_secret_basic",
        issuer=settings.issuer,
    )


def _registered_client(login: Login, user_agent: UserAgent | None) -> OAuthClientInformationFull | None:
    """The client of a login, unless it is registered for other addresses to return to, or fewer scopes, or no more."""
    if user_agent is None:
        return login.client
    if login.problem is not None:
        return None
    if user_agent.redirect_uri not in map(str, login.client.redirect_uris or ()):
        return None
    wanted, scope = login.wanted_scope, login.client.scope
    has_scopes = wanted is None or scope is None or set(wanted.split()) <= set(scope.split())
    return login.client if has_scopes else None
