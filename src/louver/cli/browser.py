"""The user's browser."""

from __future__ import annotations

import webbrowser
from contextlib import contextmanager
from html import escape
from pathlib import Path
from tempfile import NamedTemporaryFile
from threading import Thread
from typing import TYPE_CHECKING

from louver.cli import terminal

if TYPE_CHECKING:
    from collections.abc import Generator


@contextmanager
def opened(url: str) -> Generator[None]:
    """Open the browser at a file that leads to the URL: other users see its arguments, and the URL has a secret."""
    # Its mode is 0600.
    with NamedTemporaryFile("w", encoding="utf-8", prefix="louver-ui-", suffix=".html") as file:
        file.write(f'<!doctype html><meta http-equiv="refresh" content="0; url={escape(url)}">')
        file.flush()
        # In a thread: a browser in the terminal returns when it ends.
        Thread(target=_open, args=(Path(file.name).as_uri(),), daemon=True).start()
        yield


def _open(address: str) -> None:
    if not webbrowser.open(address):
        terminal.print_stderr("no browser can be opened here: open the printed address yourself")
