"""The turns of a gateway's event loop: while one goes on, every call waits.

    python -m benchmarks.turns FILE ARGUMENTS    the command `louver ARGUMENTS`; FILE gets the seconds of each turn

One of less than 1 ms gets no line.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import monotonic
from typing import Any

from louver.cli import main
from louver.concurrency import stalls

NOTED_S = 0.001


class _Noted(stalls.TurnWatch):
    """What watches each gateway, with notes."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._notes = FILE.open("w", buffering=1, encoding="utf-8")
        self._start = monotonic()

    def begin(self) -> None:
        super().begin()
        self._start = monotonic()

    def end(self) -> None:
        if (seconds := monotonic() - self._start) > NOTED_S:
            self._notes.write(f"{seconds}\n")
        super().end()


if __name__ == "__main__":
    FILE = Path(sys.argv.pop(1))
    stalls.TurnWatch = _Noted
    sys.exit(main())
