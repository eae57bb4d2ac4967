"""What an upstream sends that is for nobody: counted, told once in a while, and dropped.

    louver: memory: messages of the upstream that were for nobody: 1, the last: a line that is no message
    louver: memory: messages of the upstream that were for nobody: 2, ... 4, ... 8, ...

What it was is never told, only what kind of thing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from logging import Logger


class Strays:
    """The count of one link.

    Args:
        logger: Hears of every first, second, fourth, eighth and so on.
    """

    def __init__(self, logger: Logger) -> None:
        self.count = 0
        self._logger = logger

    def add(self, kind: str) -> None:
        """There was one more; `kind` is a text of our own."""
        self.count += 1
        if self.count & (self.count - 1) == 0:
            self._logger.warning("messages of the upstream that were for nobody: %d, the last: %s", self.count, kind)
