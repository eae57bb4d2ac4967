"""The record of a call: facts known only while it is answered, collected for the audit.

audit ── projection ── ... ── policy
  └──────── record ─────────────┘       the tool has run; 3 of its fields are not visible; id 5d1c...
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator


@dataclass(slots=True)
class Account:
    tool: str | None = None  # owner of the output, if the request does not name it
    has_run: bool = False
    is_withheld: bool = False
    fields: int = 0  # fields of the unpruned output
    correlation: str | None = None  # id of an error in the log


_account: ContextVar[Account | None] = ContextVar("louver_account", default=None)


def account() -> Account:
    """The record of the current call; a throwaway one if none is kept."""
    return _account.get() or Account()


def is_kept() -> bool:
    return _account.get() is not None


@contextmanager
def accounted() -> Generator[Account]:
    """Keep a record of the call that is answered within the block."""
    kept = Account()
    token = _account.set(kept)
    try:
        yield kept
    finally:
        _account.reset(token)
