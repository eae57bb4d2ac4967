"""Short notes about logins that are under way, in memory or in the state that replicas share, sealed with their keys.

A note's name holds a secret by its hash alone.
"""

from __future__ import annotations

import hashlib
import json
from time import monotonic
from typing import TYPE_CHECKING, Any

from louver.errors import LoginFailed, StateUnavailable
from louver.limits import LOGIN_WAIT_S, MAX_LOGIN_NOTES

if TYPE_CHECKING:
    from louver.team.state.shared import SharedState


class LoginNotes:
    """Notes of a kind, each under a secret, for `LOGIN_WAIT_S`."""

    def __init__(self, state: SharedState | None) -> None:
        self._state = state
        self._here: dict[str, tuple[dict[str, Any], float]] = {}

    async def put(self, kind: str, secret: str, note: dict[str, Any]) -> None:
        name = _name(kind, secret)
        if self._state is None:
            if len(self._here) >= MAX_LOGIN_NOTES:
                self._here.pop(next(iter(self._here)))
            self._here[name] = note, monotonic() + LOGIN_WAIT_S
            return
        try:
            await self._state.put(name, json.dumps(note).encode(), LOGIN_WAIT_S)
        except StateUnavailable as error:
            raise LoginFailed(error.message) from None

    async def get(self, kind: str, secret: str) -> dict[str, Any] | None:
        name = _name(kind, secret)
        if self._state is None:
            note, until = self._here.get(name, (None, 0.0))
            return note if monotonic() < until else None
        try:
            found = await self._state.get(name)
        except StateUnavailable as error:
            raise LoginFailed(error.message) from None
        return None if found is None else json.loads(found)

    async def take(self, kind: str, secret: str) -> dict[str, Any] | None:
        """A note that nobody gets a second time."""
        name = _name(kind, secret)
        note = await self.get(kind, secret)
        if note is None or self._state is None:
            self._here.pop(name, None)
            return note
        try:
            if await self._state.take(f"{name}:taken", LOGIN_WAIT_S) is None:
                return None
            await self._state.remove(name)
        except StateUnavailable as error:
            raise LoginFailed(error.message) from None
        return note


def _name(kind: str, secret: str) -> str:
    return f"login-{kind}:{hashlib.sha256(secret.encode()).hexdigest()}"
