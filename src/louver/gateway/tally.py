"""Counted log records, for what a peer can cause without end: the 1st, 2nd, 4th, 8th, ... is written.

tally = Tally(logger, "messages from the server without a recipient")
tally.add("a line that is no message")
messages from the server without a recipient: 4, the last: a line that is no message
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logging import Logger


class Tally:
    def __init__(self, logger: Logger, subject: str, level: int = logging.WARNING) -> None:
        self.count = 0
        self._logger = logger
        self._subject = subject
        self._level = level

    def add(self, kind: str) -> None:
        """Count one; `kind` is never the peer's text."""
        self.count += 1
        if self.count & (self.count - 1) == 0:
            self._logger.log(self._level, "%s: %d, the last: %s", self._subject, self.count, kind)


def stray_messages(logger: Logger) -> Tally:
    return Tally(logger, "messages from the server without a recipient")


def unsent_messages(logger: Logger) -> Tally:
    return Tally(logger, "messages that have not reached the upstream", logging.INFO)
