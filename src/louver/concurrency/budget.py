"""Budgets: a bound on how much of something one peer has at once.

connections = PeerBudget(400)
connections.take()              `True`, and one more is in use; `False`, and nothing has changed, once 400 are
connections.give_back()         when it has ended, however it has ended
BudgetByKey(50).take(address)   one budget of 50 for each address; an address that uses nothing takes no memory
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator, Hashable


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
        self._budgets: dict[Hashable, PeerBudget] = {}

    def __len__(self) -> int:
        """The keys that use anything."""
        return len(self._budgets)

    def used(self, key: Hashable) -> int:
        return 0 if (budget := self._budgets.get(key)) is None else budget.used

    def take(self, key: Hashable, amount: int = 1) -> bool:
        """Use a part of what is left to a key; `False` if less is left."""
        budget = self._budgets.get(key) or PeerBudget(self.limit)
        if not budget.take(amount):
            return False
        self._budgets[key] = budget
        return True

    def give_back(self, key: Hashable, amount: int = 1) -> None:
        budget = self._budgets[key]
        budget.give_back(amount)
        if not budget.used:
            del self._budgets[key]

    @contextmanager
    def using(self, key: Hashable | None) -> Generator[bool]:
        """Use a part of what is left to a key within the block; `False` if nothing is left. `None` has no bound."""
        is_taken = key is not None and self.take(key)
        try:
            yield is_taken or key is None
        finally:
            if is_taken:
                self.give_back(key)
