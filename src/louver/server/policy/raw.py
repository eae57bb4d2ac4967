"""A server's message before and after its policy, as two types, so that a raw one is never sent by mistake.

    Raw({"ssn": "078-..."})  ── louver.server.policy.enforcer ──  Visible({})

Source: PRIVACY.md, "One pipeline".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from louver.core.size import is_heavier
from louver.limits import MAX_READ_ON_LOOP

_Message = TypeVar("_Message")


@dataclass(frozen=True, slots=True)
class Raw(Generic[_Message]):
    """A message before its policy; only `louver.server.policy.enforcer` reads it."""

    unpruned: _Message = field(repr=False)

    @property
    def is_large(self) -> bool:
        message: Any = self.unpruned
        return is_heavier(message, MAX_READ_ON_LOOP)


@dataclass(frozen=True, slots=True)
class Visible(Generic[_Message]):
    value: _Message
