"""The budget of plans: their cost is counted before they are made, each alone and all new ones of a caller.

    too much at once            PROJECTION_LIMIT, and nothing was done
    over the caller's budget    PROJECTION_LIMIT, with the seconds until there is room
    more than a little          made in the one thread for plans
    kept                        free

A new path in each call is new work in each call: without a budget, four connections keep everybody waiting.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from math import ceil
from typing import TYPE_CHECKING, NamedTuple, Protocol

from anyio import CapacityLimiter

from louver.concurrency.offload import in_thread
from louver.core.cached import cached_property
from louver.errors import ProjectionLimit
from louver.limits import MAX_CALLERS, MAX_PLAN_COST, MAX_PLAN_COST_AT_ONCE, MAX_PLAN_COST_ON_LOOP, PLAN_COST_A_SECOND

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from louver.catalogue.entry import Entry
    from louver.core.projection.request import Projection


class Peered(Protocol):
    """Who has a budget: a request, or an exchange of the page."""

    @property
    def peer(self) -> Hashable: ...


class _Spent(NamedTuple):
    cost: float
    time: float  # when that was so

    def at(self, now: float) -> _Spent:
        return _Spent(max(0.0, self.cost - (now - self.time) * PLAN_COST_A_SECOND), now)


_NOTHING = _Spent(0.0, 0.0)


class Planning:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._spent: OrderedDict[Hashable, _Spent] = OrderedDict()

    async def check(self, entry: Entry, projection: Projection, caller: Peered | None = None) -> None:
        """Make the plans of a request, so that a bad one fails before its tool runs; ProjectionLimit over a budget.

        Without a caller only what one request may cost counts.
        """
        if cost := self.admit(entry, projection, caller):
            if cost > MAX_PLAN_COST_ON_LOOP:
                await in_thread(lambda: entry.check(projection), self._thread)
            else:
                entry.check(projection)

    def admit(self, entry: Entry, projection: Projection, caller: Peered | None = None) -> int:
        """Take the cost of the plans from the caller's budget, and return it; ProjectionLimit if it is too much."""
        cost = entry.cost_of_check(projection)
        if cost > MAX_PLAN_COST:
            raise _too_costly(entry, projection, cost)
        if cost and caller is not None and (wait_s := self._wait_s(caller.peer, cost)) > 0:
            raise _too_many(cost, max(1, ceil(wait_s)))
        return cost

    @cached_property
    def _thread(self) -> CapacityLimiter:
        # One: threads that plan share the interpreter with the event loop, and several would leave it a small share.
        return CapacityLimiter(1)

    def _wait_s(self, peer: Hashable, cost: int) -> float:
        """Take a cost from a caller's budget: 0 if there is room, else the seconds until there is."""
        now = self._clock()
        spent = self._spent.get(peer, _NOTHING).at(now)
        if (over := spent.cost + cost - MAX_PLAN_COST_AT_ONCE) > 0:
            return over / PLAN_COST_A_SECOND
        self._spent[peer] = _Spent(spent.cost + cost, now)
        self._spent.move_to_end(peer)
        if len(self._spent) > MAX_CALLERS:
            self._spent.popitem(last=False)
        return 0


def _too_costly(entry: Entry, projection: Projection, cost: int) -> ProjectionLimit:
    what = f"view {projection.name!r}" if projection.mode == "view" else f"{len(projection.fields)} field paths"
    return ProjectionLimit(
        f"{what} over an output schema of {entry.objects:,} objects cost {cost:,} to plan, over {MAX_PLAN_COST:,}: "
        "name fewer field paths, or fewer of them with wildcards",
        limit=MAX_PLAN_COST,
        cost=cost,
    )


def _too_many(cost: int, wait_s: int) -> ProjectionLimit:
    return ProjectionLimit(
        f"a caller's new projections may cost {PLAN_COST_A_SECOND:,} a second, this one costs {cost:,}: ask again in "
        f"{wait_s} s, or for the field paths of an earlier call, which cost nothing",
        limit=PLAN_COST_A_SECOND,
        cost=cost,
        retryAfterSeconds=wait_s,
    )
