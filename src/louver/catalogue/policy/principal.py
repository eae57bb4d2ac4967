"""The principal of a request, for field policy and audit. Source: PRIVACY.md, "Policy file"; RFC 9068.

{"sub": "ann", "iss": "https://id.example", "client_id": "desk", "scope": "orders:read", "roles": ["support"]}
-> Principal("https://id.example#ann", "desk", {"orders:read"}, {"support"})
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Principal:
    subject: str | None = None  # `issuer#subject`, or the subject alone if there is no issuer
    client: str | None = None  # the client id of the calling program
    scopes: frozenset[str] = frozenset()  # granted to the program
    roles: frozenset[str] = frozenset()  # of the subject


# The principal of an unauthenticated request.
NOBODY: Final = Principal()


@dataclass(frozen=True, slots=True)
class Who:
    scopes: frozenset[str] = frozenset()  # the caller has all of these
    roles: frozenset[str] = frozenset()  # the caller has one of these
    clients: frozenset[str] = frozenset()  # the calling program is one of these

    def is_met_by(self, principal: Principal) -> bool:
        if not self.scopes <= principal.scopes or (self.roles and not self.roles & principal.roles):
            return False
        return not self.clients or principal.client in self.clients


EVERYBODY: Final = Who()
