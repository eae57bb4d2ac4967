"""How many matches of a search stand on its first page.

    tools/list  {"query": "create an issue"}  -> at most MATCHES_A_PAGE, for a client
                                              -> at most as many as are asked for, within the answer to a call

What is asked for within an answer is so one query, however many matches it gives: one is counted, and ranked once.
"""

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
    """Searches meanwhile give at most so many matches on a page."""
    before = _A_PAGE.set(most)
    try:
        yield
    finally:
        _A_PAGE.reset(before)


def matches_a_page() -> int:
    """How many matches stand on a page now."""
    return _A_PAGE.get()
