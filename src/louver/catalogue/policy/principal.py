"""Principals: who makes a request, as far as field policy and audit want to know.

    {"sub": "ann", "iss": "https://id.example", "client_id": "desk", "scope": "orders:read", "roles": ["support"]}
    -> Principal("https://id.example#ann", "desk", {"orders:read"}, {"support"})

`grants.PrincipalKey` binds a grant to the three parts that identify a principal; this one also has what it may do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Principal:
    """Who makes a request, and what it was given. Without any of it, nobody is authenticated.

    Args:
        subject: Who it is: `issuer#subject`, or the subject alone where there is no issuer.
        client: The program that acts for it, by its client id.
        scopes: What the program was allowed.
        roles: What the subject is.

    Source: PRIVACY.md, "Policy file"; subject, client and scopes are those of RFC 9068.
    """

    subject: str | None = None
    client: str | None = None
    scopes: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()


NOBODY: Final = Principal()
"""The principal of a request that nobody is authenticated for."""
