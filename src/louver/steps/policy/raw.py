"""A server's message before and after its policy, as two types, so that a raw one is never sent by mistake.

    Raw({"ssn": "078-..."})  ── louver.steps.policy.enforcer ──  Visible({})

Source: PRIVACY.md, "One pipeline".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from louver.core.size import is_heavier
from louver.wire.jsonrpc.codec import Result

MAX_PRUNED_ON_LOOP = 16 * 1024
"""Largest answer to which a policy is applied on the event loop, in bytes: JSON in each of its strings takes 50 ms."""


_Message = TypeVar("_Message")


@dataclass(frozen=True, slots=True)
class Raw(Generic[_Message]):
    """A message before its policy; only `louver.steps.policy.enforcer` reads it."""

    unpruned: _Message = field(repr=False)

    @property
    def is_large(self) -> bool:
        message: Any = self.unpruned
        if isinstance(message, Result) and message.size <= MAX_PRUNED_ON_LOOP:
            return False
        return is_heavier(message, MAX_PRUNED_ON_LOOP)


@dataclass(frozen=True, slots=True)
class Visible(Generic[_Message]):
    value: _Message
