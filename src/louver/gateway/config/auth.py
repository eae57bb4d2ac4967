"""Settings for authentication over HTTP, and for OAuth at one server; `docs/how-to/serve-over-http.md` has examples."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Jwks:
    """Tokens are JWTs, verified with the issuer's public keys."""

    keys: Path | str  # a file or a URL


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens are listed in a file by their digests."""

    file: Path


@dataclass(frozen=True, slots=True)
class SignInClient:
    """The page, as the issuer knows it."""

    client_id: str
    client_secret: str | None = field(default=None, repr=False)
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Auth:
    method: Jwks | Tokens
    required_scopes: tuple[str, ...] = ()
    resource: str | None = None  # the URL of this server as clients know it
    issuer: str | None = None  # together with `resource`, published to clients (RFC 9728)
    audience: str | None = None  # `None` only with a token file
    sign_in: SignInClient | None = None  # with an issuer and a `public_url`

    @property
    def allowed_hosts(self) -> tuple[str, ...]:
        """The host of `resource`, if it is set."""
        return () if self.resource is None else (urlsplit(self.resource).netloc,)

    @property
    def public_url(self) -> str | None:
        """The URL above the endpoint, as browsers know it."""
        resource = (self.resource or "").rstrip("/")
        return resource.removesuffix("/mcp") if resource.endswith("/mcp") else None


# One login for all clients of the gateway, or each caller's own.
For = Literal["gateway", "principal"]

# A person logs in, or the client itself does, as a service account (RFC 6749), or callers' tokens do (RFC 8693).
Grant = Literal["authorization_code", "client_credentials", "token_exchange"]


@dataclass(frozen=True, slots=True)
class OAuthSettings:
    client_id: str | None = None  # of a client that is registered already; `None`: it is registered on login
    client_secret: str | None = field(default=None, repr=False)
    issuer: str | None = None  # the authorization server that alone may get the secret
    client_metadata_url: str | None = None  # the address of a client id metadata document
    scopes: tuple[str, ...] = ()  # requested instead of those that the server names
    callback_port: int = 0  # on loopback, for clients that are registered with one; 0: any free port
    audience: str | None = None  # the server's name where tokens are exchanged; `None`: its URL, as `resource`
    grant: Grant = "authorization_code"
    belongs_to: For = "gateway"


DISCOVERED: Final = OAuthSettings()
