r"""What an upstream writes to its standard error, in our log.

    b"listening\n"  ->  INFO louver.upstream: listening

It is the upstream's own log, not an error: servers say there that they have started. Lines are cut, and what could
steer a terminal is taken out; what they say is the upstream's business.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from louver.limits import MAX_LOG_LINE, MAX_LOG_LINES

if TYPE_CHECKING:
    from logging import Logger


class LoggedLines:
    """The standard error of one process.

    Args:
        logger: Gets a record a line.
    """

    def __init__(self, logger: Logger) -> None:
        self._logger = logger
        self._begun = b""

    def feed(self, data: bytes) -> None:
        """Log the lines that are whole now."""
        *whole, rest = data.split(b"\n")
        for line in whole[:MAX_LOG_LINES]:
            self._log(self._begun + line[:MAX_LOG_LINE])
            self._begun = b""
        if len(whole) > MAX_LOG_LINES:
            self._logger.info("%d more lines at once are left out", len(whole) - MAX_LOG_LINES)
        self._begun = (self._begun + rest[:MAX_LOG_LINE])[:MAX_LOG_LINE]

    def flush(self) -> None:
        """Log what has no end."""
        self._log(self._begun)
        self._begun = b""

    def _log(self, line: bytes) -> None:
        text = line[:MAX_LOG_LINE].decode("utf-8", "replace").rstrip()
        if text:
            self._logger.info("%s", "".join(letter if letter.isprintable() else " " for letter in text))
