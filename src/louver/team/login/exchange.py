"""The exchange of a caller's token for one of a server, at the authorization server of the configuration.

    -> POST token_endpoint    grant_type=...:token-exchange, subject_token=(the caller's), resource=(the server's URL)
    <- {"access_token": "...", "issued_token_type": "...:access_token", "token_type": "Bearer", "expires_in": 300}

The caller's token goes to that endpoint alone. Source: RFC 8693.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Final

import httpx2
from mcp.shared.auth_utils import resource_url_from_server_url
from pydantic import BaseModel, Field, ValidationError

from louver.errors import LoginFailed
from louver.gateway.front.auth.fetch import basic_credentials, issuer_metadata, prepare
from louver.limits import MAX_TOKEN_CHARACTERS
from louver.team.login.login import renewed_ahead_s
from louver.team.login.requests import AuthorizationRequests

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.gateway.config.model import UpstreamConfig

_GRANT: Final = "urn:ietf:params:oauth:grant-type:token-exchange"
_ACCESS_TOKEN: Final = "urn:ietf:params:oauth:token-type:access_token"
_JWT: Final = "urn:ietf:params:oauth:token-type:jwt"


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A token of the server; times are seconds since the epoch, the first one before it was asked for."""

    text: str = field(repr=False)
    obtained_at: float
    expires_in: float | None

    @property
    def authorization(self) -> str:
        """The header for requests."""
        return f"Bearer {self.text}"

    def is_due(self, now: float) -> bool:
        """Whether another one is asked for, ahead of its end."""
        if self.expires_in is None:
            return False
        return now >= self.obtained_at + self.expires_in - renewed_ahead_s(self.expires_in)

    def has_expired(self, now: float) -> bool:
        return self.expires_in is not None and now >= self.obtained_at + self.expires_in


class _Answer(BaseModel):
    """Source: RFC 8693, 2.2.1. The token has to fit into a header."""

    access_token: Annotated[str, Field(max_length=MAX_TOKEN_CHARACTERS, pattern=r"^[!-~]+$")]
    issued_token_type: str
    token_type: str
    expires_in: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None


class TokenExchange:
    """The exchange for one server; raises LoginFailed."""

    def __init__(self, server: UpstreamConfig, clock: Callable[[], float]) -> None:
        settings = server.oauth
        assert settings.issuer is not None, "the configuration has it"
        assert settings.client_id is not None, "the configuration has it"
        assert settings.client_secret is not None, "the configuration has it"
        prepare()
        self.server = server.name
        self.clock = clock
        self._issuer = settings.issuer
        self._credentials = basic_credentials(settings.client_id, settings.client_secret)
        target = (
            {"resource": resource_url_from_server_url(server.url)}
            if settings.audience is None
            else {"audience": settings.audience}
        )
        self._form = {
            "grant_type": _GRANT,
            "subject_token_type": _ACCESS_TOKEN,
            "requested_token_type": _ACCESS_TOKEN,
            **target,
            **({"scope": " ".join(settings.scopes)} if settings.scopes else {}),
        }
        self._endpoint: str | None = None

    async def exchange(self, subject_token: str) -> IssuedToken:
        async with AuthorizationRequests(self._issuer) as requests:
            endpoint = self._endpoint or await self._discover(requests)
            form = {**self._form, "subject_token": subject_token}
            request = httpx2.Request("POST", endpoint, data=form, headers={"accept": "application/json"})
            requested_at = self.clock()
            response = await requests.send(request, self._credentials)
            # After a refusal it is looked up again: it may have moved.
            self._endpoint = endpoint if response.status_code == 200 else None
            if response.status_code != 200:
                raise LoginFailed(f"the caller's token is not exchanged: {requests.refusal}")
        try:
            answer = _Answer.model_validate_json(response.content)
        except ValidationError:
            raise _unusable("something else than a token") from None
        if answer.issued_token_type not in (_ACCESS_TOKEN, _JWT) or answer.token_type.lower() != "bearer":
            raise _unusable("a token of another type")
        if answer.access_token == subject_token:
            raise _unusable("the caller's own token, which no server gets")
        return IssuedToken(answer.access_token, requested_at, answer.expires_in)

    async def _discover(self, requests: AuthorizationRequests) -> str:
        async def get(url: str) -> bytes | None:
            response = await requests.send(httpx2.Request("GET", url))
            return response.content if response.status_code == 200 else None

        metadata = await issuer_metadata(self._issuer, get)
        if metadata is None:
            raise LoginFailed(
                "'issuer' of the configuration serves no metadata of an authorization server of that name"
            )
        return str(metadata.token_endpoint)


def _unusable(problem: str) -> LoginFailed:
    return LoginFailed(f"the authorization server answers with {problem}: expected an access token of type Bearer")
