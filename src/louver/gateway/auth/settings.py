"""How clients are authenticated over HTTP, as the configuration says it.

{"jwks": "https://id.example/jwks.json", "issuer": "https://id.example", "resource": "https://mcp.example/mcp"}
{"introspection": {"endpoint": "https://id.example/introspect", "clientId": "louver", "clientSecret": "${SECRET}"},
 "audience": "https://mcp.example/mcp"}
{"tokens": "tokens.json", "requiredScopes": ["orders:read"]}
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

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
"""What a token may be signed by. All have a public key: nobody can sign with what is published."""


@dataclass(frozen=True, slots=True)
class Jwks:
    """Tokens are signed, and say themselves whose they are.

    Args:
        keys: Where the issuer's keys stand: a file, or a URL.
        algorithms: What tokens may be signed by.
    """

    keys: Path | str
    algorithms: tuple[str, ...] = ALGORITHMS


@dataclass(frozen=True, slots=True)
class Introspection:
    """Whose a token is, is asked of the issuer. Source: RFC 7662.

    Args:
        endpoint: The URL that is asked.
        client_id: Who asks.
        client_secret: That it is really so.
    """

    endpoint: str
    client_id: str
    client_secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens are known by their digests.

    Args:
        file: Where they are listed.
    """

    file: Path


@dataclass(frozen=True, slots=True)
class Auth:
    """All of it.

    Args:
        by: How a token is looked at.
        required_scopes: What each token must allow.
        resource: The URL of this server, as clients know it.
        issuer: Who gives tokens; where it is known, clients are told it (RFC 9728).
        audience: Whom tokens must be for; `None` where the file of tokens says all.
    """

    by: Jwks | Introspection | Tokens
    required_scopes: tuple[str, ...] = ()
    resource: str | None = None
    issuer: str | None = None
    audience: str | None = None
