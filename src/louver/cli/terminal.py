"""What commands print: tables and lines of foreign text, and estimates of tokens."""

from __future__ import annotations

import sys
from contextlib import suppress
from io import FileIO
from typing import TYPE_CHECKING

from louver.limits import CHARACTERS_A_LIST_TOKEN, CHARACTERS_A_TOKEN

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer
    from rich.console import Console
    from rich.text import Text

_WIDTH = 118  # columns of a table that does not go to a terminal


class Stderr(FileIO):
    """Standard error that ignores write errors: a closed reader or a full disk is no failure of a command."""

    def write(self, data: ReadableBuffer, /) -> int:
        with suppress(OSError):
            return super().write(data)
        return memoryview(data).nbytes


def console() -> Console:
    """The console for tables; full width in a pipe or a file."""
    # Imported here, as below: most output needs no tables.
    from rich.console import Console

    detected = Console()
    return detected if detected.is_terminal else Console(width=_WIDTH)


def print_stderr(text: str) -> None:
    """Print one line on standard error."""
    print(f"louver: {printable(text)}", file=sys.stderr)


def literal_text(text: str, style: str = "") -> Text:
    """Foreign text for a table: nothing in it is markup."""
    from rich.text import Text

    return Text(printable(text), style)


def bar(console: Console, columns: float, style: str = "green") -> Text:
    """A bar of about so many columns, and at least one."""
    from rich.text import Text

    return Text(("#" if console.options.ascii_only else "█") * max(1, round(columns)), style=style)


def printable(text: str) -> str:
    """Foreign text, with characters escaped that a terminal would interpret."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def tokens(size: int) -> int:
    """The estimated tokens of a text of this size."""
    return round(size / CHARACTERS_A_TOKEN)


def list_tokens(size: int) -> int:
    """The estimated tokens of descriptions of tools: they are prose for a good part."""
    return round(size / CHARACTERS_A_LIST_TOKEN)
