"""Principals as options name them: `nobody`, or `role:support,scope:orders:read,client:desk,subject:ann`."""

from __future__ import annotations

from typing import Final

from louver.catalogue.policy.principal import Principal
from louver.errors import InvalidInput

PARTS: Final = ("role", "scope", "client", "subject")


def read_principal(option: str, text: str) -> Principal:
    parts: dict[str, list[str]] = {kind: [] for kind in PARTS}
    for part in [] if text == "nobody" else text.split(","):
        word, separator, value = part.strip().partition(":")
        if not separator or not value or word not in parts:
            raise InvalidInput(f"{option} takes 'nobody', or for example role:support,scope:orders:read,client:desk")
        parts[word].append(value)
    last = {word: values[-1] if values else None for word, values in parts.items()}
    return Principal(last["subject"], last["client"], frozenset(parts["scope"]), frozenset(parts["role"]))
