"""A login at one server: its tokens, and all that renewing them needs, so that a restart discovers nothing again."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from mcp.shared.auth import OAuthClientInformationFull, OAuthMetadata, OAuthToken, ProtectedResourceMetadata
from pydantic import BaseModel, ConfigDict, Field

LOGIN_AHEAD_S = 300.0
LOGIN_AHEAD_SHARE = 0.25
"""How long before its end an OAuth login at a server is renewed, in seconds; of a short one, the last quarter."""

_ENDLESS_S: Final = 100 * 365 * 86_400


def renewed_ahead_s(lifetime_s: float) -> float:
    """How long before the end of a token it is renewed."""
    return min(LOGIN_AHEAD_S, LOGIN_AHEAD_SHARE * lifetime_s)


class Login(BaseModel):
    """Times are seconds of the wall clock, since a login outlives the process. Its `repr` has no secret."""

    model_config = ConfigDict(frozen=True)

    tokens: OAuthToken = Field(repr=False)
    client: OAuthClientInformationFull = Field(repr=False)
    metadata: OAuthMetadata | None = Field(repr=False)  # of the authorization server
    resource: ProtectedResourceMetadata | None = Field(repr=False)
    issuer: str | None  # as the resource names it
    challenge: str | None = Field(repr=False)  # the header `WWW-Authenticate` that began it
    obtained_at: float
    wanted_scope: str | None = None  # that the server has asked for since
    problem: str | None = None  # why it cannot be renewed

    @property
    def authorization(self) -> str:
        """The header for requests."""
        return f"Bearer {self.tokens.access_token}"

    @property
    def expires_at(self) -> float | None:
        # Some servers mean by 0, or by a greatest number, that it does not end.
        seconds = self.tokens.expires_in or 0
        return self.obtained_at + seconds if 0 < seconds < _ENDLESS_S else None

    @property
    def is_renewable(self) -> bool:
        return self.problem is None and (
            self.tokens.refresh_token is not None or "client_credentials" in self.client.grant_types
        )

    @property
    def renew_at(self) -> float | None:
        """When to renew it, ahead of its end; `None`: not until the server refuses it."""
        if self.expires_at is None or not self.is_renewable:
            return None
        return self.expires_at - renewed_ahead_s(self.expires_at - self.obtained_at)

    def is_due(self, now: float) -> bool:
        """Whether it is time to renew it."""
        return self.renew_at is not None and now >= self.renew_at

    @property
    def described(self) -> str:
        """Where it is, and for how long."""
        issuer = "" if self.issuer is None else f"at {self.issuer.rstrip('/')} "
        if self.problem is not None:
            return f"{issuer}no longer: {self.problem}"
        if self.expires_at is None:
            return f"{issuer}until the server refuses it"
        until = datetime.fromtimestamp(self.expires_at, UTC).strftime("%Y-%m-%d %H:%M UTC")
        return f"{issuer}until {until}" + (", renewed by the gateway" if self.is_renewable else "")

    def has_expired(self, now: float) -> bool:
        return self.expires_at is not None and now >= self.expires_at
