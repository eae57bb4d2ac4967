"""A cache of plans for all tools of a server, and of what is decided by them.

    (digest of schema and views, mode, canonical fields, view, strict)  ->  plan, validator, schema
    (tool, text of a request)                                           ->  decision

Tools with the same schema share plans, and so do results of the same shape, if the schema is inferred. The cache is
bounded by the number of plans and by their size, since a few wide schemas can weigh as much as many narrow ones.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from itertools import count
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from louver.core.json import levels

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from louver.core.json import Schema
    from louver.core.projection.plan import Plan
    from louver.core.projection.request import Projection
    from louver.core.schema.validate import Validator

MAX_PLANS = 4096
MAX_PLAN_NODES = 500_000
"""Cached plans of one server, and nodes of their masks plus values of their schemas: some 100 MB."""


@dataclass(frozen=True, slots=True)
class ReadyPlan:
    plan: Plan
    validator: Validator
    schema: Schema  # of all structured content, also if the kept value is JSON text in it

    @property
    def nodes(self) -> int:
        return self.plan.nodes + sum(map(len, levels(self.schema)))


class _Sized(Protocol):
    @property
    def nodes(self) -> int: ...


# A `ReadyPlan`; a `Plan`, if no schema is known yet; or a decision.
Made = TypeVar("Made", bound=_Sized)


class Plans:
    """A thread-safe cache with CLOCK eviction ("second chance"): a lookup hashes the key once, half its cost."""

    def __init__(self) -> None:
        self._plans: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._nodes = 0
        self._lock = Lock()
        self.numbers = count(1)  # of the tools that use it

    def kept(self, key: Hashable) -> Any:
        """What is cached, if anything is."""
        kept = self._plans.get(key)
        if kept is None:
            return None
        kept.used = True
        return kept.made

    def find(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What is cached, or else what `make` returns."""
        kept = self._plans.get(key)
        if kept is not None:
            kept.used = True
            return kept.made
        # Outside the lock, so that threads do not wait for each other; two may make the same plan.
        kept = _Kept(make())
        with self._lock:
            self._make_room(kept.nodes)
            self._nodes += kept.nodes - (self._plans.pop(key).nodes if key in self._plans else 0)
            self._plans[key] = kept
        return kept.made

    def _make_room(self, nodes: int) -> None:
        while self._plans and (len(self._plans) >= MAX_PLANS or self._nodes + nodes > MAX_PLAN_NODES):
            key, kept = self._plans.popitem(last=False)
            if kept.used:
                kept.used = False
                self._plans[key] = kept
            else:
                self._nodes -= kept.nodes


def key_of(of: str, projection: Projection) -> Hashable:
    """The key of a plan; `of` names the schema and the views that it depends on."""
    return of, projection.mode, projection.fields, projection.name, projection.strict


class _Kept:
    __slots__ = ("made", "nodes", "used")

    def __init__(self, made: Any) -> None:
        self.made = made
        self.nodes: int = made.nodes
        self.used = False
