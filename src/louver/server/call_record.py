"""What is known of a call only where it is answered, for who writes it down: one account a call, filled on the way.

::

    auditing ── projection ── ... ── guard
       └──────── account ────────────┘       the tool has run; 3 of its fields are not visible; id 5d1c...
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
    """What happened while a call was answered.

    Args:
        tool: Whose output it is, where the request does not say it.
        has_run: Whether the tool has run.
        is_withheld: Whether its answer is held back.
        fields: How many fields its output had.
        correlation: The id by which an error is found in the log.
    """

    tool: str | None = None
    has_run: bool = False
    is_withheld: bool = False
    fields: int = 0
    correlation: str | None = None


_account: ContextVar[Account | None] = ContextVar("louver_account", default=None)


def account() -> Account:
    """That of the call that is answered; one that nobody reads, if nobody keeps any."""
    return _account.get() or Account()


def is_kept() -> bool:
    """Whether somebody keeps accounts."""
    return _account.get() is not None


@contextmanager
def accounted() -> Generator[Account]:
    """Keep the account of what is answered in the block."""
    kept = Account()
    token = _account.set(kept)
    try:
        yield kept
    finally:
        _account.reset(token)
