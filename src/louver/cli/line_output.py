"""Lines to standard output, by a thread: a reader that stops delays nobody, and what it does not read is dropped."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import suppress
from queue import Full, Queue
from threading import Thread

from louver.gateway.tally import Tally
from louver.limits import LINES_CLOSING_S, MAX_UNWRITTEN_LINES

logger = logging.getLogger(__name__)


class LineOutput:
    def __init__(self) -> None:
        self._lines = Queue[bytes | None](MAX_UNWRITTEN_LINES)
        self._dropped = Tally(logger, "lines for standard output that are dropped")
        # A daemon: a process ends, also if nobody reads.
        self._thread = Thread(target=self._write, daemon=True)
        self._thread.start()

    def write(self, line: bytes) -> None:
        try:
            self._lines.put_nowait(line)
        except Full:
            self._dropped.add("its reader is too slow")

    def close(self) -> None:
        """Write what is left, if that is soon done."""
        with suppress(Full):
            self._lines.put(None, timeout=LINES_CLOSING_S)
            self._thread.join(LINES_CLOSING_S)

    def _write(self) -> None:
        while (line := self._lines.get()) is not None:
            # The reader may have ended; clients are served all the same.
            with suppress(OSError):
                os.write(sys.stdout.fileno(), line)
