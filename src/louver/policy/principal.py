"""The principal of a request, for field policy and audit. Source: PRIVACY.md, "Policy file"; RFC 9068.

{"sub": "ann", "iss": "https://id.example", "client_id": "desk", "scope": "orders:read", "roles": ["support"]}
-> Principal("https://id.example#ann", "desk", {"orders:read"}, {"support"})
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from louver.errors import InvalidInput


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


_PARTS: Final = ("role", "scope", "client", "subject")


def read_caller(option: str, text: str) -> Principal:
    """A subject and a client, which identify a caller; a text without a kind is a subject."""
    if text != "nobody" and text.partition(":")[0] not in _PARTS:
        return Principal(subject=text)
    principal = read_principal(option, text)
    if principal.roles or principal.scopes:
        raise InvalidInput(f"{option} takes no role or scope: a subject and a client identify a caller")
    return principal


def read_principal(option: str, text: str) -> Principal:
    parts: dict[str, list[str]] = {kind: [] for kind in _PARTS}
    for part in [] if text == "nobody" else text.split(","):
        word, separator, value = part.strip().partition(":")
        if not separator or not value or word not in parts:
            raise InvalidInput(f"{option} takes 'nobody', or for example role:support,scope:orders:read,client:desk")
        parts[word].append(value)
    last = {word: values[-1] if values else None for word, values in parts.items()}
    return Principal(last["subject"], last["client"], frozenset(parts["scope"]), frozenset(parts["role"]))
