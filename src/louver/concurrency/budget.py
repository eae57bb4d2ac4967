"""Bounds on what one peer can cause: how much at once, how often in the log, and how much of the event loop.

connections = PeerBudget(400)
connections.take()              `True`, and one more is in use; `False`, and nothing has changed, once 400 are
connections.give_back()         when it has ended, however it has ended
BudgetByKey(50).take(address)   one budget of 50 for each address; an address that uses nothing takes no memory
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator, Hashable
    from logging import Logger


class PeerBudget:
    __slots__ = ("limit", "used")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0

    def take(self, amount: int = 1) -> bool:
        """Use a part of what is left; `False` if less is left."""
        if self.used + amount > self.limit:
            return False
        self.used += amount
        return True

    def give_back(self, amount: int = 1) -> None:
        assert self.used >= amount, "only what was taken is given back"
        self.used -= amount


class BudgetByKey:
    """Budgets of one size by key, such as a principal or an address."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._used: dict[Hashable, int] = {}

    def __len__(self) -> int:
        """The keys that use anything."""
        return len(self._used)

    def used(self, key: Hashable) -> int:
        return self._used.get(key, 0)

    def take(self, key: Hashable, amount: int = 1) -> bool:
        """Use a part of what is left to a key; `False` if less is left."""
        if (used := self._used.get(key, 0) + amount) > self.limit:
            return False
        self._used[key] = used
        return True

    def give_back(self, key: Hashable, amount: int = 1) -> None:
        left = self._used[key] - amount
        assert left >= 0, "only what was taken is given back"
        self._used[key] = left
        if not left:
            del self._used[key]

    @contextmanager
    def using(self, key: Hashable | None) -> Generator[bool]:
        """Use a part of what is left to a key within the block; `False` if nothing is left. `None` has no bound."""
        is_taken = key is not None and self.take(key)
        try:
            yield is_taken or key is None
        finally:
            if is_taken:
                self.give_back(key)


class Turnstile:
    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def wait(self) -> None:
        """Give all other tasks a turn, and wait until it is this one's."""
        async with self._lock:
            await asyncio.sleep(0)


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
