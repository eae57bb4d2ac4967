"""Principals as options name them: `nobody`, or `role:support,scope:orders:read,client:desk,subject:ann`."""

from __future__ import annotations

from typing import Final

from louver.catalogue.policy.principal import Principal
from louver.errors import InvalidInput

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
