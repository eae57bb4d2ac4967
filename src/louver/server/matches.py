"""The page size of a search: `MATCHES_A_PAGE`, or as much as an answer in progress needs from a single query."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from louver.limits import MATCHES_A_PAGE

if TYPE_CHECKING:
    from collections.abc import Generator

_A_PAGE: ContextVar[int] = ContextVar("louver_matches_a_page", default=MATCHES_A_PAGE)


@contextmanager
def at_once(most: int) -> Generator[None]:
    """Search pages within the block hold at most this many matches."""
    before = _A_PAGE.set(most)
    try:
        yield
    finally:
        _A_PAGE.reset(before)


def matches_a_page() -> int:
    return _A_PAGE.get()
