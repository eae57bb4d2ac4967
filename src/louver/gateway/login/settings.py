"""Settings for OAuth at one server; without any, discovery and registration find out everything."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

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
