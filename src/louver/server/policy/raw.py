"""What a server under a policy said, before and after: a type each, so that nothing raw is taken for what may be seen.

::

    Raw({"ssn": "078-..."})  ── louver.server.policy.enforcer ──  Visible({})

Who emits something takes what is visible. Source: PRIVACY.md, "One pipeline".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from louver.core.size import is_heavier
from louver.limits import MAX_READ_ON_LOOP

_Said = TypeVar("_Said")


@dataclass(frozen=True, slots=True)
class Raw(Generic[_Said]):
    """What a server said, before its policy. `louver.server.policy.enforcer` alone looks into it."""

    unpruned: _Said = field(repr=False)

    @property
    def is_large(self) -> bool:
        """Whether it takes long to look through."""
        said: Any = self.unpruned
        return is_heavier(said, MAX_READ_ON_LOOP)


@dataclass(frozen=True, slots=True)
class Visible(Generic[_Said]):
    """What is left of it."""

    value: _Said
