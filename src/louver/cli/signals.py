"""Told to end, a command ends what it has started, as it does after Ctrl-C.

    SIGTERM, SIGHUP    ->  SystemExit(128 + number), raised where the command is at work

Without it Python ends at once, and servers that were started and do not look at their input go on. `louver serve` has
its own way, which lets calls come to their end.
"""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import FrameType


@contextmanager
def raised() -> Generator[None]:
    """Have the signals raised in this block, unless they are ignored, or Python does not let us."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    taken = [each for each in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(each) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
