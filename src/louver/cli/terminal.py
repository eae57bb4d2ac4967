"""What commands print for a reader: where to, how what others have written is shown, and what is estimated."""

from __future__ import annotations

import sys
from contextlib import suppress
from io import FileIO
from typing import TYPE_CHECKING

from louver.limits import CHARACTERS_A_TOKEN

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer
    from rich.console import Console
    from rich.text import Text

_WIDTH = 118
"""Where a table does not go to a terminal, in columns."""


class Stderr(FileIO):
    """Standard error without write errors: that its reader has gone, or a disk is full, is no failure of a command."""

    def write(self, data: ReadableBuffer, /) -> int:
        """Write what can be written; what cannot is dropped."""
        with suppress(OSError):
            return super().write(data)
        return memoryview(data).nbytes


def console() -> Console:
    """Where tables go; into a pipe or a file in full width."""
    # Imported here, as below: most of what is told needs no tables.
    from rich.console import Console

    found = Console()
    return found if found.is_terminal else Console(width=_WIDTH)


def say(text: str) -> None:
    """Tell something in one line on standard error."""
    print(f"louver: {printable(text)}", file=sys.stderr)


def plain(text: str, style: str = "") -> Text:
    """A text of somebody else, for a table: nothing in it is markup."""
    from rich.text import Text

    return Text(printable(text), style)


def printable(text: str) -> str:
    """A text of somebody else, without what a terminal would obey."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def tokens(size: int) -> int:
    """An estimate of the tokens of a text, by its length."""
    return round(size / CHARACTERS_A_TOKEN)
