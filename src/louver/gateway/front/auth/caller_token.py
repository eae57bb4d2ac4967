"""The token of the caller that is being served, for servers at which it is exchanged for another one."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from louver.catalogue.grants import PrincipalKey


@dataclass(frozen=True, slots=True)
class CallerToken:
    text: str = field(repr=False)
    principal: PrincipalKey
    expires: float | None  # in seconds since the epoch

    def has_expired(self, now: float) -> bool:
        return self.expires is not None and now >= self.expires


CALLER_TOKEN: Final = ContextVar[CallerToken | None]("louver_caller_token", default=None)
"""Tasks that several callers share keep the token of the first, so a reader has to compare the principal."""
