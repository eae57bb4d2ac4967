"""Settings for authentication over HTTP; `docs/how-to/serve-a-team.md` shows examples."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from pathlib import Path

# The signature algorithms that are accepted. All are asymmetric: a public key cannot sign.
ALGORITHMS: Final = (
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "EdDSA",
)


@dataclass(frozen=True, slots=True)
class Jwks:
    """Tokens are JWTs, verified with the issuer's public keys."""

    keys: Path | str  # a file or a URL
    algorithms: tuple[str, ...] = ALGORITHMS


@dataclass(frozen=True, slots=True)
class Introspection:
    """Tokens are verified by introspection at the issuer. Source: RFC 7662."""

    endpoint: str
    client_id: str
    client_secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens are listed in a file by their digests."""

    file: Path


@dataclass(frozen=True, slots=True)
class Auth:
    method: Jwks | Introspection | Tokens
    required_scopes: tuple[str, ...] = ()
    resource: str | None = None  # the URL of this server as clients know it
    issuer: str | None = None  # together with `resource`, published to clients (RFC 9728)
    audience: str | None = None  # `None` only with a token file

    @property
    def allowed_hosts(self) -> tuple[str, ...]:
        """The host of `resource`, if it is set."""
        return () if self.resource is None else (urlsplit(self.resource).netloc,)

    @property
    def public_url(self) -> str | None:
        """The URL above the endpoint, as browsers know it."""
        resource = (self.resource or "").rstrip("/")
        return resource.removesuffix("/mcp") if resource.endswith("/mcp") else None
