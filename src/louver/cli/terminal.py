"""What commands print for a reader: where to, and what of it is estimated."""

from __future__ import annotations

from rich.console import Console

from louver.limits import CHARACTERS_A_TOKEN

_WIDTH = 118
"""Where a table does not go to a terminal, in columns."""


def console() -> Console:
    """Where tables go; into a pipe or a file in full width."""
    found = Console()
    return found if found.is_terminal else Console(width=_WIDTH)


def tokens(size: int) -> int:
    """An estimate of the tokens of a text, by its length."""
    return round(size / CHARACTERS_A_TOKEN)
